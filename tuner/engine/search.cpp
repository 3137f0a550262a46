#include "tuner/engine/search.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/engine/early_loss.h"
#include "tuner/engine/evaluation.h"
#include "tuner/engine/finals.h"
#include "tuner/engine/preparation.h"
#include "tuner/engine/progress_meter.h"
#include "tuner/engine/static_reject.h"
#include "tuner/engine/strategy_choice.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace smemtune {

namespace {

// Asked and not yet told, where what is told changes nothing that is asked...
constexpr std::size_t kLeastWindow = 64;
constexpr std::size_t kWindowOfCompiler = 4;
// ... and where it does: each compiler has one, each device one more than it measures.
constexpr std::size_t kWindowOfDevice = 2;

std::size_t window(const Tuning& tuning, const ProblemState& state) {
  const TuningOptions& options = tuning.request.options;
  if (options.window > 0) return options.window;
  const std::size_t compilers = tuning.pool.compilers();
  const bool learns = tuning.request.only.empty() && strategy_info(options.strategy).learns;
  if (!learns || tuning.log == nullptr)
    return std::max(kLeastWindow, kWindowOfCompiler * compilers);
  return compilers + kWindowOfDevice * state.devices.size();
}

/// The loop over one problem's configurations. What was asked for and not yet told is in flight,
/// in the order asked; compiling runs ahead over all of them, each device takes the first that is
/// compiled.
class Search {
 public:
  Search(Tuning& tuning, ProblemState& state, std::unique_ptr<Strategy> strategy,
         const ProblemBudget& budget)
      : tuning_(tuning),
        state_(state),
        strategy_(std::move(strategy)),
        budget_(budget),
        begin_s_(tuning.elapsed_s()),
        begin_device_s_(device_s(tuning, state)),
        best_ms_(state.kernels.size(), HUGE_VAL),
        incumbents_ms_(best_ms_),
        static_rejects_(state.kernels.size()),
        losses_(state.kernels.size(),
                EarlyLoss(race_options(options(), state.devices.size() > 1).keep_within_percent)) {}

  void run() {
    for (;;) {
      follow_devices();
      ask_and_tell();
      if ((in_flight_.empty() && !begin_again()) || ended()) break;
      advance();
      if (in_flight_.front().done) continue;
      work(tuning_, state_);
      take_answers();
      report();
    }
    leave();
  }

 private:
  struct InFlight {
    Candidate candidate;
    std::uint64_t place = 0;  ///< In the order asked.
    Result result = {};
    std::optional<Variant> variant = std::nullopt;
    std::vector<std::uint64_t> numbers = {};  ///< Of what the compile queue was asked for...
    std::size_t not_compiled = 0;             ///< ... and how many of them are not ready.
    std::vector<Module> modules = {};         ///< Once it is compiled.
    std::string identity = {};                ///< Once it is compiled.
    StaticLimits limits = {};                 ///< From what had been told when it was asked.
    bool hopeless = false;                    ///< It is beyond those limits.
    bool in_full = false;                     ///< However far it is behind.
    bool known = false;
    bool on_device = false;
    bool done = false;
    bool shared = false;  ///< Measured with another of the same identity.
    std::string output_class = {};
    bool saved = false;  ///< Its result is in the log.
    bool begun = false;  ///< The log knows that it is about to touch a device.
    int lost_hosts = 0;  ///< That were measuring it.
  };

  /// What a device is doing.
  struct Evaluation {
    InFlight* pending = nullptr;
    EvaluateRequest asked = {};  ///< Without modules.
  };

  const KernelOnProblems& kernel(const InFlight& pending) const {
    return state_.kernels[pending.candidate.kernel];
  }

  /// Devices and compilers may have come.
  void follow_devices() {
    on_device_.resize(state_.devices.size());
    window_ = window(tuning_, state_);
  }

