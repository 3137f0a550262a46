#pragma once

#include "tuner/core/outcome.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace smemtune {

/// A row of the table below.
struct ReasonRow {
  Status status = Status::runtime;
  std::string_view word;
  /// True if the failure says nothing lasting about the configuration, which is tried again: a
  /// crash, a lack of time or memory.
  bool is_transient = false;
};

/// Every reason that a failure can have. The words are stored with the results: one is never
/// renamed, and one that has been emitted is never removed.
inline constexpr auto kReasons = std::to_array<ReasonRow>({
    // Found before the launch: something does not hold, or does not fit.
    {Status::constraints, "constraint"},
    {Status::constraints, "expression"},  // An expression without a value.
    {Status::constraints, "requires"},
    {Status::constraints, "threads"},
    {Status::constraints, "block_dim"},
    {Status::constraints, "grid_dim"},
    {Status::constraints, "cluster_dim"},
    {Status::constraints, "tensor_map"},
    {Status::constraints, "shared_bytes"},
    {Status::constraints, "declared_shared_bytes"},
    {Status::constraints, "constant_bytes"},
    {Status::constraints, "registers"},
    {Status::constraints, "warpgroup_registers"},
    {Status::constraints, "launch_bounds"},
    {Status::constraints, "occupancy"},
    {Status::constraints, "cooperative_grid"},  // More blocks than can be resident at once.
    {Status::constraints, "spills"},
    {Status::constraints, "serialized_wgmma"},
    {Status::constraints, "cpu_unsupported"},
    {Status::constraints, "double"},  // The reference cannot be instantiated in double precision.

    {Status::compile, "error"},
    {Status::compile, "signature"},  // The entry takes other arguments than the space passes.
    {Status::compile, "crash", true},
    {Status::compile, "compile_timeout", true},
    {Status::compile, "out_of_memory", true},

    // Refused by the device, or by the code that launches for it.
    {Status::runtime, "arguments"},
    {Status::runtime, "load"},
    {Status::runtime, "launch"},
    {Status::runtime, "launch_configuration"},
    {Status::runtime, "launch_resources"},
    {Status::runtime, "launch_refused"},
    {Status::runtime, "shared_bytes"},
    {Status::runtime, "texture_width"},
    {Status::runtime, "threads"},
    {Status::runtime, "grid"},
    {Status::runtime, "device_memory", true},
    // Found while the kernel ran.
    {Status::runtime, "array_bounds"},
    {Status::runtime, "assert"},
    {Status::runtime, "contained_fault"},
    {Status::runtime, "crash", true},
    {Status::runtime, "division_by_zero"},
    {Status::runtime, "hardware_stack"},
    {Status::runtime, "illegal_address"},
    {Status::runtime, "illegal_instruction"},
    {Status::runtime, "invalid_address_space"},
    {Status::runtime, "invalid_pc"},
    {Status::runtime, "launch_failure"},
    {Status::runtime, "launch_timeout"},
    {Status::runtime, "misaligned"},  // The CPU device's word for a misaligned address.
    {Status::runtime, "misaligned_address"},
    {Status::runtime, "stack_overflow"},
    {Status::runtime, "tensor_memory_leak"},
    {Status::runtime, "texture_bounds"},
    {Status::runtime, "texture_type"},
    {Status::runtime, "trap"},
    {Status::runtime, "lost", true},     // The device was lost.
    {Status::runtime, "no_time", true},  // No sample was taken.
    {Status::runtime, "quarantined"},    // The configuration took the whole machine down twice.

    {Status::correctness, "definition"},
    {Status::correctness, "double"},  // The reference in double precision, or its results.
    {Status::correctness, "expected"},
    {Status::correctness, "input_modified"},
    {Status::correctness, "mismatch"},
    {Status::correctness, "nan"},
    {Status::correctness, "overrun"},
    // Faster than the device can write or compute (roofline.h).
    {Status::correctness, "too_fast"},
    {Status::correctness, "unwritten"},
    // Found by the CPU device.
    {Status::correctness, "race"},
    {Status::correctness, "shared_overrun"},
    {Status::correctness, "uninitialized_shared"},
    {Status::correctness, "unreached_barrier"},
    {Status::correctness, "warp_mask"},

    {Status::timeout, "hang", true},
    // Its first launch showed that the configuration cannot win: it was neither verified nor timed
    // any further.
    {Status::timeout, "behind"},
});

/// A reason of the table; any other does not compile.
class Reason {
 public:
  consteval Reason(Status status, std::string_view word) : row_{status, word} {
    const bool is_listed = std::ranges::any_of(
        kReasons, [&](const ReasonRow& row) { return row.status == status && row.word == word; });
    if (!is_listed) throw "not in the table of reasons";
  }

  constexpr Status status() const { return row_.status; }
  std::string word() const { return std::string(row_.word); }

 private:
  ReasonRow row_;
};

inline Failure failure(const Reason& reason, std::string detail, bool context_lost = false) {
  return {.status = reason.status(),
          .reason = reason.word(),
          .detail = std::move(detail),
          .context_lost = context_lost};
}

/// Reason of a configuration that took the whole process down too often to be tried again.
inline constexpr Reason kQuarantined(Status::runtime, "quarantined");

/// Reason of a configuration that was given up because it cannot win.
inline constexpr Reason kBehind(Status::timeout, "behind");

/// Returns whether a failure that is stored with this word says nothing lasting about its
/// configuration, as the table tells. A word that only a newer version knows counts as transient if
/// the status is a timeout.
constexpr bool is_transient(Status status, std::string_view word) {
  for (const ReasonRow& row : kReasons) {
    if (row.status == status && row.word == word) return row.is_transient;
  }
  return status == Status::timeout;
}

}  // namespace smemtune
