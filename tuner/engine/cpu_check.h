#pragma once

#include "tuner/core/summary.h"
#include "tuner/engine/compile_queue.h"
#include "tuner/engine/problem_state.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace smemtune {

/// Returns how many seconds of a time budget to reserve for the check of each problem's finalists.
double cpu_check_reserve_s(const TuningRequest& request);

/// Runs finalists of a GPU for a short while each on the CPU device beside it: on the tuned problem
/// or, where that is too large, or one of its blocks takes too long or took too long on a smaller
/// problem of this run, on the smallest problem of the space.
class CpuChecker {
 public:
  CpuChecker(Tuning& tuning, ProblemState& state) : tuning_(tuning), state_(state) {}

  /// Whether the check can find anything: there is a CPU device and the kernel uses shared memory.
  bool applies_to(const Result& result) const;

  /// Runs the check for at most `most_s` seconds. Something missing on the host is not an error but
  /// is said in CpuCheck::not_run. REQUIRES: applies_to(result).
  CpuCheck check(const KernelOnProblems& kernel, const Result& result, double most_s);

 private:
  struct Planned;
  std::vector<Planned> plans(const KernelOnProblems& kernel, const Result& result, CpuCheck& check);
  void run(const Planned& planned, double most_s, CpuCheck& check);
  Outcome<std::vector<Module>> compile(const std::vector<CompileRequest>& requests, double until_s);
  /// Throws UnavailableError when the worker is lost.
  Frame ask(MessageType type, std::vector<std::uint8_t> payload, const std::vector<Module>& modules,
            double until_s);

  std::vector<WorkerEvent> wait();

  Tuning& tuning_;
  ProblemState& state_;
  double spent_s_ = 0;  ///< Time spent on the problem's finalists so far.
  std::shared_ptr<WorkerPool> pool_;
  std::unique_ptr<CompileQueue> queue_;
};

}  // namespace smemtune