  // Asks again after each result that is told, never after several, so that a strategy sees the
  // same order whatever the workers do.
  void ask_and_tell() {
    for (;;) {
      while (!no_more_ && in_flight_.size() < window_) ask();
      if (in_flight_.empty() || !in_flight_.front().done) return;
      if (!in_flight_.front().known && !in_flight_.front().saved) save();
      tell(in_flight_.front());
      in_flight_.pop_front();
      if (ended()) return;
    }
  }

  void ask() {
    const std::optional<Candidate> candidate = strategy_->ask();
    if (!candidate) {
      no_more_ = true;
      return;
    }
    const KernelOnProblems& kernel = state_.kernels[candidate->kernel];
    const Configuration configuration =
        kernel.bound.front().search_space().configuration(candidate->configuration);
    InFlight pending = {
        .candidate = *candidate, .result = begin_result(kernel, configuration), .limits = {}};
    // What is slow is as much a part of a predicted curve as what is fast; a default is what people
    // compare with, however slow it is.
    if (!kernel.kernel().expect) pending.limits = static_rejects_[candidate->kernel].limits();
    pending.in_full = kernel.kernel().expect || pending.result.is_default ||
                      !options().early_loss || !tuning_.request.only.empty();
    std::optional<Result> known = find(kernel, pending.result);
    if (known && !(known->behind() && pending.in_full)) {
      pending.result = std::move(*known);
      pending.known = pending.done = true;
      pending.hopeless = rejects(pending.limits, pending.result).has_value();
      note_known_pace(pending);
      show(pending);
      note_time(pending, incumbents_ms_);
      add(std::move(pending));
      return;
    }
    begin(std::move(pending));
  }

  InFlight& add(InFlight pending) {
    pending.place = ++last_place_;
    if (!pending.done) ++undone_;
    return in_flight_.emplace_back(std::move(pending));
  }

  /// Has it compiled, if it fits and so many may be evaluated.
  void begin(InFlight pending) {
    Outcome<Variant> variant =
        plan(kernel(pending), state_.set, pending.result.configuration, tuning_.device);
    if (!variant) {
      set_failure(pending.result, variant.failure());
      complete(add(std::move(pending)));
      return;
    }
    if (begun_ >= budget_.evaluations && !pending.result.is_default) {
      no_more_ = true;
      tuning_.summary.out_of_budget = true;
      return;
    }
    ++begun_;
    pending.result.metrics = std::move(variant->metrics);
    for (const CompileRequest& request : variant->requests) {
      pending.numbers.push_back(tuning_.queue.add(request));
    }
    pending.not_compiled = pending.numbers.size();
    pending.variant = std::move(*variant);
    InFlight& added = add(std::move(pending));
    for (const std::uint64_t number : added.numbers) compiling_.emplace(number, &added);
  }

  /// What was given up early, and may win after all by what is known now: the best that it was
  /// behind is no more, or a first launch turned out to say less. It is evaluated in full.
  bool begin_again() {
    const auto is_wanted = [&](const Entry& entry) { return may_win(entry); };
    if (std::ranges::none_of(state_.entries, is_wanted) || ended()) return false;
    std::vector<Entry> again;
    std::erase_if(state_.entries, [&](Entry& entry) {
      if (begun_ + again.size() >= budget_.evaluations || !may_win(entry)) return false;
      again.push_back(std::move(entry));
      return true;
    });
    for (const Entry& entry : again) {
      --state_.progress.done;
      if (entry.known) {
        --state_.progress.known;
        --state_.summary.known;
      }
      const KernelOnProblems& kernel = state_.kernels[entry.candidate.kernel];
      begin({.candidate = entry.candidate,
             .result = begin_result(kernel, entry.result.configuration),
             .limits = {},
             .in_full = true});
    }
    return !in_flight_.empty();
  }

  bool may_win(const Entry& entry) const {
    if (!entry.result.behind()) return false;
    const double best_ms = best_ms_[entry.candidate.kernel];
    const LossLimits limits = losses_[entry.candidate.kernel].limits(best_ms);
    const double least_ms =
        limits.sampled_above_ms > 0 ? limits.sampled_above_ms : options().cut_factor * best_ms;
    return !(entry.result.first_launch_ms > least_ms);
  }

