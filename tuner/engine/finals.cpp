#include "tuner/engine/finals.h"

#include "tuner/core/error.h"
#include "tuner/engine/preparation.h"
#include "tuner/engine/race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace smemtune {

namespace {

constexpr double kWait_s = 0.2;
constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// A kernel's default takes part in the finals unless it is far behind.
constexpr double kDefaultFactor = 2;

// Boards of one model differ by some per cent: so much more may one be behind that was screened on
// another board than the fastest, and still be raced.
constexpr double kUnitMargin_percent = 6;

// A round counts as hung after so many times what the screens promise, and a bit for each entry:
// flushing the L2 and waiting for the clock to recover take their time.
constexpr double kSlowRound = 20;
constexpr double kEntryOverhead_s = 0.5;

// The rounds before the first decision may take so long; where all contenders would need more,
// fewer of them take part.
constexpr double kMaxFirstRounds_s = 60;

// ... or such a part of what a budget leaves.
constexpr double kFirstRoundsShare = 0.5;

// When the time is up before the finals are over they have at least so many rounds: with fewer not
// even a median means anything.
constexpr std::size_t kLeastCutRounds = 6;

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

int registers(const Result& result) {
  int most = 0;
  for (const LaunchResult& launch : result.launches) {
    most = std::max(most, launch.resources.registers_per_thread);
  }
  return most;
}

/// Among equals: what earlier finals chose; less shared memory, then fewer registers, then what is
/// quicker by the median.
bool preferred(const Result& a, const Result& b) {
  const auto rank = [](const Result& r) {
    return std::tuple(!r.chosen, r.shared_bytes(), registers(r), r.measurement.median_ms, r.kernel,
                      key(r.configuration));
  };
  return rank(a) < rank(b);
}

class Finals {
 public:
  Finals(Tuning& tuning, ProblemState& state) : tuning_(tuning), state_(state) {}

  void run() {
    find_contenders();
    if (contenders_.empty()) return;
    if (tuning_.stop || nothing_new()) {
      best_of_what_is_known();
      return;
    }
    state_.progress.remaining_s.reset();
    show_progress(tuning_, state_, "finals");
    tuning_.observer.before_finals(device().device());
    const double left_s = seconds_left();
    const double until_s = left_s > 0 ? tuning_.elapsed_s() + left_s : HUGE_VAL;
    Race race = begin_race();
    bool is_limited = false;
    std::vector<std::size_t> round = race.next_round();
    begin_attempts(round);
    for (; !round.empty(); round = race.next_round()) {
      if (race.in_finals() && !std::exchange(is_limited, true)) {
        for (const std::size_t i : round) forget_clocks(contenders_[i]);
        race.set_final_rounds(final_rounds(options(), round_device_s(round), seconds_left()));
      }
      const std::vector<double> times_ms = measure(round);
      if (tuning_.stop) break;
      race.add_round(times_ms);
      if (!race.in_finals()) race.set_final_rounds(expected_final_rounds(round));
      const double time_s = until_s - tuning_.elapsed_s();
      if (time_s < round_s_ && race.samples_left() > 0) cut(race);
      const double sample_s = round_s_ / static_cast<double>(round.size());
      state_.progress.remaining_s = std::clamp(sample_s * static_cast<double>(race.samples_left()),
                                               0.0, std::max(0.0, time_s));
      show_progress(tuning_, state_, "finals");
    }
    if (tuning_.stop) {
      best_of_what_is_known();
    } else {
      settle(race);
    }
    state_.progress.remaining_s.reset();
  }

 private:
  /// The time is up: ends the race, then the finals once they have told something.
  void cut(Race& race) {
    tuning_.summary.out_of_budget = true;
    race.start_finals();
    if (race.final_rounds() < kLeastCutRounds) return;
    tuning_.observer.note("the time is up: the finals end after " +
                          std::to_string(race.final_rounds()) + " rounds");
    race.cut_finals();
  }

