#include "tuner/engine/search.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"
#include "tuner/engine/device_feed.h"
#include "tuner/engine/finals.h"
#include "tuner/engine/problem_strategy.h"
#include "tuner/engine/progress_meter.h"
#include "tuner/engine/seen_times.h"
#include "tuner/engine/too_fast.h"
#include "tuner/search/chance_follower.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

namespace smemtune {

namespace {

std::size_t window(const Tuning& tuning, const ProblemState& state) {
  const TuningOptions& options = tuning.request.options;
  if (options.window > 0) return options.window;
  return in_flight(learns(tuning), tuning.pool.compilers(), state.devices.size());
}

/// The loop over one problem's configurations. Those that were asked for and whose results are not
/// yet told are in flight, in the order asked; compilers work ahead on all of them, and each device
/// takes the first that is compiled.
class Search {
 public:
  Search(Tuning& tuning, ProblemState& state, std::unique_ptr<Strategy> strategy,
         const ProblemBudget& budget, SearchedBefore before)
      : tuning_(tuning),
        state_(state),
        strategy_(std::move(strategy)),
        budget_(budget),
        begin_s_(tuning.elapsed_s()),
        begin_device_s_(device_s(tuning, state)),
        times_(state.kernels.size()),
        feed_(tuning, state, times_),
        until_percent_(until_percent(tuning, state)),
        before_(std::move(before)),
        chance_(*strategy_, state.summary.valid, learns(tuning), 1 + better_percent() / 100) {}

  void run() {
    add_known();
    for (;;) {
      window_ = window(tuning_, state_);  // Devices and compilers may have been added.
      ask_and_tell();
      if (is_sure_ && !goes_on_ && !begun_again_) leave();
      if ((in_flight_.empty() && !begin_again()) || ended()) break;
      advance();
      if (in_flight_.front().has_result()) continue;
      work(tuning_, state_);
      take_answers();
      report();
    }
    leave();
  }

 private:
  const KernelOnProblems& kernel(const InFlight& pending) const {
    return state_.kernels[pending.candidate.kernel];
  }

  // Asks again after each result that is told, never after several, so that a strategy sees the
  // same order whatever the workers do.
  void ask_and_tell() {
    for (;;) {
      while (!no_more_ && !is_sure_ && may_ask()) ask();
      if (in_flight_.empty() || !in_flight_.front().has_result()) return;
      if (in_flight_.front().state != InFlight::State::saved) save();
      tell(in_flight_.front());
      in_flight_.pop_front();
      if (ended()) return;
    }
  }

  /// Whether a configuration more may be in flight. While the first holds up what came after it, as
  /// one does that takes long to compile, others are asked for, so that no compiler waits.
  bool may_ask() const {
    constexpr std::size_t kMostHeldUp = 2;  // Times the window, in flight.
    if (options().window > 0 || !learns(tuning_)) return in_flight_.size() < window_;
    return undone_ < window_ && in_flight_.size() < kMostHeldUp * window_;
  }

  static InFlight wanted(const Candidate& candidate, const KernelOnProblems& kernel,
                         const Configuration& configuration) {
    InFlight pending;
    pending.candidate = candidate;
    pending.result = begin_result(kernel, configuration);
    return pending;
  }

  /// Adds what earlier runs have found, so that a strategy that learns begins with all of it.
  void add_known() {
    if (!learns(tuning_) || !options().resume) return;
    std::vector<Candidate> known;
    for (std::size_t i = 0; i < state_.kernels.size(); ++i) {
      const KernelOnProblems& kernel = state_.kernels[i];
      const SearchSpace& space = kernel.bound.front().search_space();
      for (const Configuration& configuration : known_configurations(tuning_, state_, kernel)) {
        const std::optional<ConfigurationIndex> index = space.index_of(configuration);
        if (index) known.push_back({.kernel = i, .configuration = *index});
      }
    }
    add_if_known(known);
    // The strategy is told before it is asked, or it might ask for them itself.
    for (; !in_flight_.empty(); in_flight_.pop_front()) tell(in_flight_.front());
  }