  std::optional<Result> find(const KernelOnProblems& kernel, const Result& wanted) {
    if (tuning_.log == nullptr || !options().resume) return std::nullopt;
    std::optional<Result> known = tuning_.log->find(key_of(kernel.hash, wanted));
    if (!known || !still_holds(*known) || is_asked_again(kernel, *known)) return std::nullopt;
    known->is_default = wanted.is_default;
    known->is_reference = wanted.is_reference;
    known->compared_with = wanted.compared_with;
    return known;
  }

  /// What was not timed because of an option is not known when the option is another one.
  bool still_holds(const Result& known) const {
    if (is_static_reject(known)) return options().static_reject;
    if (known.reason == kQuarantined.word()) return !options().retry_quarantined;
    if (known.status != Status::constraints || known.reason != "occupancy") return true;
    const double least_percent = options().resource_limits.min_occupancy_percent;
    return std::ranges::any_of(known.launches, [&](const LaunchResult& launch) {
      return launch.occupancy.blocks_per_sm == 0 || launch.occupancy.percent < least_percent;
    });
  }

  /// With whom one agrees that differs from the only witness is not stored: some are asked again.
  bool is_asked_again(const KernelOnProblems& kernel, const Result& known) {
    constexpr int kMost = 8;
    return kernel.is_only_witness() && known.reason == "mismatch" && asked_again_++ < kMost;
  }

  void tell(InFlight& pending) {
    strategy_->tell(pending.candidate, pending.result);
    // A hopeless one would not have been timed, so nothing is learnt from it.
    if (pending.result.timed() && !pending.hopeless) {
      static_rejects_[pending.candidate.kernel].tell(pending.result);
    }
    keep(pending);
  }

  void keep(InFlight& pending) {
    if (pending.known) {
      ++state_.summary.known;
      tuning_.observer.result(pending.result, true);
    }
    note_time(pending, best_ms_);
    state_.entries.push_back({.candidate = pending.candidate,
                              .result = std::move(pending.result),
                              .known = pending.known,
                              .identity = std::move(pending.identity),
                              .shared = pending.shared,
                              .output_class = std::move(pending.output_class),
                              .hopeless = pending.hopeless});
  }

  /// People see a result as soon as it is there, also where it waits for an earlier one to be told.
  void show(const InFlight& pending) {
    Progress& progress = state_.progress;
    const Result& result = pending.result;
    ++progress.done;
    if (pending.known) ++progress.known;
    if (result.failed() && !result.behind()) ++progress.failed;
    const double best_ms = progress.best ? progress.best->measurement.median_ms : HUGE_VAL;
    if (result.timed() && result.measurement.median_ms < best_ms) progress.best = result;
  }

  /// Judges what was compiled, and gives it to devices.
  void advance() {
    for (const std::uint64_t number : tuning_.queue.take_ready()) {
      const auto found = compiling_.find(number);
      if (found == compiling_.end()) continue;  // It is wanted for something else.
      InFlight& pending = *found->second;
      compiling_.erase(found);
      if (--pending.not_compiled == 0) take_modules(pending);
    }
    feed_devices();
    save();
    tuning_.queue.pump();
  }

  void take_modules(InFlight& pending) {
    Outcome<std::vector<Module>> modules = tuning_.queue.take(std::exchange(pending.numbers, {}));
    std::optional<Failure> failure;
    if (!modules) {
      failure = modules.failure();
    } else {
      pending.modules = std::move(*modules);
      failure = judge(*pending.variant, pending.modules, tuning_.device, options().resource_limits,
                      pending.result);
    }
    if (!failure) {
      std::optional<Failure> hopeless = rejects(pending.limits, pending.result);
      pending.hopeless = hopeless.has_value();
      if (options().static_reject) failure = std::move(hopeless);
    }
    if (failure) {
      set_failure(pending.result, *failure);
    } else {
      pending.identity = identity(*pending.variant, pending.modules);
      if (!state_.devices.empty()) {
        compiled_.emplace(pending.place, &pending);
        return;
      }
      pending.result.status = Status::fits;
    }
    count();
    complete(pending);
  }