  /// Before it is known who gets there, as many as this round's contenders would have.
  std::size_t expected_final_rounds(const std::vector<std::size_t>& round) const {
    const double finalists = static_cast<double>(std::min(options().finalists + 2, round.size()));
    const double final_round_s =
        round_device_s(round) * finalists / static_cast<double>(round.size());
    return final_rounds(options(), final_round_s, seconds_left());
  }

  Result& result(const Contender& contender) { return state_.entries[contender.entry].result; }
  const Result& result(const Contender& contender) const {
    return state_.entries[contender.entry].result;
  }
  const KernelOnProblems& kernel(const Contender& contender) const {
    return state_.kernels[state_.entries[contender.entry].candidate.kernel];
  }
  const TuningOptions& options() const { return tuning_.request.options; }

  /// Where the finals are: the first unit that is left, as only times of one unit can be compared.
  DeviceSession& device() const {
    return *std::ranges::find_if(state_.devices,
                                 [](const DeviceSession& session) { return !session.gone(); });
  }

  void find_contenders() {
    std::map<std::string, std::size_t> by_identity;
    for (std::size_t i = 0; i < state_.entries.size(); ++i) {
      const Entry& entry = state_.entries[i];
      if (!entry.result.timed()) continue;
      if (!entry.identity.empty()) {
        const auto [same, is_new] = by_identity.try_emplace(entry.identity, contenders_.size());
        if (!is_new) {
          Contender& contender = contenders_[same->second];
          contender.twins.push_back(i);
          // Whichever was compiled first was measured, and stands for the others.
          if (state_.entries[contender.entry].shared && !entry.shared) {
            std::swap(contender.entry, contender.twins.back());
          }
          continue;
        }
      }
      contenders_.push_back({.entry = i});
    }
  }

  double screen_ms(const Contender& contender) const {
    return result(contender).measurement.median_ms;
  }

  double fastest_ms() const {
    double fastest = HUGE_VAL;
    for (const Contender& contender : contenders_) {
      fastest = std::min(fastest, screen_ms(contender));
    }
    return fastest;
  }

  std::string leading_kernel(double fastest) const {
    const auto leader = std::ranges::find_if(
        contenders_, [&](const Contender& contender) { return screen_ms(contender) <= fastest; });
    return leader == contenders_.end() ? "" : result(*leader).kernel;
  }

  bool holds_default(const Contender& contender) const {
    return result(contender).is_default ||
           std::ranges::any_of(contender.twins, [this](std::size_t twin) {
             return state_.entries[twin].result.is_default;
           });
  }

  bool holds(const Contender& contender, const Result& wanted) const {
    const auto is_wanted = [&](const Result& other) {
      return other.kernel == wanted.kernel && other.configuration == wanted.configuration;
    };
    return is_wanted(result(contender)) ||
           std::ranges::any_of(contender.twins, [&](std::size_t twin) {
             return is_wanted(state_.entries[twin].result);
           });
  }

  /// Round by round, so that a drift of the clock moves both.
  void compare_with_default(const std::vector<const Race::Standing*>& finalists) {
    const Race::Standing* best = nullptr;
    const Race::Standing* users = nullptr;
    for (const Race::Standing* standing : finalists) {
      const Contender& contender = contenders_[standing->variant];
      if (holds(contender, *state_.summary.best)) best = standing;
      const bool same_kernel = result(contender).kernel == state_.summary.best->kernel;
      if (same_kernel && holds_default(contender)) users = standing;
    }
    if (best == nullptr || users == nullptr || best == users) return;
    state_.summary.default_slower = paired_difference(users->samples_ms, best->samples_ms);
  }

