#include "tuner/engine/tuning_loop.h"

#include "tuner/core/error.h"
#include "tuner/core/usable_cores.h"
#include "tuner/engine/conclusions.h"
#include "tuner/engine/finals.h"
#include "tuner/engine/preparation.h"
#include "tuner/engine/problem_state.h"
#include "tuner/engine/problem_strategy.h"
#include "tuner/engine/search.h"
#include "tuner/engine/signature_check.h"
#include "tuner/engine/winners_elsewhere.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace smemtune {

namespace {

// Share of a problem's time that is left for the finals.
constexpr double kFinalsShare = 0.2;

/// Returns the time at which the search of a problem ends. Each problem gets an equal part of what
/// is left, less the share of the finals and `kept` seconds for each problem's end.
double search_until(double most, double spent, std::size_t problems_left, double kept = 0) {
  if (most <= 0) return 0;
  const double left = std::max(0.0, most - spent - kept * static_cast<double>(problems_left));
  return std::max(1e-9, spent + (1 - kFinalsShare) * left / static_cast<double>(problems_left));
}

/// Returns a problem's share of the budget: an equal part of what is left for the problems left.
ProblemBudget budget_of(const Tuning& tuning, std::size_t problems_left) {
  const Budget budget = budget_of_problems(tuning.request);
  ProblemBudget share;
  if (budget.max_evaluations != UINT64_MAX) {
    const std::uint64_t left =
        budget.max_evaluations - std::min(budget.max_evaluations, tuning.summary.evaluated);
    share.evaluations = (left + problems_left - 1) / problems_left;
  }
  share.until_s = search_until(budget.max_seconds, tuning.elapsed_s(), problems_left,
                               ending_reserve_s(tuning.request));
  share.until_device_s =
      search_until(budget.max_device_seconds, tuning.summary.device_s, problems_left);
  return share;
}

/// Returns the transfers that preparing measured; prepares a device if none was needed before.
std::optional<Transfers> transfers(Tuning& tuning, ProblemState& state) {
  for (;;) {
    for (const DeviceSession& device : state.devices) {
      if (device.transfers()) return device.transfers();
    }
    if (tuning.must_end()) return std::nullopt;
    if (devices_have_preparation(tuning, state)) {
      for (DeviceSession& device : state.devices) {
        if (!device.gone()) device.ready();
      }
    }
    work(tuning, state);
  }
}

/// Records the timings that later problems may learn from.
void note_findings(Tuning& tuning, const ProblemState& state) {
  for (std::size_t i = 0; i < state.kernels.size(); ++i) {
    PriorTimings prior_timings = {.device = tuning.device.name,
                                  .kernel = state.kernels[i].kernel().name,
                                  .problem = state.set.problems.front(),
                                  .device_distance = 0,
                                  .timed = {}};
    for (const Entry& entry : state.entries) {
      const Result& result = entry.result;
      if (entry.candidate.kernel != i || !result.timed()) continue;
      prior_timings.timed.emplace_back(result.measurement.median_ms, result.configuration);
    }
    // The latest problem is taken to be the most similar.
    if (!prior_timings.timed.empty()) {
      tuning.prior_timings.insert(tuning.prior_timings.begin(), std::move(prior_timings));
    }
  }
}

/// Notes what time_winners_elsewhere() needs to know of a problem, which took `begin_s` to begin.
void note_costs(Tuning& tuning, const ProblemState& state, double begin_s) {
  double prepare_s = 0;
  for (const DeviceSession& device : state.devices) {
    prepare_s = std::max(prepare_s, device.prepare_s());
  }
  tuning.prepare_s.push_back(prepare_s > 0 ? begin_s + prepare_s : HUGE_VAL);
  for (const KernelOnProblems& one : state.kernels) tuning.hashes[one.kernel().name] = one.hash;
}

/// Adds to the summary what there is to say of a problem whose best is settled.
void end_problem(Tuning& tuning, ProblemState& state) {
  if (tuning.log != nullptr) state.summary.default_in_doubt = default_in_doubt(state);
  if (const auto rejected = tuning.log != nullptr ? rejected_reference(state) : std::nullopt) {
    tuning.observer.note("*** " + *rejected);
  }
  for (Entry& entry : state.entries) state.summary.results.push_back(std::move(entry.result));
  state.summary.failure_patterns =
      failure_patterns(state.summary.results, tuning.request.space->kernels);
  for (const FailurePattern& pattern : state.summary.failure_patterns) {
    tuning.observer.note(to_text(pattern));
  }
  if (state.summary.default_in_doubt) {
    tuning.observer.note("*** " + to_text(*state.summary.default_in_doubt));
  }
  tuning.summary.problems.push_back(std::move(state.summary));
}

/// Problems with which the device is done, in order, until the CPU device has looked at those that
/// would win; the run goes on with further problems meanwhile.
class Unsettled {
 public:
  explicit Unsettled(Tuning& tuning) : tuning_(tuning) {
    tuning_.meanwhile = [this] { step(0); };
  }
  ~Unsettled() {
    tuning_.meanwhile = [] {};
  }