  /// A configuration that was compiled or measured has its result.
  void count() {
    ++state_.summary.evaluated;
    ++tuning_.summary.evaluated;
    meter_.count(tuning_.elapsed_s());
  }

  /// It has its result, which is written down with whatever is written next: a device waits
  /// for one commit, not for two.
  void complete(InFlight& pending) {
    pending.done = true;
    --undone_;
    pending.modules.clear();
    pending.variant.reset();
    note_time(pending, incumbents_ms_);
    show(pending);
    const Result& result = pending.result;
    const bool failed = result.failed() && !result.behind();
    std::optional<Failure>& first = tuning_.summary.first_failure;
    if (failed && (!first || (first->status == Status::constraints &&
                              result.status != Status::constraints))) {
      first = Failure{.status = result.status, .reason = result.reason, .detail = result.detail};
    }
    unsaved_.push_back(&pending);
  }

  /// Writes down the results that are not, and that `begun` are about to touch devices: at once, as
  /// a commit takes as long for many as for one.
  void save(const std::vector<const InFlight*>& begun = {}) {
    if (unsaved_.empty() && begun.empty()) return;
    if (tuning_.log != nullptr) {
      tuning_.log->together([&] {
        for (const InFlight* pending : unsaved_)
          tuning_.log->record(kernel(*pending).hash, pending->result);
        for (const InFlight* pending : begun)
          tuning_.log->begin_attempt(key_of(kernel(*pending).hash, pending->result));
      });
    }
    for (InFlight* pending : std::exchange(unsaved_, {})) {
      pending->saved = true;
      tuning_.observer.result(pending->result, false);
    }
  }

  /// What a device is given next.
  struct Assignment {
    InFlight* pending = nullptr;
    std::size_t device = 0;
    /// By kernel: a slow rung of a ladder is measured as well as the others.
    double incumbent_ms = 0;
  };

  void feed_devices() {
    const std::vector<Assignment> assignments = assign();
    std::vector<const InFlight*> begun;
    for (const Assignment& assignment : assignments) {
      if (!std::exchange(assignment.pending->begun, true)) begun.push_back(assignment.pending);
    }
    if (!begun.empty()) save(begun);
    for (const Assignment& assignment : assignments) submit(assignment);
  }

  /// The first of what is compiled, for each device that is idle.
  std::vector<Assignment> assign() {
    std::size_t at_work = 0;
    for (const auto& evaluations : on_device_) at_work += evaluations.size();
    if (state_.devices.empty() || undone_ == at_work) return {};
    if (!devices_have_preparation(tuning_, state_)) return {};
    const std::vector<std::size_t> free = free_devices();
    std::vector<Assignment> assignments;
    for (auto next = compiled_.begin();
         next != compiled_.end() && assignments.size() < free.size();) {
      InFlight& pending = *next->second;
      if (!share(pending)) {
        if (is_being_measured(pending.identity)) {
          ++next;
          continue;
        }
        const std::size_t device = free[assignments.size()];
        next_device_ = device + 1;
        pending.on_device = true;
        on_device_[device].push_back({.pending = &pending});
        assignments.push_back({.pending = &pending,
                               .device = device,
                               .incumbent_ms = incumbents_ms_[pending.candidate.kernel]});
      }
      next = compiled_.erase(next);
    }
    return assignments;
  }

  bool is_being_measured(const std::string& identity) const {
    const auto is_it = [&](const Evaluation& evaluation) {
      return evaluation.pending->identity == identity;
    };
    return !identity.empty() && std::ranges::any_of(on_device_, [&](const auto& evaluations) {
      return std::ranges::any_of(evaluations, is_it);
    });
  }

