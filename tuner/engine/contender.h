#pragma once

#include "tuner/engine/problem_state.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace smemtune {

/// One who is raced.
struct Contender {
  std::size_t entry = 0;                ///< In ProblemState::entries.
  std::vector<std::size_t> twins = {};  ///< Entries that are the same code and launches.
  std::optional<Variant> variant = std::nullopt;
  std::vector<std::uint64_t> numbers = {};  ///< In the compile queue.
  std::vector<Module> modules = {};
  std::uint64_t kept_on = 0;            ///< Generation of the worker that keeps it loaded.
  std::vector<double> clocks_mhz = {};  ///< Of the samples of its last stage, where known.
  int discarded = 0;                    ///< Samples of its last stage.
  bool throttled = false;               ///< One of those that were not discarded.
  int lost = 0;  ///< Times that something else killed the worker at its turn.
  bool failed = false;
};

/// Everyone who was timed; entries that are the same code and launches are one contender.
std::vector<Contender> find_contenders(const ProblemState& state);

/// The result of the entry that stands for it.
Result& result_of(ProblemState& state, const Contender& contender);
const Result& result_of(const ProblemState& state, const Contender& contender);
const KernelOnProblems& kernel_of(const ProblemState& state, const Contender& contender);

/// What was found of a contender holds for its twins.
void share_with_twins(ProblemState& state, const Contender& contender);

/// Whether it, or one that it stands for, is its kernel's default.
bool holds_default(const ProblemState& state, const Contender& contender);

/// Whether it, or one that it stands for, is this kernel's configuration.
bool holds(const ProblemState& state, const Contender& contender, const Result& wanted);

}  // namespace smemtune