  /// Adds those that are in the log with a result that holds. To lock the log for each took longer
  /// than to read it; others who write wait while this many are read.
  void add_if_known(std::span<const Candidate> known) {
    constexpr std::size_t kLockedFor = 256;
    while (!known.empty()) {
      const auto next = known.first(std::min(kLockedFor, known.size()));
      tuning_.log->in_transaction([&] {
        for (const Candidate& candidate : next) add_if_known(prepared(candidate));
      });
      known = known.subspan(next.size());
    }
  }

  void ask() {
    const std::optional<Candidate> candidate = next();
    if (!candidate) {
      no_more_ = true;
      return;
    }
    InFlight pending = prepared(*candidate);
    if (!add_if_known(pending)) begin(std::move(pending));
  }

  /// Returns what to evaluate next; nullopt when nothing is left.
  std::optional<Candidate> next() {
    if (const std::optional<Candidate> beside = next_beside_fastest()) {
      asked_beside_.insert(*beside);
      return beside;
    }
    std::optional<Candidate> candidate = strategy_->ask();
    while (candidate && asked_beside_.contains(*candidate)) candidate = strategy_->ask();
    return candidate;
  }

  /// Returns one of those that go_on_beside_fastest() would evaluate, once the search is about to end:
  /// then they would be all that is in flight, and compilers would wait.
  std::optional<Candidate> next_beside_fastest() const {
    constexpr double kNearlySure = 1.6 * kSureChance;
    if (!(until_percent_ > 0) || chance_.now().value_or(1) > kNearlySure || before_.confirmed()) {
      return std::nullopt;
    }
    std::set<Candidate> beside = beside_fastest(state_);
    for (const InFlight& pending : in_flight_) beside.erase(pending.candidate);
    return beside.empty() ? std::nullopt : std::optional(*beside.begin());
  }

  InFlight prepared(const Candidate& candidate) const {
    const KernelOnProblems& kernel = state_.kernels[candidate.kernel];
    InFlight pending =
        wanted(candidate, kernel,
               kernel.bound.front().search_space().configuration(candidate.configuration));
    // Slow configurations are as much a part of a predicted curve as fast ones.
    if (!kernel.kernel().expect) pending.limits = times_[candidate.kernel].static_limits();
    pending.never_pruned =
        kernel.kernel().expect || !options().early_loss || !tuning_.request.only.empty();
    return pending;
  }

  /// Adds a configuration with its result if that is in the log and still holds; returns whether it
  /// does.
  bool add_if_known(InFlight pending) {
    std::optional<Result> known = find(kernel(pending), pending.result);
    if (!known || (known->lost_early() && pending.never_pruned)) return false;
    pending.result = std::move(*known);
    pending.origin = Entry::Origin::log;
    pending.state = InFlight::State::saved;
    pending.hopeless = rejects(pending.limits, pending.result).has_value();
    note_known_pace(pending);
    show(pending);
    times_[pending.candidate.kernel].see(pending.result);
    add(std::move(pending));
    return true;
  }

  InFlight& add(InFlight pending) {
    pending.place = ++last_place_;
    if (!pending.has_result()) ++undone_;
    return in_flight_.emplace_back(std::move(pending));
  }

  /// Plans a configuration and queues its compilation, if it can be launched and the budget allows.
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
    pending.variant = std::move(*variant);
    if (is_to_be_tried(pending)) pending.tried = on_tuned_problem(*pending.variant);
    compile(add(std::move(pending)), /*first=*/false);
  }

  /// Returns whether a configuration may lose before its code for further problems is compiled. Where
  /// nothing can lose yet, that is worthwhile only if the code is compiled alone anyway.
  bool is_to_be_tried(const InFlight& pending) const {
    const std::vector<CompileRequest>& requests = pending.variant->requests;
    if (pending.never_pruned || requests.size() < 2 || state_.devices.empty()) return false;
    const SeenTimes& its = times_[pending.candidate.kernel];
    if (its.least_ms() < HUGE_VAL && its.least_ms() > kDoubtfulToAny * fastest_of_all_ms(times_)) {
      return true;
    }
    return loss_limits(times_, pending.candidate.kernel).doubtful_above > 0 ||
           (!pending.result.is_default && tuning_.queue.compiles_alone(requests.front()));
  }