  /// Those that are idle, then those that take something ahead. In turn: where compilers are waited
  /// for all devices are idle, and none is to be left out.
  std::vector<std::size_t> free_devices() {
    std::vector<std::size_t> idle;
    std::vector<std::size_t> ahead;
    for (std::size_t behind = 0; behind < state_.devices.size(); ++behind) {
      const std::size_t i = (next_device_ + behind) % state_.devices.size();
      // All are asked, as that is what prepares them.
      const bool is_idle = !state_.devices[i].busy() && state_.devices[i].ready();
      if (is_idle) idle.push_back(i);
      if (state_.devices[i].takes_ahead()) ahead.push_back(i);
    }
    idle.insert(idle.end(), ahead.begin(), ahead.end());
    return idle;
  }

  static void note_time(const InFlight& pending, std::vector<double>& best_ms) {
    if (!pending.result.timed()) return;
    double& least_ms = best_ms[pending.candidate.kernel];
    least_ms = std::min(least_ms, pending.result.measurement.median_ms);
  }

  /// What ran the same code in the same way has been measured already. Returns false where nothing
  /// has.
  bool share(InFlight& pending) {
    const auto found = measured_.find(pending.identity);
    if (found == measured_.end()) return false;
    const Result& twin = found->second;
    const auto samples = static_cast<std::size_t>(options().screen_samples);
    const bool was_cut =
        twin.behind() || (twin.timed() && twin.measurement.samples_ms.size() < samples);
    if (pending.in_full && was_cut) return false;
    take_measurement(pending.result, twin);
    pending.shared = true;
    count();
    complete(pending);
    return true;
  }

  void submit(const Assignment& assignment) {
    const InFlight& pending = *assignment.pending;
    const double incumbent_ms = assignment.incumbent_ms;
    const Result& result = pending.result;
    EvaluateRequest asked = {.job = make_job(*pending.variant, pending.modules),
                             .verify = true,
                             .screen_samples = std::max(1, options().screen_samples),
                             .enough_ms = options().screen_ms,
                             .classify = kernel(pending).is_only_witness()};
    if (!pending.in_full) asked.loss = losses_[pending.candidate.kernel].limits(incumbent_ms);
    const bool is_cut =
        !result.is_default && incumbent_ms < HUGE_VAL && asked.loss.sampled_above_ms == 0;
    asked.stop_above_ms = is_cut ? options().cut_factor * incumbent_ms : 0;
    const std::optional<Pace>& pace = state_.paces[pending.candidate.kernel];
    state_.devices[assignment.device].submit(
        MessageType::evaluate, pack(asked), pending.modules,
        deadline_s(options(), result.is_default ? std::nullopt : pace, state_.slowest_s), true);
    asked.job.modules.clear();
    on_device_[assignment.device].back().asked = std::move(asked);
  }

  void take_answers() {
    follow_devices();
    for (std::size_t i = 0; i < state_.devices.size(); ++i) {
      while (auto answer = state_.devices[i].take_answer()) take_answer(i, *answer);
    }
    if (!ended()) feed_devices();
    save();
  }

  void take_answer(std::size_t device, const DeviceAnswer& answer) {
    const Evaluation evaluation = std::move(on_device_[device].front());
    on_device_[device].pop_front();
    InFlight* const pending = evaluation.pending;
    pending->on_device = false;
    // Another device takes it; what was at work when two hosts were lost, nobody does.
    if (answer.not_asked || (answer.host_lost && ++pending->lost_hosts < kMaxLostHosts)) {
      compiled_.emplace(pending->place, pending);
      return;
    }
    pending->result.unit = state_.devices[device].device().uuid;
    const std::string worker = pending->result.unit + "/" + std::to_string(answer.generation) + "/";
    const EvaluateReply reply = read_evaluation(answer, evaluation.asked, state_.devices[device]);
    if (reply.output_class >= 0) {
      pending->output_class = worker + std::to_string(reply.output_class);
    }
    take_screening(reply, evaluation.asked, pending->result);
    note_loss(reply, pending->candidate.kernel);
    if (!reply.failure) state_.slowest_s = std::max(state_.slowest_s, answer.elapsed_s);
    note_pace(*pending, *pending->variant, answer.elapsed_s);
    if (!pending->result.unit.empty()) ++tuning_.summary.evaluated_on[pending->result.unit];
    count();
    // A crash or a hang may have been bad luck; what is right or wrong is so again.
    const Status status = pending->result.status;
    if (!pending->identity.empty() &&
        (status == Status::correct || status == Status::correctness || pending->result.behind())) {
      measured_.insert_or_assign(pending->identity, pending->result);
    }
    complete(*pending);
  }