  /// Whether an earlier run has held the finals over the same results: then none that was only
  /// screened looks better than what came out of them.
  bool nothing_new() {
    double final_ms = HUGE_VAL;
    double screened_ms = HUGE_VAL;
    for (const Contender& contender : contenders_) {
      double& least = result(contender).stage == Stage::final ? final_ms : screened_ms;
      if (result(contender).stage == Stage::race) continue;
      least = std::min(least, screen_ms(contender));
    }
    return state_.summary.evaluated == 0 && final_ms < HUGE_VAL && final_ms <= screened_ms;
  }

  /// The fastest by what was measured; what finals measured before anything else.
  void best_of_what_is_known() {
    std::vector<const Contender*> ranked;
    for (const Contender& contender : contenders_) {
      if (result(contender).timed()) ranked.push_back(&contender);
    }
    const auto rank = [this](const Contender* contender) {
      return std::pair(result(*contender).stage != Stage::final, screen_ms(*contender));
    };
    std::ranges::sort(ranked, {}, rank);
    if (ranked.empty()) return;
    std::vector<const Result*> equals = {&result(*ranked.front())};
    if (equals.front()->stage == Stage::final) add_equals(ranked, equals);
    take(choose(equals), equals);
  }

  /// Adds finalists whose median is within the tie of the first.
  void add_equals(const std::vector<const Contender*>& ranked,
                  std::vector<const Result*>& equals) const {
    const double most_ms =
        equals.front()->measurement.median_ms * (1 + options().tie_percent / 100);
    for (const Contender* contender : ranked) {
      const Result& other = result(*contender);
      const bool tied = other.stage == Stage::final && other.measurement.median_ms <= most_ms;
      if (tied && &other != equals.front()) equals.push_back(&other);
    }
  }

  /// Where the device is noisy, those that cannot be told apart may differ by much: less shared
  /// memory decides only among those that seem equally fast. REQUIRES: equals is not empty.
  const Result& choose(std::vector<const Result*> equals) const {
    const auto median_ms = [](const Result* result) { return result->measurement.median_ms; };
    std::ranges::sort(equals, {}, median_ms);
    const double most_ms = median_ms(equals.front()) * (1 + options().tie_percent / 100);
    const auto slower = std::ranges::upper_bound(equals, most_ms, {}, median_ms);
    return **std::ranges::min_element(
        equals.begin(), slower, [](const Result* a, const Result* b) { return preferred(*a, *b); });
  }

  /// Makes it the best; its ties are in the order of their medians.
  void take(const Result& best, std::vector<const Result*> equals) {
    std::ranges::sort(equals, {},
                      [](const Result* result) { return result->measurement.median_ms; });
    state_.summary.best = best;
    for (const Result* other : equals) {
      if (other != &best) state_.summary.ties.push_back(*other);
    }
    state_.progress.best = best;
  }

  Race begin_race() {
    std::vector<double> screen;
    std::vector<std::size_t> always;
    const double fastest = fastest_ms();
    const std::string leader = leading_kernel(fastest);
    double all_ms = 0;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const Result& candidate = result(contenders_[i]);
      screen.push_back(screen_ms(contenders_[i]));
      const bool stored_best = candidate.stage == Stage::final;
      // The default of the kernel that leads is what the user wants the best compared with.
      const bool near_default =
          holds_default(contenders_[i]) && screen.back() <= kDefaultFactor * fastest;
      const bool is_users = holds_default(contenders_[i]) && candidate.kernel == leader;
      if (stored_best || near_default || is_users) always.push_back(i);
      all_ms += screen.back() * candidate.measurement.launches_per_sample;
    }
    RaceOptions race = race_options(options());
    if (from_several_units()) race.keep_within_percent += kUnitMargin_percent;
    const double mean_s = all_ms * 1e-3 / static_cast<double>(contenders_.size());
    const double left_s = seconds_left();
    const double most_s =
        left_s > 0 ? std::min(kMaxFirstRounds_s, kFirstRoundsShare * left_s) : kMaxFirstRounds_s;
    const double affordable = most_s / (mean_s * static_cast<double>(race.first_rounds));
    if (affordable < static_cast<double>(race.keep_at_most)) {
      race.keep_at_most = std::max(race.finalists, static_cast<std::size_t>(affordable));
      race.keep_at_least = std::min(race.keep_at_least, race.keep_at_most);
    }
    return {std::move(screen), std::move(always), race, options().seed};
  }