  /// Queues the compilation of what is to be launched now. `first`: as in CompileQueue::add().
  void compile(InFlight& pending, bool first) {
    pending.numbers = tuning_.queue.add_all(pending.launched().requests, first);
    pending.not_compiled = pending.numbers.size();
    for (const std::uint64_t number : pending.numbers) compiling_.emplace(number, &pending);
  }

  /// Compiles the code for further problems, too. Others have waited for it as long as for this one.
  void end_trial(InFlight& pending) {
    pending.tried.reset();
    pending.modules.clear();
    pending.state = InFlight::State::compiling;
    if (!is_leaving_) compile(pending, /*first=*/true);
  }

  /// Evaluates what is left beside the fastest few where the search ended because it was sure, and
  /// returns whether there was anything. What turns out to be faster has its own neighbors.
  bool go_on_beside_fastest() {
    if (!is_sure_ || begun_again_ || before_.confirmed() || ended()) return false;
    goes_on_ = true;
    for (const Candidate& candidate : beside_fastest(state_)) {
      InFlight pending = prepared(candidate);
      if (!add_if_known(pending)) begin(std::move(pending));
    }
    return !in_flight_.empty();
  }

  /// Evaluates in full what was given up too early, and returns whether there was anything.
  bool begin_again() {
    if (go_on_beside_fastest()) return true;
    const std::set<Candidate> candidates = given_up_too_early(state_, times_);
    if (candidates.empty() || ended()) return false;
    std::vector<Entry> again;
    std::erase_if(state_.entries, [&](Entry& entry) {
      const bool is_wanted = candidates.contains(entry.candidate);
      if (begun_ + again.size() >= budget_.evaluations || !is_wanted) return false;
      again.push_back(std::move(entry));
      return true;
    });
    begun_again_ = true;
    for (const Entry& entry : again) {
      --state_.progress.done;
      if (entry.origin == Entry::Origin::log) {
        --state_.summary.known;
      } else {
        --state_.summary.evaluated;
        --tuning_.summary.evaluated;
      }
      const KernelOnProblems& kernel = state_.kernels[entry.candidate.kernel];
      InFlight pending = wanted(entry.candidate, kernel, entry.result.configuration);
      pending.never_pruned = true;
      begin(std::move(pending));
    }
    return !in_flight_.empty();
  }

  std::optional<Result> find(const KernelOnProblems& kernel, const Result& wanted) {
    if (tuning_.log == nullptr || !options().resume) return std::nullopt;
    std::optional<Result> known = tuning_.log->find(key_of(kernel.hash, wanted));
    if (!known || !still_holds(*known) || is_asked_again(kernel, *known)) return std::nullopt;
    known->is_default = wanted.is_default;
    known->is_reference = wanted.is_reference;
    if (too_fast(tuning_, state_, kernel, *known)) return std::nullopt;
    return known;
  }

  /// Whether a known result holds under the present options, which may allow what was rejected.
  bool still_holds(const Result& known) const {
    if (is_static_reject(known)) return options().static_reject;
    if (known.reason == kQuarantined.word()) return !options().retry_quarantined;
    if (known.status != Status::constraints || known.reason != "occupancy") return true;
    const double least_percent = options().resource_limits.min_occupancy_percent;
    return std::ranges::any_of(known.launches, [&](const LaunchResult& launch) {
      return launch.occupancy.blocks_per_sm == 0 || launch.occupancy.percent < least_percent;
    });
  }

  /// Output classes are not stored, so some kernels that differ from the only witness run again.
  bool is_asked_again(const KernelOnProblems& kernel, const Result& known) {
    constexpr int kMost = 8;
    return kernel.is_self_verified() && known.reason == "mismatch" && asked_again_++ < kMost;
  }

  void tell(InFlight& pending) {
    strategy_->tell(pending.candidate, pending.result);
    before_.tell(pending.candidate, pending.result);
    if (!begun_again_) note_missed(pending.result);
    times_[pending.candidate.kernel].tell(pending.result, pending.hopeless);
    keep(pending);
  }

  double better_percent() const { return until_percent_ > 0 ? until_percent_ : 1; }

