#pragma once

#include "tuner/core/device.h"
#include "tuner/core/result_log.h"
#include "tuner/core/summary.h"
#include "tuner/engine/compile_queue.h"
#include "tuner/engine/device_session.h"
#include "tuner/engine/observer.h"
#include "tuner/engine/tuning_request.h"
#include "tuner/engine/variant.h"
#include "tuner/search/strategy.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace smemtune {

class SignatureCheck;

/// A kernel's hash and its bindings to problems, which are made once for all problems of a run.
struct KernelCache {
  std::string hash = {};
  std::map<Problem, KernelBinding> bindings = {};
};

/// The state that the parts of one run share.
struct Tuning {
  const TuningRequest& request;
  const Device& device;  ///< The first unit; its model decides what is valid.
  WorkerPool& pool;
  CompileQueue& queue;
  ResultLog* log = nullptr;  ///< Null in a dry run, which has no device either.
  const Observer& observer;
  const std::atomic<bool>& stop;
  TuningSummary& summary;
  SignatureCheck* signatures = nullptr;  ///< Nothing is measured before it is done.
  std::vector<PriorTimings> prior_timings =
      {};  ///< From the problems that are done, and the request.
  /// Null once `prior_timings` have them.
  std::function<std::vector<PriorTimings>()> further_elsewhere = request.further_elsewhere;
  /// The time that it took to begin each problem that is done and to prepare a device; infinite
  /// where none was prepared.
  std::vector<double> prepare_s = {};
  std::map<std::string, std::string> hashes = {};  ///< Hashes of the kernels searched, by name.
  /// Bytes of the latest problem with which a finalist of a kernel ran out of time on the CPU device.
  std::map<std::string, std::int64_t> too_large_for_cpu = {};
  /// Goes on with what problems before the current one wait for; called by work().
  std::function<void()> meanwhile = [] {};
  std::map<const KernelTemplate*, KernelCache> kernel_caches = {};
  std::chrono::steady_clock::time_point start =
      request.begun.value_or(std::chrono::steady_clock::now());

  double elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  /// Gives waiting requests to idle compilers; the signature check, which all measurements wait
  /// for, comes before the search.
  void compile();

  /// Returns true if every wait has to be given up: a stop is requested, or the time budget ran out
  /// `grace_s` ago.
  bool must_end() const {
    const double most_s = request.options.budget.max_seconds;
    return stop || (most_s > 0 && elapsed_s() > most_s + request.options.grace_s);
  }
};

/// A result and its origin.
struct Entry {
  Candidate candidate;
  Result result;
  enum class Origin { evaluated, log, twin };
  Origin origin = Origin::evaluated;  ///< `twin`: measured by another entry of the same identity.
  std::string identity = {};          ///< See identity(); empty if it comes from the log.
  std::string output_class = {};      ///< Equal for wrong outputs that agree with each other.
  bool hopeless = false;              ///< A static reject, timed all the same on request.
};

/// The pace of a kernel's best so far, which sets the deadline of its other configurations.
struct Pace {
  double median_ms = 0;
  double launches = 0;      ///< Number of launches of the whole kernel in one evaluation.
  double evaluation_s = 0;  ///< Duration of loading, verifying and sampling together.
};

struct NotCompiled {};

/// The reference while it is being compiled.
struct CompilingReference {
  Variant variant;
  std::vector<std::uint64_t> numbers = {};  ///< Numbers in the compile queue.
  /// The reference in double precision, if tolerances are derived from it, and its numbers.
  std::unique_ptr<ReferenceInDouble> in_double = nullptr;
  std::vector<std::uint64_t> double_numbers = {};
  /// The request that has the devices fill the problem's buffers meanwhile.
  std::shared_ptr<const Preparation> buffers = nullptr;
};

/// One problem: its kernels, the devices prepared for it, and what has been found so far.
struct ProblemState {
  ProblemSet set;
  std::vector<KernelOnProblems>
      kernels;  ///< The kernels searched; Candidate::kernel is an index here.
  KernelOnProblems reference;
  std::optional<KernelOnProblems> witness;  ///< The kernel that answers for the further problems.
  std::string reference_name;               ///< Its name in messages.
  std::vector<std::string> notes;           ///< Lines for people that begin_problem() shows.
  /// One session for each unit that is left or came later; none in a dry run.
  std::deque<DeviceSession> devices;
  std::size_t units_seen = 0;  ///< Units of the pool that have been looked at.
  std::shared_ptr<ReferenceRecord> reference_record;
  /// The reference as far as it is; only preparation.cpp changes it. The devices share the
  /// preparation.
  std::variant<NotCompiled, CompilingReference, std::shared_ptr<const Preparation>> preparation;
  std::vector<Entry> entries;              ///< In the order in which results came in.
  std::vector<std::optional<Pace>> paces;  ///< One for each kernel; nullopt until one is timed.
  std::optional<Unfinished> missed;        ///< Latest estimate of what the search missed.
  double slowest_s = 0;                    ///< Duration of the longest evaluation that succeeded.
  /// Metrics that declare more work than must be done; nullopt until that is known (too_fast.h).
  std::optional<std::set<std::string>> overdeclared;
  Progress progress;
  ProblemSummary summary;
};

/// Finds out whether a second seed would give the reference or any of the bound kernels other data.
void find_second_data(ProblemState& state);

/// Binds a kernel of the request's space to each problem of the set. Throws InputError.
KernelOnProblems bind(Tuning& tuning, const ProblemSet& set, const KernelTemplate& kernel);

/// Binds the space's kernels to a problem and lists their valid configurations. Throws InputError,
/// and Cancelled when the run must end before that is done. `number`: from 1.
ProblemState bind_problem(Tuning& tuning, const Problem& problem, std::size_t number);

/// Binds a problem unless that is done, says what was left out, and adds the devices. Throws as
/// bind_problem() does.
ProblemState begin_problem(Tuning& tuning, const Problem& problem, std::size_t number,
                           std::optional<ProblemState> bound = std::nullopt);

/// Interval between looks at whether the run must end.
inline constexpr double kWait_s = 0.2;

/// Number of lost hosts after which a configuration that was being measured there fails. It equals
/// that of device workers killed by something else: what was measured is seldom at fault.
inline constexpr int kMaxLostHosts = 2;

/// Lets workers work until something has happened, at most `timeout_s`.
void work(Tuning& tuning, ProblemState& state, double timeout_s = kWait_s);

/// How long the device may take for an evaluation (TuningOptions::min_deadline_s). `pace`: of its
/// kernel; nullopt for a default. `slowest_s`: the longest evaluation that came through; a device
/// that is slow for all of them is given three times as long whatever the options say.
double deadline_s(const TuningOptions& options, const std::optional<Pace>& pace, double slowest_s);

/// Returns true if it is its kernel's fastest so far.
bool is_fastest(const ProblemState& state, std::size_t kernel, const Result& result);

/// Keeps the pace of the fastest of each kernel. `evaluation_s`: what evaluating `result` took.
void note_pace(ProblemState& state, std::size_t kernel, const Variant& variant,
               const Result& result, int screen_samples, double evaluation_s);

/// How long the device has been busy in this run.
double device_s(const Tuning& tuning, const ProblemState& state);

/// Brings the progress up to date and shows it.
void show_progress(Tuning& tuning, ProblemState& state, const std::string& phase);

}  // namespace smemtune
