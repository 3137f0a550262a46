#pragma once

#include "tuner/engine/problem_state.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace smemtune {

/// The next problem of a run, bound, and compiled as far as its search will ask first, while the
/// device races the finals of the problem before.
class CompileAhead {
 public:
  explicit CompileAhead(Tuning& tuning) : tuning_(tuning) {}
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;
  ~CompileAhead() { withdraw(); }

  /// Binds problem i of the request, and has compiled what its search would ask for first by what is
  /// known now, unless the log has results of the problem. Does nothing on the CPU device, whose
  /// cores are raced, and with a budget of time, some of which is kept for the finals.
  void begin(std::size_t i);

  /// Withdraws what is not being compiled yet. What is compiled is remembered by the queue.
  void withdraw();

  /// Returns the problem if begin() has bound it.
  std::optional<ProblemState> take() { return std::exchange(state_, std::nullopt); }

 private:
  void ask();

  Tuning& tuning_;
  std::optional<ProblemState> state_;
  std::vector<std::uint64_t> numbers_;  ///< Numbers in the compile queue.
};

}  // namespace smemtune