  bool from_several_units() const {
    return std::ranges::any_of(contenders_, [this](const Contender& contender) {
      return result(contender).unit != result(contenders_.front()).unit;
    });
  }

  /// How long the device takes for a round, as the screens have it.
  double round_device_s(const std::vector<std::size_t>& round) const {
    double sum_ms = 0;
    for (const std::size_t i : round) {
      const Measurement& screen = result(contenders_[i]).measurement;
      sum_ms += screen.median_ms * screen.launches_per_sample;
    }
    return sum_ms * 1e-3;
  }

  /// This problem's part of what is left of the budgets of time; 0: there is no limit.
  double seconds_left() const {
    const Budget& budget = options().budget;
    double left_s = HUGE_VAL;
    if (budget.max_seconds > 0) left_s = budget.max_seconds - tuning_.elapsed_s();
    if (budget.max_device_seconds > 0) {
      left_s = std::min(left_s, budget.max_device_seconds - device_s(tuning_, state_));
    }
    if (left_s == HUGE_VAL) return 0;
    const std::size_t problems_left =
        state_.progress.problem_count - state_.progress.problem_number + 1;
    return std::max(1e-9, left_s / static_cast<double>(problems_left));
  }

  /// One sample of each in `round`; not a number for one that failed.
  std::vector<double> measure(const std::vector<std::size_t>& round) {
    std::vector<double> times_ms;
    while (times_ms.empty() && !tuning_.stop) {
      load(round);
      if (tuning_.stop) break;
      const double start_s = tuning_.elapsed_s();
      times_ms = sample(round);
      round_s_ = tuning_.elapsed_s() - start_s;
    }
    return times_ms;
  }

  /// Everyone of the first round is at it until the finals are over: who of them took the machine
  /// down cannot be said then. So those that were in such finals show by themselves first that they
  /// do no harm; who does it there as well has gone twice.
  void begin_attempts(const std::vector<std::size_t>& round) {
    const std::set<std::size_t> entrants(round.begin(), round.end());  // The leader is there twice.
    for (const std::size_t i : entrants) {
      if (lost_attempts(contenders_[i]) > 0) try_alone(contenders_[i]);
      if (tuning_.stop) return;
    }
    tuning_.log->together([&] {
      for (const std::size_t i : entrants) {
        if (!contenders_[i].failed) begin_attempt(contenders_[i]);
      }
    });
  }

  int lost_attempts(const Contender& contender) const {
    return tuning_.log->lost_attempts(key_of(kernel(contender).hash, result(contender)));
  }

  void begin_attempt(const Contender& contender) {
    tuning_.log->begin_attempt(key_of(kernel(contender).hash, result(contender)));
  }

  /// As it was when it was screened.
  void try_alone(Contender& contender) {
    begin_attempt(contender);
    want_modules(contender);
    if (contender.failed || !take_modules(contender)) return;
    if (!evaluate(contender, {.job = make_job(*contender.variant, contender.modules),
                              .verify = true,
                              .screen_samples = std::max(1, options().screen_samples),
                              .enough_ms = options().screen_ms})) {
      return;
    }
    tuning_.log->forgive_attempts(key_of(kernel(contender).hash, result(contender)));
  }

  /// Brings everyone of the round onto the device.
  void load(const std::vector<std::size_t>& round) {
    for (const std::size_t i : round) want_modules(contenders_[i]);
    for (const std::size_t i : round) {
      Contender& contender = contenders_[i];
      while (!contender.failed && !tuning_.stop && !is_kept(contender)) {
        if (take_modules(contender)) keep(contender, i);
      }
    }
  }