  /// Estimates what the search may have missed so far, and ends it when that is unlikely enough.
  void note_missed(const Result& result) {
    // The log also says what the search that it is from missed.
    chance_.tell(result.time_ms(), !before_.is_in_log());
    const LastGain& gains = chance_.last_gain();
    if (gains.last_gain() == 0) return;
    std::optional<double> chance = chance_.now();
    bool is_enough = chance && is_sure(*chance, gains.evaluations());
    const std::optional<Searched> before = before_.confirmed();
    const bool is_confirmed = before && before->chance_of_better < chance.value_or(1);
    if (is_confirmed) {
      chance = before->chance_of_better;
      is_enough = *chance <= kSureChance;
    }
    if (until_percent_ > 0 && is_enough) is_sure_ = true;
    state_.missed = Unfinished{.chance_of_better = chance,
                               .percent = better_percent(),
                               .by_itself = is_sure_ && !no_more_,
                               .evaluations = gains.evaluations(),
                               .last_gain = gains.last_gain(),
                               .elsewhere = is_confirmed ? before->elsewhere : 0};
    state_.progress.chance_of_better = chance;
    state_.progress.chance_percent = better_percent();
  }

  void keep(InFlight& pending) {
    if (pending.origin == Entry::Origin::log) {
      ++state_.summary.known;
      tuning_.observer.result(pending.result, true);
    }
    state_.entries.push_back(std::move(static_cast<Entry&>(pending)));
  }

  /// Shows a result at once, even while it waits for earlier ones to be told.
  void show(const InFlight& pending) {
    Progress& progress = state_.progress;
    const Result& result = pending.result;
    ++progress.done;
    if (result.failed() && !result.behind()) ++progress.failed;
    const double best_ms = progress.best ? progress.best->measurement.median_ms : HUGE_VAL;
    if (result.timed() && result.measurement.median_ms < best_ms) progress.best = result;
  }

  /// Judges what was compiled and gives it to devices.
  void advance() {
    for (const std::uint64_t number : tuning_.queue.take_ready()) {
      const auto found = compiling_.find(number);
      if (found == compiling_.end()) continue;  // Another part of the run wants it.
      InFlight& pending = *found->second;
      compiling_.erase(found);
      if (--pending.not_compiled == 0) take_modules(pending);
    }
    feed_devices();
    save();
    tuning_.compile();
  }

  void take_modules(InFlight& pending) {
    Outcome<std::vector<Module>> modules = tuning_.queue.take(std::exchange(pending.numbers, {}));
    std::optional<Failure> failure;
    if (!modules) {
      failure = modules.failure();
    } else {
      pending.modules = std::move(*modules);
      failure = judge(pending.launched(), pending.modules, tuning_.device,
                      options().resource_limits, pending.result);
    }
    if (!failure) {
      std::optional<Failure> hopeless = rejects(pending.limits, pending.result);
      pending.hopeless = hopeless.has_value();
      if (options().static_reject) failure = std::move(hopeless);
    }
    if (failure) {
      set_failure(pending.result, *failure);
    } else {
      pending.identity = identity(pending.launched(), pending.modules);
      if (!state_.devices.empty()) {
        feed_.add(pending);
        return;
      }
      pending.result.status = Status::fits;
    }
    finish(pending);
  }

  /// Counts a configuration that was compiled or measured and has its result.
  void finish(InFlight& pending) {
    ++state_.summary.evaluated;
    ++tuning_.summary.evaluated;
    meter_.count(tuning_.elapsed_s());
    complete(pending);
  }