  /// Adds a problem; `finals` is null in a dry run. Waits while too many are left.
  void add(std::unique_ptr<ProblemState> state, FinalsStep finals) {
    problems_.push_back({.state = std::move(state), .finals = std::move(finals)});
    settle(most_at_once());
  }

  /// Waits until at most so many are left, and serves the run's workers meanwhile, because other
  /// hosts take a main process that does not listen for lost.
  void settle(std::size_t most_left) {
    ProblemState nothing;
    for (step(0); problems_.size() > most_left; step(kShort_s)) work(tuning_, nothing, 0);
  }

  /// Waits until none is left, for a run that ends.
  void settle() {
    while (!problems_.empty()) step(kShort_s);
  }

 private:
  struct One {
    std::unique_ptr<ProblemState> state;
    FinalsStep finals;
  };

  // A wait for the worker of one problem holds up the others.
  static constexpr double kShort_s = 0.01;

  /// Returns how many problems the CPU device looks at together: each uses all cores for a part of
  /// the time, and one core while it is compiled.
  static std::size_t most_at_once() {
    constexpr unsigned kCoresOfOne = 4;
    constexpr unsigned kMost = 4;
    return std::clamp(usable_cores() / kCoresOfOne, 1U, kMost);
  }

  void step(double wait_s) {
    for (One& one : problems_) {
      if (one.finals && one.finals(wait_s)) one.finals = nullptr;
    }
    while (!problems_.empty() && !problems_.front().finals) {
      end_problem(tuning_, *problems_.front().state);
      problems_.pop_front();
    }
  }

  Tuning& tuning_;
  std::deque<One> problems_;
};

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
  void begin(std::size_t i) {
    const std::vector<Problem>& problems = tuning_.request.problems;
    if (i >= problems.size() || tuning_.device.kind == DeviceKind::cpu) return;
    if (tuning_.request.options.budget.max_seconds > 0) return;
    try {
      state_ = bind_problem(tuning_, problems[i], i + 1);
      if (!tuning_.request.options.resume || !has_results()) ask();
    } catch (const InputError&) {
      state_.reset();  // It is thrown again where the problem begins.
    } catch (const Cancelled&) {
      state_.reset();
    }
  }

  /// Withdraws what is not being compiled yet. What is compiled is remembered by the queue.
  void withdraw() {
    for (const std::uint64_t number : std::exchange(numbers_, {})) tuning_.queue.forget(number);
  }

  /// Returns the problem if begin() has bound it.
  std::optional<ProblemState> take() { return std::exchange(state_, std::nullopt); }

 private:
  // Finals last about as long as it takes to compile so many times what a search has in flight.
  static constexpr std::size_t kTimesInFlight = 2;

  bool has_results() const {
    return std::ranges::any_of(state_->kernels, [this](const KernelOnProblems& kernel) {
      return !known_configurations(tuning_, *state_, kernel).empty();
    });
  }

  void ask() {
    const std::unique_ptr<Strategy> strategy = plan_search(tuning_, *state_).strategy;
    const std::size_t most =
        kTimesInFlight * in_flight(learns(tuning_), tuning_.pool.compilers(), tuning_.pool.units());
    for (std::size_t asked = 0; asked < most; ++asked) {
      const std::optional<Candidate> candidate = strategy->ask();
      if (!candidate) return;
      const KernelOnProblems& kernel = state_->kernels[candidate->kernel];
      const SearchSpace& space = kernel.bound.front().search_space();
      const Outcome<Variant> variant =
          plan(kernel, state_->set, space.configuration(candidate->configuration), tuning_.device);
      if (!variant) continue;
      for (const CompileRequest& request : on_tuned_problem(*variant).requests) {
        numbers_.push_back(tuning_.queue.add(request));
      }
    }
  }

  Tuning& tuning_;
  std::optional<ProblemState> state_;
  std::vector<std::uint64_t> numbers_;  ///< Numbers in the compile queue.
};

/// Holds the finals of a problem, while compilers begin with the next one.
FinalsStep hold_finals(Tuning& tuning, ProblemState& state, CompileAhead& ahead) {
  auto finals = run_finals(tuning, state, [&] {
    // The finals find out more, which what is compiled ahead does not need.
    const std::size_t known = tuning.prior_timings.size();
    note_findings(tuning, state);
    const std::size_t found = tuning.prior_timings.size() - known;
    ahead.begin(state.progress.problem_number);
    tuning.prior_timings.erase(tuning.prior_timings.begin(),
                               tuning.prior_timings.begin() + static_cast<std::ptrdiff_t>(found));
  });
  ahead.withdraw();
  return finals;
}