  bool is_kept(const Contender& contender) const {
    return contender.kept_on == device().generation();
  }

  void want_modules(Contender& contender) {
    if (contender.failed || is_kept(contender) || contender.variant) return;
    Outcome<Variant> variant =
        plan(kernel(contender), state_.set, result(contender).configuration, tuning_.device);
    if (!variant) {
      fail(contender, variant.failure());
      return;
    }
    for (const CompileRequest& request : variant->requests) {
      contender.numbers.push_back(tuning_.queue.add_first(request));
    }
    contender.variant = std::move(*variant);
  }

  /// Waits for a contender's modules. Returns false when it has failed or stop is asked for.
  bool take_modules(Contender& contender) {
    const auto ready = [this](std::uint64_t number) { return tuning_.queue.ready(number); };
    while (!std::ranges::all_of(contender.numbers, ready)) {
      if (tuning_.stop) return false;
      work(tuning_, state_, kWait_s);
    }
    if (contender.numbers.empty()) return true;  // They were taken before.
    Outcome<std::vector<Module>> modules = tuning_.queue.take(std::exchange(contender.numbers, {}));
    if (!modules) {
      fail(contender, modules.failure());
      return false;
    }
    contender.modules = std::move(*modules);
    return true;
  }

  void keep(Contender& contender, std::size_t slot) {
    const std::optional<EvaluateReply> reply =
        evaluate(contender, {.job = make_job(*contender.variant, contender.modules),
                             .verify = false,
                             .keep_as = static_cast<std::int32_t>(slot)});
    if (reply) contender.kept_on = device().generation();
  }

  double deadline(const Contender& contender) const {
    const std::size_t kernel = state_.entries[contender.entry].candidate.kernel;
    return deadline_s(options(), result(contender).is_default ? std::nullopt : state_.paces[kernel],
                      state_.slowest_s);
  }

  /// Nullopt when the contender has failed or stop is asked for.
  std::optional<EvaluateReply> evaluate(Contender& contender, EvaluateRequest request) {
    const std::vector<std::uint8_t> payload = pack(request);
    request.job.modules.clear();
    DeviceAnswer answer;
    do {
      if (!wait_until_ready()) return std::nullopt;
      answer = ask(MessageType::evaluate, payload, deadline(contender), true);
    } while (answer.not_asked);
    std::optional<EvaluateReply> reply =
        read<EvaluateReply>(answer, MessageType::evaluated, request);
    if (!reply) {
      fail(contender, answer.failure);
      return std::nullopt;
    }
    if (reply->failure) {
      if (reply->failure->context_lost) device().context_is_lost();
      fail(contender, *reply->failure);
      return std::nullopt;
    }
    return reply;
  }

  /// The checked reply, or nullopt when the worker was lost or is not to be trusted any more; then
  /// `answer.failure` says why.
  template <typename Reply, typename Request>
  std::optional<Reply> read(const DeviceAnswer& answer, MessageType type, const Request& request) {
    if (!answer.reply) return std::nullopt;
    try {
      if (answer.reply->type != type) throw WireError("an answer to what was not asked");
      auto reply = unpack<Reply>(answer.reply->payload);
      check(reply, request);
      return reply;
    } catch (const WireError& error) {
      device().context_is_lost();
      return std::nullopt;
    }
  }