  /// Takes a result into account. It is stored with whatever is stored next, so that a device waits
  /// for one commit, not for two.
  void complete(InFlight& pending) {
    pending.state = InFlight::State::finished;
    --undone_;
    pending.modules.clear();
    pending.variant.reset();
    pending.tried.reset();
    times_[pending.candidate.kernel].see(pending.result);
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

  /// Stores the unsaved results, and that `begun` are about to use devices, in one commit, which
  /// takes as long for many as for one.
  void save(const std::vector<const InFlight*>& begun = {}) {
    if (unsaved_.empty() && begun.empty()) return;
    if (tuning_.log != nullptr) {
      tuning_.log->in_transaction([&] {
        for (const InFlight* pending : unsaved_)
          tuning_.log->record(kernel(*pending).hash, pending->result);
        for (const InFlight* pending : begun)
          tuning_.log->begin_attempt(key_of(kernel(*pending).hash, pending->result));
      });
    }
    for (InFlight* pending : std::exchange(unsaved_, {})) {
      pending->state = InFlight::State::saved;
      tuning_.observer.result(pending->result, false);
    }
  }

  void feed_devices() {
    const DeviceFeed::Assigned assigned = feed_.assign(undone_);
    for (InFlight* pending : assigned.shared) finish(*pending);
    std::vector<const InFlight*> begun;
    for (const DeviceFeed::Assignment& assignment : assigned.assignments) {
      if (!std::exchange(assignment.pending->has_attempt, true))
        begun.push_back(assignment.pending);
    }
    if (!begun.empty()) save(begun);
    for (const DeviceFeed::Assignment& assignment : assigned.assignments) feed_.submit(assignment);
  }

  void take_answers() {
    const DeviceFeed::Answered answered = feed_.take_answers();
    for (InFlight* pending : answered.finished) finish(*pending);
    for (InFlight* pending : answered.undecided) end_trial(*pending);
    if (!is_leaving_ && !ended()) feed_devices();
    save();
  }

  /// Updates the pace from a result in the log. Of its evaluation only the time of verifying was
  /// stored.
  void note_known_pace(const InFlight& pending) {
    const Result& result = pending.result;
    const std::size_t kernel_number = pending.candidate.kernel;
    if (!result.timed()) return;
    times_[kernel_number].see_launches(result);
    const double evaluation_s = result.verify_ms * 1e-3;
    state_.slowest_s = std::max(state_.slowest_s, evaluation_s);
    if (!is_fastest(state_, kernel_number, result)) return;
    const Outcome<Variant> variant =
        plan(kernel(pending), state_.set, result.configuration, tuning_.device);
    if (variant) {
      note_pace(state_, kernel_number, *variant, result, options().screen_samples, evaluation_s);
    }
  }

  bool ended() {
    if (tuning_.stop) return true;
    const bool time_is_up = budget_.until_s > 0 && tuning_.elapsed_s() >= budget_.until_s;
    const bool device_time_is_up =
        budget_.until_device_s > 0 && device_s(tuning_, state_) >= budget_.until_device_s;
    if (!time_is_up && !device_time_is_up) return false;
    // The default that the user has now is measured even in the time reserved for the finals.
    const bool default_is_pending = std::ranges::any_of(in_flight_, [](const InFlight& pending) {
      return pending.result.is_default && !pending.has_result();
    });
    if (default_is_pending && !tuning_.must_end()) return false;
    tuning_.summary.out_of_budget = true;
    return true;
  }

  /// Lets the devices finish as far as time allows, and drops configurations not yet on a device.
  void leave() {
    is_leaving_ = true;
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
    close_trials();
    for (InFlight& pending : in_flight_) {
      for (const std::uint64_t number : pending.numbers) tuning_.queue.forget(number);
      if (!pending.has_result()) continue;
      is_sure_ && !begun_again_ ? tell(pending) : keep(pending);
    }
    in_flight_.clear();
    compiling_.clear();
    feed_.drop_waiting();
    undone_ = 0;
    is_leaving_ = false;
    report();
  }

  void say_what_is_given_up() {
    for (const InFlight& pending : in_flight_) {
      if (pending.state != InFlight::State::measuring) continue;
      tuning_.observer.note("abandoned while it was being measured: " + pending.result.kernel +
                            " " + key(pending.result.configuration));
    }
    if (tuning_.must_end() && preparing()) {
      tuning_.observer.note("abandoned while " + state_.reference_name +
                            ", which the others are compared with, was being prepared");
    }
  }

  /// Says in the log that those which a device has only tried did no harm there.
  void close_trials() {
    std::vector<const InFlight*> tried;
    for (const InFlight& pending : in_flight_) {
      const bool is_tried = pending.has_attempt && pending.lost_hosts == 0 &&
                            pending.state < InFlight::State::measuring;
      if (is_tried) tried.push_back(&pending);
    }
    if (tried.empty() || tuning_.log == nullptr) return;
    tuning_.log->in_transaction([&] {
      for (const InFlight* pending : tried)
        tuning_.log->close_attempts(key_of(kernel(*pending).hash, pending->result));
    });
  }

  /// Whether all devices are still being prepared. A repeated preparation, after a lost context, is
  /// part of the search.
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
    progress.remaining_s =
        meter_.remaining_s(now_s, std::min({valid_left, budget_left, left_until_sure()}));
    if (progress.remaining_s && budget_.until_s > 0) {
      progress.remaining_s =
          std::min(*progress.remaining_s, std::max(0.0, budget_.until_s - now_s));
    }
    if (progress.remaining_s && budget_.until_device_s > 0) {
      const double used_s = device_s(tuning_, state_);
      // Average number of busy devices.
      const double busy = (used_s - begin_device_s_) / (now_s - begin_s_);
      const double left_s = std::max(0.0, budget_.until_device_s - used_s);
      if (busy > 0) progress.remaining_s = std::min(*progress.remaining_s, left_s / busy);
    }
    progress.waiting_for = waiting_for();
    show_progress(tuning_, state_, preparing() ? "prepare" : "search");
  }