  /// What the first launch said of the samples that followed, or that none did.
  void note_loss(const EvaluateReply& reply, std::size_t kernel) {
    if (reply.failure) return;
    if (reply.time.samples_ms.empty()) {
      losses_[kernel].tell_unsampled();
    } else {
      losses_[kernel].tell(reply.first_launch_ms, quantile(reply.time.samples_ms, 0.5));
    }
  }

  bool is_fastest_of_kernel(const InFlight& pending) const {
    const std::optional<Pace>& pace = state_.paces[pending.candidate.kernel];
    return pending.result.timed() &&
           (!pace || pending.result.measurement.median_ms < pace->median_ms);
  }

  void note_pace(const InFlight& pending, const Variant& variant, double elapsed_s) {
    if (!is_fastest_of_kernel(pending)) return;
    const Measurement& measured = pending.result.measurement;
    std::size_t runs = 1;
    for (const Part& part : variant.parts) runs += part.workloads.size();
    const double samples = std::max(1, options().screen_samples) + 1;
    state_.paces[pending.candidate.kernel] =
        Pace{.median_ms = measured.median_ms,
             .launches = static_cast<double>(runs) + samples * measured.launches_per_sample,
             .evaluation_s = elapsed_s};
  }

  /// What is known from the log tells how long others may take, too: by what of its evaluation was
  /// written down, verifying.
  void note_known_pace(const InFlight& pending) {
    if (!pending.result.timed()) return;
    losses_[pending.candidate.kernel].tell(pending.result.first_launch_ms,
                                           pending.result.measurement.median_ms);
    const double evaluation_s = pending.result.verify_ms * 1e-3;
    state_.slowest_s = std::max(state_.slowest_s, evaluation_s);
    if (!is_fastest_of_kernel(pending)) return;
    const Outcome<Variant> variant =
        plan(kernel(pending), state_.set, pending.result.configuration, tuning_.device);
    if (variant) note_pace(pending, *variant, evaluation_s);
  }

  bool ended() {
    if (tuning_.stop) return true;
    const bool time_is_up = budget_.until_s > 0 && tuning_.elapsed_s() >= budget_.until_s;
    const bool device_time_is_up =
        budget_.until_device_s > 0 && device_s(tuning_, state_) >= budget_.until_device_s;
    if (!time_is_up && !device_time_is_up) return false;
    // What the user has now is measured also in the time that is kept for the finals.
    const bool default_is_pending = std::ranges::any_of(in_flight_, [](const InFlight& pending) {
      return pending.result.is_default && !pending.done;
    });
    if (default_is_pending && !tuning_.must_end()) return false;
    tuning_.summary.out_of_budget = true;
    return true;
  }

  /// Lets the devices finish, as far as there is time, and drops what has not reached them.
  void leave() {
    save();
    const double patience_until_s = tuning_.elapsed_s() + options().grace_s;
    const auto is_measuring = [](const DeviceSession& device) {
      return device.busy() && !device.preparing();
    };
    while (std::ranges::any_of(state_.devices, is_measuring)) {
      if (tuning_.must_end() && tuning_.elapsed_s() > patience_until_s) break;
      work(tuning_, state_);
      take_answers();
      report();
    }
    say_what_is_given_up();
    for (InFlight& pending : in_flight_) {
      for (const std::uint64_t number : pending.numbers) tuning_.queue.forget(number);
      if (pending.done) keep(pending);
    }
    in_flight_.clear();
    report();
  }

