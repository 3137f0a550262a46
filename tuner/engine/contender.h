#pragma once

#include "tuner/engine/problem_state.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace smemtune {

/// A configuration in the final race, with all entries that run the same code.
struct Contender {
  std::size_t entry = 0;                ///< Index in ProblemState::entries.
  std::vector<std::size_t> twins = {};  ///< Other entries with the same code and launches.
  std::optional<Variant> variant = std::nullopt;
  std::vector<std::uint64_t> numbers = {};  ///< Numbers in the compile queue.
  std::vector<Module> modules = {};
  std::uint64_t kept_on = 0;            ///< Generation of the worker that keeps the variant loaded.
  std::vector<double> clocks_mhz = {};  ///< SM clocks during the samples of the last stage, where
                                        ///< known.
  int discarded = 0;                    ///< Number of discarded samples in the last stage.
  bool throttled = false;               ///< True if a sample that was kept was throttled.
  int lost = 0;  ///< Times that something else killed the worker during this contender's turn.
  bool failed = false;
};

/// Returns a contender for each distinct code and launches among the timed entries.
std::vector<Contender> find_contenders(const ProblemState& state);

/// Returns the result of the contender's own entry.
Result& result_of(ProblemState& state, const Contender& contender);
const Result& result_of(const ProblemState& state, const Contender& contender);
const KernelOnProblems& kernel_of(const ProblemState& state, const Contender& contender);

/// Copies the contender's measurement to its twins.
void share_with_twins(ProblemState& state, const Contender& contender);

/// Whether the contender or one of its twins is its kernel's default.
bool holds_default(const ProblemState& state, const Contender& contender);

/// Whether the contender or one of its twins has the kernel and configuration of `wanted`.
bool holds(const ProblemState& state, const Contender& contender, const Result& wanted);

}  // namespace smemtune