  /// Empty when the round must begin again: someone has failed, or the worker was replaced.
  std::vector<double> sample(const std::vector<std::size_t>& round) {
    SampleRoundRequest request;
    std::vector<std::size_t> places;  ///< In the round, of the request's entries.
    double expected_s = 0;
    for (std::size_t place = 0; place < round.size(); ++place) {
      const Contender& contender = contenders_[round[place]];
      if (contender.failed) continue;
      const Measurement& screen = result(contender).measurement;
      request.entries.push_back({.slot = static_cast<std::int32_t>(round[place]),
                                 .launches_per_sample = screen.launches_per_sample});
      places.push_back(place);
      expected_s += screen.median_ms * 1e-3 * screen.launches_per_sample;
    }
    std::vector<double> times_ms(round.size(), kNotMeasured);
    if (places.empty()) return times_ms;
    if (!wait_until_ready()) return {};
    for (const std::size_t place : places) {
      if (!is_kept(contenders_[round[place]])) return {};
    }
    const double limit_s = options().min_deadline_s + kSlowRound * expected_s +
                           kEntryOverhead_s * static_cast<double>(places.size());
    const DeviceAnswer answer = ask(MessageType::sample_round, pack(request), limit_s, false);
    const auto reply = read<SampleRoundReply>(answer, MessageType::sampled, request);
    if (answer.not_asked) return {};
    if (!reply) {
      const auto at = static_cast<std::size_t>(std::max(0, answer.phase_number));
      Contender& guilty = contenders_[round[places[std::min(at, places.size() - 1)]]];
      if (!answer.from_outside || ++guilty.lost > 1) fail(guilty, answer.failure);
      return {};
    }
    bool lost_context = false;
    for (std::size_t i = 0; i < reply->samples.size(); ++i) {
      const RoundSample& sample = reply->samples[i];
      if (sample.failure) {
        lost_context = lost_context || sample.failure->context_lost;
        fail(contenders_[round[places[i]]], *sample.failure);
      } else {
        times_ms[places[i]] = sample.time_ms;
        // What the leader takes for being measured against itself is not among its samples.
        const auto here = round.begin() + static_cast<std::ptrdiff_t>(places[i]);
        if (std::find(round.begin(), here, *here) == here) note_clock(contenders_[*here], sample);
      }
    }
    if (!lost_context) return times_ms;
    device().context_is_lost();
    return {};
  }

  static void forget_clocks(Contender& contender) {
    contender.clocks_mhz.clear();
    contender.discarded = 0;
    contender.throttled = false;
  }

  static void note_clock(Contender& contender, const RoundSample& sample) {
    if (sample.sm_clock_mhz > 0) contender.clocks_mhz.push_back(sample.sm_clock_mhz);
    contender.discarded += sample.discarded;
    contender.throttled = contender.throttled || sample.throttled;
  }

  /// Waits until the device is prepared. Returns false when stop is asked for.
  bool wait_until_ready() {
    while (!devices_have_preparation(tuning_, state_) || !device().ready()) {
      if (tuning_.stop) return false;
      work(tuning_, state_, kWait_s);
    }
    return true;
  }

  /// REQUIRES: wait_until_ready().
  DeviceAnswer ask(MessageType type, std::vector<std::uint8_t> payload, double limit_s,
                   bool try_again) {
    DeviceSession& asked = device();
    asked.submit(type, std::move(payload), limit_s, try_again);
    for (;;) {
      work(tuning_, state_, kWait_s);
      if (auto answer = asked.take_answer()) return std::move(*answer);
    }
  }

  void fail(Contender& contender, const Failure& failure) {
    contender.failed = true;
    contender.modules.clear();
    Result& failed = result(contender);
    set_failure(failed, failure);
    share(contender);
    record({&contender});
    tuning_.observer.result(failed, false);
    state_.progress.failed += 1 + contender.twins.size();
  }