  void say_what_is_given_up() {
    for (const InFlight& pending : in_flight_) {
      if (!pending.on_device) continue;
      tuning_.observer.note("abandoned while it was being measured: " + pending.result.kernel +
                            " " + key(pending.result.configuration));
    }
    if (tuning_.must_end() && preparing()) {
      tuning_.observer.note("abandoned while " + state_.reference_name +
                            ", which the others are compared with, was being prepared");
    }
  }

  /// Preparing again, where a context was lost, is part of the search.
  bool preparing() const {
    return !state_.progress.best && !state_.devices.empty() &&
           std::ranges::all_of(state_.devices, [](const DeviceSession& device) {
             return device.preparing() || device.gone();
           });
  }

  void report() {
    const double now_s = tuning_.elapsed_s();
    Progress& progress = state_.progress;
    progress.configurations_per_s = meter_.per_s(now_s);
    const std::uint64_t valid_left = progress.valid - std::min(progress.valid, progress.done);
    const std::uint64_t budget_left =
        budget_.evaluations - std::min(budget_.evaluations, state_.summary.evaluated);
    progress.remaining_s = meter_.remaining_s(now_s, std::min(valid_left, budget_left));
    if (progress.remaining_s && budget_.until_s > 0) {
      progress.remaining_s =
          std::min(*progress.remaining_s, std::max(0.0, budget_.until_s - now_s));
    }
    if (progress.remaining_s && budget_.until_device_s > 0) {
      const double used_s = device_s(tuning_, state_);
      const double busy = (used_s - begin_device_s_) / (now_s - begin_s_);  // Devices, on average.
      const double left_s = std::max(0.0, budget_.until_device_s - used_s);
      if (busy > 0) progress.remaining_s = std::min(*progress.remaining_s, left_s / busy);
    }
    progress.waiting_for = waiting_for();
    show_progress(tuning_, state_, preparing() ? "prepare" : "search");
  }

  std::string waiting_for() const {
    if (in_flight_.empty()) return "";
    const bool all_busy = std::ranges::all_of(state_.devices, [](const DeviceSession& device) {
      return device.busy() || device.preparing() || device.gone();
    });
    if (state_.devices.empty() || !all_busy) return "compiler";
    return compiled_.empty() ? "" : "device";
  }

  const TuningOptions& options() const { return tuning_.request.options; }

  Tuning& tuning_;
  ProblemState& state_;
  std::unique_ptr<Strategy> strategy_;
  ProblemBudget budget_;
  std::size_t window_ = 0;
  double begin_s_;
  double begin_device_s_;
  std::deque<InFlight> in_flight_;
  std::unordered_map<std::uint64_t, InFlight*> compiling_;  ///< By the queue's number.
  std::map<std::uint64_t, InFlight*> compiled_;    ///< That wait for a device, in the order asked.
  std::vector<InFlight*> unsaved_;                 ///< Done, and not in the log yet.
  std::vector<std::deque<Evaluation>> on_device_;  ///< As ProblemState::devices.
  std::vector<double> best_ms_;                    ///< Of what was told, by kernel...
  std::vector<double> incumbents_ms_;              ///< ... and of what has not been told yet.
  std::map<std::string, Result> measured_;         ///< By identity.
  std::vector<StaticReject> static_rejects_;       ///< By kernel.
  std::vector<EarlyLoss> losses_;                  ///< By kernel.
  ProgressMeter meter_;
  std::size_t next_device_ = 0;  ///< The first to be given work.
  std::uint64_t last_place_ = 0;
  std::size_t undone_ = 0;  ///< In flight.
  std::uint64_t begun_ = 0;
  int asked_again_ = 0;
  bool no_more_ = false;
};

}  // namespace

void search(Tuning& tuning, ProblemState& state, const ProblemBudget& budget) {
  if (!tuning.request.only.empty()) state.progress.valid = tuning.request.only.size();
  Search(tuning, state, strategy_of(tuning, state), budget).run();
}

}  // namespace smemtune
