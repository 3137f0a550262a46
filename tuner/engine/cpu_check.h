#pragma once

#include "tuner/core/summary.h"
#include "tuner/engine/compile_queue.h"
#include "tuner/engine/problem_state.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace smemtune {

/// What is kept of a budget of time for looking at the finalists of each problem, in seconds.
double cpu_check_reserve_s(const TuningRequest& request);

/// Runs finalists of a GPU on the CPU device beside it, a while each: on the tuned problem, or
/// where that is too large or a block of it takes too long, on the smallest one of the space.
class CpuChecker {
 public:
  CpuChecker(Tuning& tuning, ProblemState& state) : tuning_(tuning), state_(state) {}

  /// Whether there is anything to look for.
  bool applies_to(const Result& result) const;

  /// Takes so long at most. Nothing that lacks on the host is an error: CpuCheck::not_run says it.
  /// REQUIRES: applies_to(result).
  CpuCheck check(const KernelOnProblems& kernel, const Result& result, double most_s);

 private:
  struct Planned;
  std::vector<Planned> plans(const KernelOnProblems& kernel, const Result& result, CpuCheck& check);
  void run(const Planned& planned, double most_s, CpuCheck& check);
  Outcome<std::vector<Module>> compile(const std::vector<CompileRequest>& requests, double until_s);
  /// Throws UnavailableError where the worker is lost.
  Frame ask(MessageType type, std::vector<std::uint8_t> payload, const std::vector<Module>& modules,
            double until_s);

  std::vector<WorkerEvent> wait();

  Tuning& tuning_;
  ProblemState& state_;
  double spent_s_ = 0;  ///< On the problem's finalists so far.
  std::shared_ptr<WorkerPool> pool_;
  std::unique_ptr<CompileQueue> queue_;
};

}  // namespace smemtune