  void settle(const Race& race) {
    state_.summary.noise_percent = race.noise_percent();
    std::vector<Race::Standing> standings = race.standings();
    std::erase_if(standings, [this](const Race::Standing& standing) {
      return contenders_[standing.variant].failed || !take_over(standing);
    });
    std::vector<const Race::Standing*> finalists;
    std::vector<const Contender*> measured;
    for (const Race::Standing& standing : standings) {
      Contender& contender = contenders_[standing.variant];
      if (standing.final && !is_right(contender)) continue;
      if (standing.final) finalists.push_back(&standing);
      measured.push_back(&contender);
    }
    if (finalists.empty()) {
      record(measured);
      best_of_what_is_known();
      return;
    }
    const bool winner_is_right = finalists.front() == &standings.front();
    std::vector<const Result*> equals;
    std::vector<const Contender*> ranked;
    for (const Race::Standing* standing : finalists) {
      const Contender& contender = contenders_[standing->variant];
      ranked.push_back(&contender);
      if (equals.empty() || (winner_is_right && standing->tied)) {
        equals.push_back(&result(contender));
        for (const std::size_t twin : contender.twins) {
          equals.push_back(&state_.entries[twin].result);
        }
      }
    }
    if (!winner_is_right) add_equals(ranked, equals);
    const Result& best = choose(equals);
    for (Entry& entry : state_.entries) entry.result.chosen = &entry.result == &best;
    record(measured);
    take(best, equals);
    compare_with_default(finalists);
  }

  /// Writes down what became of contenders, and of those that they were measured for.
  void record(const std::vector<const Contender*>& contenders) {
    tuning_.log->together([&] {
      for (const Contender* contender : contenders) {
        tuning_.log->record(kernel(*contender).hash, result(*contender));
        for (const std::size_t i : contender->twins) {
          const Entry& twin = state_.entries[i];
          tuning_.log->record(state_.kernels[twin.candidate.kernel].hash, twin.result);
        }
      }
    });
  }

  /// What was found of a contender holds for those that it was measured for.
  void share(const Contender& contender) {
    for (const std::size_t i : contender.twins) {
      take_measurement(state_.entries[i].result, result(contender));
    }
  }

  /// Makes a race's samples the result's measurement. Returns false when it has none.
  bool take_over(const Race::Standing& standing) {
    if (standing.samples_ms.empty()) return false;
    const Contender& contender = contenders_[standing.variant];
    Result& raced = result(contender);
    raced.measurement = summarize(standing.samples_ms, raced.measurement.launches_per_sample);
    raced.measurement.discarded = contender.discarded;
    raced.measurement.throttled = contender.throttled;
    if (!contender.clocks_mhz.empty()) {
      raced.measurement.sm_clock_mhz = quantile(contender.clocks_mhz, 0.5);
    }
    raced.unit = device().device().uuid;
    raced.stage = standing.final ? Stage::final : Stage::race;
    raced.chosen = false;
    share(contender);
    return true;
  }

  /// Verifies a finalist again: a kernel with a data race may have been right by luck.
  bool is_right(Contender& contender) {
    if (tuning_.stop) return true;  // It was when it was screened.
    want_modules(contender);
    if (contender.failed || !take_modules(contender)) return !contender.failed;
    const auto reply = evaluate(
        contender, {.job = make_job(*contender.variant, contender.modules), .verify = true});
    return reply.has_value() || !contender.failed;
  }

  Tuning& tuning_;
  ProblemState& state_;
  std::vector<Contender> contenders_;
  double round_s_ = 0;  ///< Of the last round, without loading.
};

}  // namespace

RaceOptions race_options(const TuningOptions& options) {
  RaceOptions race;
  race.tie_percent = options.tie_percent;
  race.finalists = std::max<std::size_t>(1, options.finalists);
  race.final_rounds = std::max<std::size_t>(1, options.final_rounds);
  return race;
}

std::size_t final_rounds(const TuningOptions& options, double round_s, double most_s) {
  const std::size_t most = std::max<std::size_t>(1, options.final_rounds);
  const std::size_t least = std::clamp<std::size_t>(options.least_final_rounds, 1, most);
  const double seconds =
      most_s > 0 ? std::min(most_s, options.final_seconds) : options.final_seconds;
  const double fit = seconds / (2 * round_s);
  return fit < static_cast<double>(most) ? std::max(least, static_cast<std::size_t>(fit)) : most;
}

void run_finals(Tuning& tuning, ProblemState& state) { Finals(tuning, state).run(); }

}  // namespace smemtune
