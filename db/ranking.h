#pragma once

#include "tuner/core/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace smemtune::db {

/// A stored time of a configuration that stands: nothing that was found of it since takes it back.
struct Timed {
  std::int64_t result_id = 0;  ///< Grows with time.
  std::int64_t run_id = 0;
  std::int64_t configuration_id = 0;  ///< Of one kernel: a configuration is one of a kernel's.
  Stage stage = Stage::none;
  bool chosen = false;  ///< By its run's finals, as the best.
  double median_ms = 0;
};

/// The index of the best by README.md's rule; nullopt when there are none. `newest` holds the
/// newest time of each configuration that may be it, `finals` what configurations that stand were
/// timed with in finals, those that may not be it too.
std::optional<std::size_t> best_of(std::span<const Timed> newest, std::span<const Timed> finals);

}  // namespace smemtune::db
