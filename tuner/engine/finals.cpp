#include "tuner/engine/finals.h"

#include "tuner/core/ranking.h"
#include "tuner/core/text.h"
#include "tuner/engine/conclusions.h"
#include "tuner/engine/cpu_check.h"
#include "tuner/engine/evaluation.h"
#include "tuner/engine/finals_device.h"
#include "tuner/engine/race.h"
#include "tuner/engine/too_fast.h"
#include "tuner/engine/winners_elsewhere.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace smemtune {

namespace {

// A kernel's default takes part in the finals unless it is far behind.
constexpr double kDefaultFactor = 2;

// Boards of one model differ by some per cent: so much more may one be behind that was screened on
// another board than the fastest, and still be raced.
constexpr double kUnitMargin_percent = 6;

// The rounds before the first decision may take such a part of the time that the run has taken, and
// so much in any case; where all contenders would need more, fewer of them take part.
constexpr double kFirstRoundsOfRun = 0.25;
constexpr double kLeastFirstRounds_s = 5;
constexpr double kMaxFirstRounds_s = 60;

// ... or such a part of what a budget leaves.
constexpr double kFirstRoundsShare = 0.5;

// When the time is up before the finals are over they have at least so many rounds: with fewer not
// even a median means anything.
constexpr std::size_t kLeastCutRounds = 6;

// So many finalists are looked at on the CPU device where each of them has a race.
constexpr std::size_t kMostRaces = 4;

// Reading the energy of a configuration takes at least so much longer than it is read for, to warm
// the GPU up.
constexpr double kEnergyWarmUp_s = 1;

// A time budget keeps time to read the energy of so many finalists, but no more than this share.
constexpr double kUsualFinalists = 3;
constexpr double kMostEnergyShare = 0.3;

std::string others_with_race(std::size_t others) {
  if (others == 0) return "and no other was looked at";
  if (others == 1) return "and so has the other one that was looked at";
  return "and so have the other " + std::to_string(others) + " that were looked at";
}

void forget_clocks(Contender& contender) {
  contender.clocks_mhz.clear();
  contender.discarded = 0;
  contender.throttled = false;
}

class Finals {
 public:
  Finals(Tuning& tuning, ProblemState& state)
      : tuning_(tuning),
        state_(state),
        contenders_(find_contenders(state)),
        device_(tuning, state, contenders_,
                [this](Contender& contender, const Failure& failure) { fail(contender, failure); }),
        cpu_(tuning) {}

  /// Does the device's part.
  void run(const std::function<void()>& before_race) {
    if (contenders_.empty()) return;
    if (tuning_.must_end() || nothing_new()) {
      read_bests();
      return;
    }
    state_.progress.remaining_s.reset();
    show_progress(tuning_, state_, "finals");
    tuning_.observer.before_finals(device_.device());
    before_race();
    const double left_s = seconds_left();
    const double until_s = left_s > 0 ? tuning_.elapsed_s() + left_s : HUGE_VAL;
    Race race = begin_race();
    bool is_limited = false;
    bool is_given_up = false;
    std::vector<std::size_t> round = race.next_round();
    begin_attempts(round);
    for (; !round.empty(); round = race.next_round()) {
      if (race.in_finals() && !std::exchange(is_limited, true)) {
        for (const std::size_t i : round) forget_clocks(contenders_[i]);
        race.set_final_rounds(final_rounds(options(), round_device_s(round), seconds_left()));
      }
      const std::vector<double> times_ms = device_.measure(round);
      is_given_up = tuning_.must_end();
      if (is_given_up) break;
      race.add_round(times_ms);
      if (!race.in_finals()) race.set_final_rounds(expected_final_rounds(round));
      const double time_s = until_s - tuning_.elapsed_s();
      if (time_s < device_.round_s() && race.samples_left() > 0) cut(race);
      const double sample_s = device_.round_s() / static_cast<double>(round.size());
      state_.progress.remaining_s = std::clamp(sample_s * static_cast<double>(race.samples_left()),
                                               0.0, std::max(0.0, time_s));
      show_progress(tuning_, state_, "finals");
    }
    if (is_given_up) {
      if (!tuning_.stop) tuning_.summary.out_of_budget = true;
      tuning_.observer.note("the finals were abandoned: the best is the fastest known so far");
      read_bests();
    } else {
      take_times(std::move(race));
    }
    state_.progress.remaining_s.reset();
  }