  /// Returns how many evaluations are left until the search ends by itself if it finds nothing
  /// better; UINT64_MAX where it does not.
  std::uint64_t left_until_sure() const {
    if (!(until_percent_ > 0)) return UINT64_MAX;
    if (const auto missing = before_.missing()) return *missing;
    if (!chance_.now()) return UINT64_MAX;
    const std::uint64_t done = chance_.last_gain().evaluations();
    const double enough = std::max(static_cast<double>(kLeastSure),
                                   evaluations_until(*chance_.now(), kSureChance, done));
    constexpr double kMany = 1e18;
    if (!(enough < kMany)) return UINT64_MAX;
    return static_cast<std::uint64_t>(enough) - std::min(done, static_cast<std::uint64_t>(enough));
  }

  std::string waiting_for() const {
    if (in_flight_.empty()) return "";
    const bool all_busy = std::ranges::all_of(state_.devices, [](const DeviceSession& device) {
      return device.busy() || device.preparing() || device.gone();
    });
    if (state_.devices.empty() || !all_busy) return "compiler";
    return feed_.any_waits_for_device() ? "device" : "";
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
  std::unordered_map<std::uint64_t, InFlight*> compiling_;  ///< Keyed by queue number.
  std::vector<InFlight*> unsaved_;                          ///< Done, but not in the log yet.
  std::vector<SeenTimes> times_;                            ///< One for each kernel.
  DeviceFeed feed_;
  double until_percent_;
  SearchedBefore before_;
  ChanceFollower chance_;
  std::set<Candidate> asked_beside_;  ///< Asked for by next_beside_fastest(), not by the strategy.
  ProgressMeter meter_;
  std::uint64_t last_place_ = 0;
  std::size_t undone_ = 0;  ///< In flight and without a result.
  std::uint64_t begun_ = 0;
  int asked_again_ = 0;
  bool no_more_ = false;
  bool is_sure_ = false;  ///< Whether it is unlikely enough that something better is left.
  bool goes_on_ = false;  ///< Beside the fastest, after the search was sure.
  bool begun_again_ = false;
  bool is_leaving_ = false;
};

}  // namespace

void search(Tuning& tuning, ProblemState& state, const ProblemBudget& budget) {
  if (!tuning.request.only.empty()) state.progress.valid = tuning.request.only.size();
  PlannedSearch planned = plan_search(tuning, state);
  if (!planned.told.empty()) tuning.observer.note(planned.told);
  Search(tuning, state, std::move(planned.strategy), budget, planned.before).run();
}

void search(Tuning& tuning, ProblemState& state, const ProblemBudget& budget,
            const std::vector<KernelConfiguration>& only) {
  state.progress.valid = only.size();
  state.progress.done = 0;
  Search(tuning, state, listed(state, only), budget, SearchedBefore()).run();
}

}  // namespace smemtune