/// Does the device's part of a problem.
void tune_problem(Tuning& tuning, std::size_t i, Unsettled& unsettled, CompileAhead& ahead) {
  const TuningRequest& request = tuning.request;
  const double begun_s = tuning.elapsed_s();
  auto owned = std::make_unique<ProblemState>(
      begin_problem(tuning, request.problems[i], i + 1, ahead.take()));
  ProblemState& state = *owned;
  const double begin_s = tuning.elapsed_s() - begun_s;
  const ProblemBudget budget = budget_of(tuning, request.problems.size() - i);
  search(tuning, state, budget);
  FinalsStep finals;
  if (tuning.log == nullptr) {
    std::ranges::sort(state.entries, {},
                      // People read them in the space's order.
                      &Entry::candidate);
  } else {
    state.summary.unfinished = unfinished(tuning, state);
    finals = hold_finals(tuning, state, ahead);
    if (request.options.with_transfers) state.summary.transfers = transfers(tuning, state);
    if (!request.options.static_reject) state.summary.static_rejects = would_be_lost(state);
  }
  note_findings(tuning, state);
  note_costs(tuning, state, begin_s);
  state.summary.derived = derived_tolerances(state);
  state.summary.without_effect = without_effect(state);
  tuning.summary.device_s = device_s(tuning, state);
  state.devices.clear();
  unsettled.add(std::move(owned), std::move(finals));
}

/// Returns the kernels to compile: those searched and, when something is run, the references.
std::vector<const KernelTemplate*> kernels_of(const TuningRequest& request, bool runs) {
  std::vector<const KernelTemplate*> kernels = request.kernels;
  const Verify& verify = request.space->verify;
  for (const std::string& name : {verify.reference, verify.also_reference}) {
    const KernelTemplate* const kernel = runs ? request.space->kernel(name) : nullptr;
    if (kernel != nullptr && std::ranges::find(kernels, kernel) == kernels.end()) {
      kernels.push_back(kernel);
    }
  }
  return kernels;
}

/// Throws InputError if a kernel's arguments differ from those that the space passes.
void await_signatures(Tuning& tuning) {
  tuning.signatures->begin();
  ProblemState nothing;
  while (!tuning.must_end() && !tuning.signatures->is_done()) work(tuning, nothing);
}

void tune_problems(Tuning& tuning) {
  const TuningRequest& request = tuning.request;
  Unsettled unsettled(tuning);
  CompileAhead ahead(tuning);
  for (std::size_t i = 0; i < request.problems.size() && !tuning.stop; ++i) {
    try {
      tune_problem(tuning, i, unsettled, ahead);
    } catch (const Cancelled&) {
      unsettled.settle(0);
      tuning.observer.note("abandoned while the valid configurations were being listed: " +
                           key(request.problems[i]));
      tuning.summary.out_of_budget = !tuning.stop;
      tuning.summary.problems.emplace_back().problem = request.problems[i];
    } catch (const Error&) {
      unsettled.settle();  // Results of the problems before are written down.
      throw;
    }
  }
  unsettled.settle(0);
}

TuningSummary run(const TuningRequest& request, const Device& device, WorkerPool& pool,
                  ResultLog* log, const Observer& observer, const std::atomic<bool>& stop) {
  TuningSummary summary;
  CompileQueue queue(pool);
  const std::uint64_t deaths_before = pool.deaths();
  Tuning tuning = {.request = request,
                   .device = device,
                   .pool = pool,
                   .queue = queue,
                   .log = log,
                   .observer = observer,
                   .stop = stop,
                   .summary = summary,
                   .prior_timings = request.elsewhere};
  SignatureCheck signatures(tuning, kernels_of(request, log != nullptr));
  tuning.signatures = &signatures;
  if (log == nullptr) await_signatures(tuning);  // No device waits for them.
  tune_problems(tuning);
  if (tuning.prepare_s.size() == summary.problems.size()) time_winners_elsewhere(tuning);
  // No device has waited for them if no configuration compiled.
  if (summary.evaluated > 0) await_signatures(tuning);
  summary.interrupted = stop;
  summary.elapsed_s = tuning.elapsed_s();
  summary.worker_deaths = pool.deaths() - deaths_before;
  return summary;
}

}  // namespace

TuningSummary tune(const TuningRequest& request, WorkerPool& pool, ResultLog& log,
                   const Observer& observer, const std::atomic<bool>& stop) {
  return run(request, pool.greeting().devices.front(), pool, &log, observer, stop);
}

TuningSummary dry_run(const TuningRequest& request, const Device& device, WorkerPool& pool,
                      const Observer& observer, const std::atomic<bool>& stop) {
  return run(request, device, pool, nullptr, observer, stop);
}

}  // namespace smemtune
