#pragma once

#include "tuner/core/summary.h"
#include "tuner/engine/compile_queue.h"
#include "tuner/engine/problem_state.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace smemtune {

/// Returns how many seconds of a time budget to reserve for the check of each problem's finalists.
double cpu_check_reserve_s(const TuningRequest& request);

/// Runs finalists of a GPU for a short while each on the CPU device beside it, while the run does
/// something else: on the tuned problem or, where that is too large, or one of its blocks takes too
/// long or took too long on a smaller problem of this run, on the smallest problem of the space.
class CpuChecker {
 public:
  explicit CpuChecker(Tuning& tuning);
  ~CpuChecker();

  /// Whether the check can find anything: there is a CPU device and the kernel uses shared memory.
  bool applies_to(const Result& result) const;

  /// Begins a check, which takes at most `most_s` seconds. REQUIRES: applies_to(result), and the
  /// check before is done.
  void begin(const KernelOnProblems& kernel, const Result& result, double most_s);

  /// Goes on as far as that takes at most `wait_s` of waiting. Returns the check once it is done.
  /// Something missing on the host is not an error but is said in CpuCheck::not_run.
  /// REQUIRES: begin() was called.
  std::optional<CpuCheck> step(double wait_s);

 private:
  struct Planned;
  struct Question;
  void make_plans(const KernelOnProblems& kernel, const Result& result);
  bool begin_plan();
  void end_plan(bool is_out_of_time);
  void take(const WorkerEvent& event);
  bool advance();
  bool is_compiled();
  bool is_answered();
  bool must_end(double until_s) const;
  void fill();
  void watch();
  void take_look(const Question& answered);

  Tuning& tuning_;
  CpuCheck check_;
  double end_s_ = 0;           ///< Time at which the check ends.
  double spent_s_ = 0;         ///< Time spent on the problem's finalists so far.
  std::deque<Planned> plans_;  ///< The first is being carried out.
  bool is_begun_ = false;      ///< True if the first one is.
  double begun_s_ = 0;
  double until_s_ = 0;                    ///< Time at which it must be done.
  std::vector<std::uint64_t> compiling_;  ///< Numbers in the queue; empty once compiled.
  std::vector<Module> modules_;
  std::unique_ptr<Question> question_;  ///< The question that has no answer yet.
  std::shared_ptr<WorkerPool> pool_;
  std::unique_ptr<CompileQueue> queue_;
};

}  // namespace smemtune