  /// Has the CPU device look at who would win, until it is one without a data race.
  bool step(double wait_s) {
    while (race_) {
      if (is_looking_) {
        std::optional<CpuCheck> check = cpu_.step(wait_s);
        if (!check) return false;
        is_looking_ = false;
        take(std::move(*check));
      } else if (const Result* const next = next_to_look_at()) {
        look_at(*next);
      } else {
        settle(*std::exchange(race_, std::nullopt));
      }
    }
    return true;
  }

 private:
  /// The time is up: ends the race, then the finals once they have told something.
  void cut(Race& race) {
    tuning_.summary.out_of_budget = true;
    race.start_finals();
    if (race.final_rounds() < kLeastCutRounds) return;
    tuning_.observer.note("time ran out: the finals end after " +
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

  Result& result(const Contender& contender) { return result_of(state_, contender); }
  const Result& result(const Contender& contender) const { return result_of(state_, contender); }
  const KernelOnProblems& kernel(const Contender& contender) const {
    return kernel_of(state_, contender);
  }
  const TuningOptions& options() const { return tuning_.request.options; }

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

  /// Returns how much slower the default of the best's kernel was, round by round, so that a drift
  /// of the clock moves both.
  std::optional<Slowdown> default_slower(const std::vector<Race::Standing>& finalists,
                                         const Result& best) const {
    const Race::Standing* winner = nullptr;
    const Race::Standing* users = nullptr;
    for (const Race::Standing& standing : finalists) {
      const Contender& contender = contenders_[standing.variant];
      if (holds(state_, contender, best)) winner = &standing;
      const bool same_kernel = result(contender).kernel == best.kernel;
      if (same_kernel && holds_default(state_, contender)) users = &standing;
    }
    if (winner == nullptr || users == nullptr || winner == users) return std::nullopt;
    return paired_difference(users->samples_ms, winner->samples_ms);
  }

  /// Whether an earlier run has held the finals over the same results: then none that was only
  /// screened looks better than what came out of them, by more than a search looks for. False if
  /// counters or energy are asked for of which nothing is known.
  bool nothing_new() {
    const auto none_has = [this](const char* kind) {
      return std::ranges::none_of(contenders_, [&](const Contender& contender) {
        return has_facts(result(contender), kind);
      });
    };
    if (options().counters && none_has(kCounterFacts)) return false;
    if (options().energy && none_has(kEnergyFacts)) return false;
    if (!without_energy(fastest_ms()).empty()) return false;
    double final_ms = HUGE_VAL;
    double screened_ms = HUGE_VAL;
    for (const Contender& contender : contenders_) {
      double& least = result(contender).stage == Stage::final ? final_ms : screened_ms;
      if (result(contender).stage == Stage::race) continue;
      least = std::min(least, screen_ms(contender));
    }
    const double least_gain = 1 + options().budget.until() / 100;
    return state_.summary.evaluated == 0 && final_ms < HUGE_VAL &&
           final_ms <= least_gain * screened_ms;
  }

  /// Takes the best, its ties and each kernel's best from the log, which earlier runs wrote too.
  void read_bests() {
    std::map<std::string, std::string> hashes;
    for (const KernelOnProblems& one : state_.kernels) hashes[one.kernel().name] = one.hash;
    state_.summary.bests = tuning_.log->bests(state_.summary.problem, hashes);
    if (const Result* best = state_.summary.best()) state_.progress.best = *best;
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
          holds_default(state_, contenders_[i]) && screen.back() <= kDefaultFactor * fastest;
      const bool is_users = holds_default(state_, contenders_[i]) && candidate.kernel == leader;
      // One screening, which something else may have disturbed, settles nothing where these few
      // are what is to be compared.
      const bool is_asked = !tuning_.request.only.empty();
      if (stored_best || near_default || is_users || is_asked) always.push_back(i);
      all_ms += screen.back() * candidate.measurement.launches_per_sample;
    }
    RaceOptions race = race_options(options(), from_several_units());
    const double mean_s = all_ms * 1e-3 / static_cast<double>(contenders_.size());
    const double left_s = seconds_left();
    const double most_s = left_s > 0 ? std::min(kMaxFirstRounds_s, kFirstRoundsShare * left_s)
                                     : std::clamp(kFirstRoundsOfRun * tuning_.elapsed_s(),
                                                  kLeastFirstRounds_s, kMaxFirstRounds_s);
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
    const Budget budget = budget_of_problems(tuning_.request);
    double left_s = HUGE_VAL;
    if (budget.max_seconds > 0) left_s = budget.max_seconds - tuning_.elapsed_s();
    if (budget.max_device_seconds > 0) {
      left_s = std::min(left_s, budget.max_device_seconds - device_s(tuning_, state_));
    }
    if (left_s == HUGE_VAL) return 0;
    const double here_s = left_s / problems_left() - ending_reserve_s(tuning_.request);
    return std::max(1e-9, here_s);
  }

  /// With this one.
  double problems_left() const {
    return static_cast<double>(state_.progress.problem_count - state_.progress.problem_number + 1);
  }

  /// Everyone of the first round is at it until the finals are over: who of them took the machine
  /// down cannot be said then. So those that were in such finals show by themselves first that they
  /// do no harm; who does it there as well has gone twice.
  void begin_attempts(const std::vector<std::size_t>& round) {
    const std::set<std::size_t> entrants(round.begin(), round.end());  // The leader is there twice.
    for (const std::size_t i : entrants) {
      if (lost_attempts(contenders_[i]) > 0) try_alone(contenders_[i]);
      if (tuning_.must_end()) return;
    }
    tuning_.log->in_transaction([&] {
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

  /// Repeats its screening by itself; forgives its lost attempts if it does no harm.
  void try_alone(Contender& contender) {
    begin_attempt(contender);
    if (!device_.verify(contender, /*screen=*/true)) return;
    tuning_.log->close_attempts(key_of(kernel(contender).hash, result(contender)));
  }

  void fail(Contender& contender, const Failure& failure) {
    contender.failed = true;
    contender.modules.clear();
    Result& failed = result(contender);
    set_failure(failed, failure);
    refuse_unlike_itself(kernel(contender), failed);
    share_with_twins(state_, contender);
    record({&contender});
    tuning_.observer.result(failed, false);
    state_.progress.failed += 1 + contender.twins.size();
  }

  /// Makes the times of the race results.
  void take_times(Race race) {
    for (const Race::Standing& standing : race.standings()) {
      Contender& contender = contenders_[standing.variant];
      const bool holds_up =
          !contender.failed && take_over(standing) && (!standing.final || is_right(contender));
      if (holds_up) {
        measured_.push_back(&contender);
      } else {
        race.disqualify(standing.variant);
      }
    }
    without_races_ = race;
    race_ = std::move(race);
    // The device is done with them: a run that is killed from now on says nothing of them.
    if (next_to_look_at() != nullptr) {
      tuning_.log->in_transaction([&] {
        for (const Contender* contender : measured_) {
          tuning_.log->close_attempts(key_of(kernel(*contender).hash, result(*contender)));
        }
      });
    }
    const bool needs_device = options().counters || options().energy;
    while (needs_device && !step(kWait_s)) work(tuning_, state_, 0);
    for (Contender& contender : contenders_) contender.modules.clear();
  }

  /// Marks the one that is chosen and its ties.
  void settle(Race race) {
    leave_out_races(race);
    std::erase_if(measured_, [](const Contender* contender) { return contender->failed; });
    if (options().counters) {
      ask_facts(race, "no counters", [this](Contender& one) { return device_.count(one); });
    }
    if (options().energy) {
      ask_facts(race, "no energy", [this](Contender& one) {
        return credible_energy(device_.energy(one), result(one));
      });
    }
    const std::vector<Race::Standing> finalists = finalists_of(race);
    const std::vector<const Result*> equals = equals_of(finalists);
    const Result* const best = preferred_of(equals);
    for (Entry& entry : state_.entries) {
      Result& result = entry.result;
      result.chosen = &result == best;
      result.tied = !result.chosen && std::ranges::find(equals, &result) != equals.end();
      result.finals = {};
      if (result.chosen) {
        result.finals = {.noise_percent = race.noise_percent(),
                         .default_slower = default_slower(finalists, result),
                         .cpu_checks = cpu_checks_,
                         .searched = searched(tuning_, state_)};
      }
    }
    record(measured_);
    read_bests();
    if (best != nullptr) read_energy_within(best->measurement.median_ms);
  }

  /// Returns those whose energy is asked for beside that of finalists, where the best takes so long,
  /// and not known. The fastest comes first.
  std::vector<Contender*> without_energy(double best_ms) {
    std::vector<Contender*> wanted;
    for (Contender& contender : contenders_) {
      const bool is_wanted = !contender.failed && result(contender).stage != Stage::final &&
                             screen_ms(contender) <= options().energy_within * best_ms;
      if (is_wanted && !has_facts(result(contender), kEnergyFacts)) wanted.push_back(&contender);
    }
    std::ranges::stable_sort(wanted, {}, [this](auto* one) { return screen_ms(*one); });
    return wanted;
  }

  /// Reads the energy of others than finalists, unless that of these was refused. Each is verified
  /// again and written down by itself: there may be many.
  void read_energy_within(double best_ms) {
    std::vector<Contender*> wanted = without_energy(best_ms);
    const bool is_refused = std::ranges::none_of(contenders_, [this](const Contender& contender) {
      return has_facts(result(contender), kEnergyFacts);
    });
    if (wanted.empty() || is_refused || tuning_.must_end()) return;
    const double least_s = (kEnergy_s + kEnergyWarmUp_s) * static_cast<double>(wanted.size());
    tuning_.observer.note("reading the energy of " + std::to_string(wanted.size()) +
                          " more: that takes at least " + decimal(least_s, 0) + " s");
    std::set<std::string> refusals;
    for (Contender* contender : wanted) {
      if (tuning_.must_end()) break;
      if (!device_.verify(*contender)) continue;
      take_told("no energy", credible_energy(device_.energy(*contender), result(*contender)),
                *contender, refusals);
      contender->modules.clear();
      record({contender});
    }
    device_.renew();
  }

  /// Takes facts that a device told, or says once why there are `none`: "no counters".
  void take_told(const std::string& none, const FactsReport& report, Contender& contender,
                 std::set<std::string>& refusals) {
    if (!report.refused.empty() && refusals.insert(report.refused).second) {
      tuning_.observer.note(none + ": " + report.refused);
    }
    take_facts(report, result(contender));
    share_with_twins(state_, contender);
  }

  /// Asks the device for facts of each finalist, when all times are taken, unless the run has to end.
  /// Says once why there are `none`: "no counters".
  void ask_facts(const Race& race, const std::string& none,
                 const std::function<FactsReport(Contender&)>& ask) {
    std::set<std::string> refusals;
    std::size_t left_out = 0;
    for (const Race::Standing& standing : finalists_of(race)) {
      Contender& contender = contenders_[standing.variant];
      if (contender.failed) continue;
      if (tuning_.must_end()) {
        ++left_out;
      } else {
        take_told(none, ask(contender), contender, refusals);
      }
    }
    if (left_out > 0) {
      tuning_.observer.note(none + " of " + counted(left_out, "finalist") + ": " +
                            (tuning_.stop ? "the run was stopped" : "the time was up") + " first");
    }
    device_.renew();
  }

  static std::vector<Race::Standing> finalists_of(const Race& race) {
    std::vector<Race::Standing> standings = race.standings();
    std::erase_if(standings, [](const Race::Standing& standing) { return !standing.final; });
    return standings;
  }

  /// Returns the winner of the finals and those that are statistically tied with it.
  std::vector<const Result*> equals_of(const std::vector<Race::Standing>& finalists) const {
    std::vector<const Result*> equals;
    for (const Race::Standing& standing : finalists) {
      if (!standing.tied) continue;
      const Contender& contender = contenders_[standing.variant];
      equals.push_back(&result(contender));
      for (const std::size_t twin : contender.twins) {
        equals.push_back(&state_.entries[twin].result);
      }
    }
    return equals;
  }

  /// Returns the one of tied results that wins; null if there are none.
  const Result* preferred_of(const std::vector<const Result*>& equals) const {
    return equals.empty() ? nullptr : &preferred(equals, options().tie_percent);
  }

  /// Returns who would win without those in `races_`; null if nobody would.
  const Result* would_win() const { return preferred_of(equals_of(finalists_of(*without_races_))); }

  /// Returns who would win if the CPU device is to look at it; null if there is no more to see.
  const Result* next_to_look_at() const {
    if (is_seen_ || races_.size() >= kMostRaces || tuning_.must_end()) return nullptr;
    const Result* const best = would_win();
    return best != nullptr && cpu_.applies_to(*best) ? best : nullptr;
  }

  void look_at(const Result& best) {
    const auto kernel = std::ranges::find_if(state_.kernels, [&](const KernelOnProblems& one) {
      return one.kernel().name == best.kernel;
    });
    const double most_s = budget_of_problems(tuning_.request).max_seconds;
    cpu_.begin(*kernel, best,
               most_s > 0 ? (most_s - tuning_.elapsed_s()) / problems_left() : HUGE_VAL);
    is_looking_ = true;
  }

  /// Takes what the CPU device saw of who would win, who is out if that is a data race.
  void take(CpuCheck check) {
    if (check.has_race()) {
      Failure race = *check.found;
      race.detail = "on the CPU device: " + race.detail;
      race.context_lost = false;
      const std::vector<Race::Standing> finalists = finalists_of(*without_races_);
      const auto its = std::ranges::find_if(
          finalists, [&, &best = *would_win()](const Race::Standing& standing) {
            return holds(state_, contenders_[standing.variant], best);
          });
      races_.emplace_back(its->variant, std::move(race));
      without_races_->disqualify(its->variant);
    } else {
      is_seen_ = true;
    }
    cpu_checks_.push_back(std::move(check));
  }

  /// Has those fail in which the CPU device saw a race. If too many have one, none is left out: it is
  /// the kernel's, or something that its author counts on, and the best is said to have it.
  void leave_out_races(Race& race) {
    if (races_.empty()) return;
    if (!finalists_of(*without_races_).empty() && races_.size() < kMostRaces) {
      for (const auto& [variant, data_race] : races_) fail(contenders_[variant], data_race);
      race = std::move(*without_races_);
      return;
    }
    tuning_.observer.note("*** the best has a race, " + others_with_race(races_.size() - 1) + ": " +
                          races_.front().second.detail);
    for (const auto& [variant, data_race] : races_) {
      Result& racy = result(contenders_[variant]);
      racy.detail += (racy.detail.empty() ? "" : "; ") + data_race.detail;
      share_with_twins(state_, contenders_[variant]);
    }
  }

  /// Writes down what became of contenders, and of those that they were measured for.
  void record(const std::vector<const Contender*>& contenders) {
    tuning_.log->in_transaction([&] {
      for (const Contender* contender : contenders) {
        tuning_.log->record(kernel(*contender).hash, result(*contender));
        for (const std::size_t i : contender->twins) {
          const Entry& twin = state_.entries[i];
          tuning_.log->record(state_.kernels[twin.candidate.kernel].hash, twin.result);
        }
      }
    });
  }

  /// Returns whether a fact of an earlier run stays: it is of a kind that this run does not read.
  bool is_kept(const std::string& fact, bool of_finalist) const {
    return (fact.starts_with(kCounterFacts) && !(of_finalist && options().counters)) ||
           (fact.starts_with(kEnergyFacts) && !(of_finalist && options().energy));
  }

  /// Makes a race's samples the result's measurement. Returns false when it has none, or they
  /// cannot be.
  bool take_over(const Race::Standing& standing) {
    if (standing.samples_ms.empty()) return false;
    Contender& contender = contenders_[standing.variant];
    Result& raced = result(contender);
    raced.measurement = summarize(standing.samples_ms, raced.measurement.launches_per_sample);
    raced.measurement.discarded = contender.discarded;
    raced.measurement.throttled = contender.throttled;
    if (!contender.clocks_mhz.empty()) {
      raced.measurement.sm_clock_mhz = median(contender.clocks_mhz);
    }
    const bool is_same_unit = raced.unit == device_.device().uuid;
    raced.unit = device_.device().uuid;
    raced.stage = standing.final ? Stage::final : Stage::race;
    for (LaunchResult& launch : raced.launches) {
      std::erase_if(launch.facts, [&](const auto& fact) {
        return !is_same_unit || !is_kept(fact.first, standing.final);
      });
    }
    if (standing.final) add_code_facts(*contender.variant, contender.modules, raced);
    if (const auto failure = too_fast(tuning_, state_, kernel(contender), raced)) {
      fail(contender, *failure);
      return false;
    }
    share_with_twins(state_, contender);
    return true;
  }

  /// Verifies a finalist again: a kernel with a data race may have been right by luck.
  bool is_right(Contender& contender) {
    // When the run must end it is taken for what it was when it was screened.
    return tuning_.must_end() || device_.verify(contender) || !contender.failed;
  }

  Tuning& tuning_;
  ProblemState& state_;
  std::vector<Contender> contenders_;
  FinalsDevice device_;
  std::optional<Race> race_;  ///< Set until it is settled.
  std::vector<const Contender*> measured_;
  CpuChecker cpu_;
  bool is_looking_ = false;            ///< True while the CPU device looks at who would win.
  bool is_seen_ = false;               ///< True once it has seen one without a data race.
  std::optional<Race> without_races_;  ///< The race without those in `races_`.
  std::vector<std::pair<std::size_t, Failure>> races_;  ///< Variants with a data race.
  std::vector<CpuCheck> cpu_checks_;
};

}  // namespace

double ending_reserve_s(const TuningRequest& request) {
  double energy_s = 0;
  const double most_s = request.options.budget.max_seconds;
  if (request.options.energy && most_s > 0) {
    const double share_s = kMostEnergyShare * most_s / static_cast<double>(request.problems.size());
    energy_s = std::min(kUsualFinalists * (kEnergyWarmUp_s + kEnergy_s), share_s);
  }
  return cpu_check_reserve_s(request) + energy_s;
}

RaceOptions race_options(const TuningOptions& options, bool several_units) {
  RaceOptions race;
  if (several_units) race.keep_within_percent += kUnitMargin_percent;
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

FinalsStep run_finals(Tuning& tuning, ProblemState& state,
                      const std::function<void()>& before_race) {
  refuse_too_fast(tuning, state);
  const auto finals = std::make_shared<Finals>(tuning, state);
  finals->run(before_race);
  return [finals](double wait_s) { return finals->step(wait_s); };
}

}  // namespace smemtune
