#include "tuner/engine/race.h"

#include "tuner/core/measurement.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace smemtune {

namespace {

// On either side of a 95 % confidence interval.
constexpr double kShownTail = 0.025;

// A variant that was slower than the leader by more than this many times the spread in three of
// four rounds is dropped at once. For normal noise that is more than four standard deviations of a
// difference, each time; the fourth allows for a disturbed sample.
constexpr double kClearlySlower = 3;

// A finalist that is clearly slower by so much, too, is not measured again, however few the rounds:
// how much exactly is of less interest then.
constexpr double kBehind_percent = 5;

// The finals have so many rounds at least: two looks'.
constexpr std::size_t kLeastFinalRounds = 2 * Race::kRoundsPerLook;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Averages of all pairs of values, each with itself too: Walsh's averages. Their median estimates
/// the center (Hodges and Lehmann) with nearly the precision of the mean, and outliers do not move
/// it; their order statistics bound it.
std::vector<double> pair_averages(const std::vector<double>& values) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = 0; k <= i; ++k) averages.push_back((values[i] + values[k]) / 2);
  }
  return averages;
}

/// How many of the least of n values' pair averages lie below a bound of the center that is wrong
/// with a probability of `tail` at most; nullopt when n values are too few for any bound. From the
/// distribution of Wilcoxon's signed rank statistic.
std::optional<std::size_t> averages_beyond(std::size_t n, double tail) {
  // probability[s]: that the ranks 1..n of the values below the center sum to s.
  std::vector<double> probability(n * (n + 1) / 2 + 1);
  probability[0] = 1;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    for (std::size_t sum = rank * (rank + 1) / 2; sum > 0; --sum) {
      const double without = probability[sum];
      probability[sum] = (without + (sum >= rank ? probability[sum - rank] : 0)) / 2;
    }
    probability[0] /= 2;
  }
  std::optional<std::size_t> beyond;
  double cumulative = 0;
  for (std::size_t sum = 0; sum < probability.size(); ++sum) {
    cumulative += probability[sum];
    if (cumulative > tail) break;
    beyond = sum;
  }
  return beyond;
}

/// Center of differences, and its bounds.
struct Estimate {
  double center = 0;
  double low = -kInfinity;
  double high = kInfinity;
};

/// `beyond`: from averages_beyond(), for as many differences.
Estimate estimate(const std::vector<double>& differences, std::optional<std::size_t> beyond) {
  std::vector<double> averages = pair_averages(differences);
  Estimate result;
  if (beyond) {
    const auto low = averages.begin() + static_cast<std::ptrdiff_t>(*beyond);
    std::nth_element(averages.begin(), low, averages.end());
    result.low = *low;
    const auto high = averages.end() - 1 - static_cast<std::ptrdiff_t>(*beyond);
    std::nth_element(averages.begin(), high, averages.end());
    result.high = *high;
  }
  result.center = median(std::move(averages));
  return result;
}

/// Whether the center lies above `bound`: at most `beyond` pair averages do not. The same verdict
/// as of the lower bound from estimate(), without forming the averages.
bool is_above(std::vector<double> differences, double bound, std::optional<std::size_t> beyond) {
  if (!beyond) return false;
  std::sort(differences.begin(), differences.end());
  std::size_t count = 0;
  std::size_t end = differences.size();  // differences[i] + differences[end - 1] <= 2 * bound.
  for (std::size_t i = 0; i < end; ++i) {
    while (end > i && differences[i] + differences[end - 1] > 2 * bound) --end;
    count += end - i;
  }
  return count <= *beyond;
}

/// Whether the center lies below `bound`, likewise.
bool is_below(std::vector<double> differences, double bound, std::optional<std::size_t> beyond) {
  for (double& difference : differences) difference = -difference;
  return is_above(std::move(differences), -bound, beyond);
}

/// Returns whether three of four differences lie above `bound`.
bool is_clearly_above(std::vector<double> differences, double bound) {
  const auto of_four = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 4);
  std::ranges::nth_element(differences, of_four);
  return *of_four > bound;
}

double center(const std::vector<double>& values) { return median(pair_averages(values)); }

/// Returns whether the centers of both blocks of differences are above 0. `first`: the differences of
/// the first block.
bool are_both_above(const std::vector<double>& differences, std::size_t first) {
  const auto second_block = differences.begin() + static_cast<std::ptrdiff_t>(first);
  return center({differences.begin(), second_block}) > 0 &&
         center({second_block, differences.end()}) > 0;
}

/// Returns log(time / other) for each round.
std::vector<double> log_ratios(std::span<const double> times, std::span<const double> others) {
  std::vector<double> ratios(std::min(times.size(), others.size()));
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = std::log(times[i] / others[i]);
  return ratios;
}

/// Takes each round's median out of the logarithms of times, by variant and round: what drifts from
/// round to round hits all alike.
void level_rounds(std::vector<std::vector<double>>& logs) {
  const std::size_t rounds = logs.empty() ? 0 : logs.front().size();
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<double> of_round;
    for (const std::vector<double>& variant : logs) of_round.push_back(variant[round]);
    const double level = median(std::move(of_round));
    for (std::vector<double>& variant : logs) variant[round] -= level;
  }
}

double from_percent(double percent) { return std::log1p(percent / 100); }

}  // namespace

Race::Race(std::vector<double> screen_ms, std::vector<std::size_t> always,
           const RaceOptions& options, std::uint64_t seed)
    : variants_(screen_ms.size()), options_(options), random_(seed) {
  std::vector<std::size_t> by_screen;
  for (std::size_t i = 0; i < screen_ms.size(); ++i) {
    variants_[i].screen_ms = screen_ms[i];
    if (is_time(screen_ms[i])) by_screen.push_back(i);
  }
  std::sort(by_screen.begin(), by_screen.end(), [&screen_ms](std::size_t a, std::size_t b) {
    return std::pair(screen_ms[a], a) < std::pair(screen_ms[b], b);
  });
  if (by_screen.empty()) return;

  // The screen's best may be a lucky one, so it alone sends nobody away: some stay by rank, unless
  // they are hopeless against what several reached.
  const double near_ms = screen_ms[by_screen[0]] * (1 + options_.keep_within_percent / 100);
  const std::size_t some = std::min(std::max<std::size_t>(options_.finalists, 1), by_screen.size());
  const double hopeless_ms = screen_ms[by_screen[(some - 1) / 2]] * options_.hopeless_times;
  for (const std::size_t i : by_screen) {
    if (contenders_.size() >= options_.keep_at_most) break;
    const bool near = screen_ms[i] <= near_ms;
    const bool ranked = screen_ms[i] <= hopeless_ms && contenders_.size() < options_.keep_at_least;
    if (near || ranked) contenders_.push_back(i);
  }
  for (const std::size_t i : by_screen) {
    if (std::find(always.begin(), always.end(), i) != always.end()) always_.push_back(i);
  }
  if (contenders_.size() <= options_.finalists || options_.max_rounds == 0) start_finals();
}

std::vector<std::size_t> Race::next_round() {
  round_.clear();
  if (in_finals_ && final_rounds_ >= 2 * options_.final_rounds) return {};
  round_ = contenders_;
  if (in_finals_ && twin_of_) round_.push_back(*twin_of_);
  for (std::size_t i = round_.size(); i > 1; --i) std::swap(round_[i - 1], round_[random_() % i]);
  return round_;
}

void Race::add_round(std::span<const double> times_ms) {
  std::optional<double> first_ms;  // First time of the variant that is measured twice.
  for (std::size_t i = 0; i < round_.size(); ++i) {
    Variant& variant = variants_[round_[i]];
    const double time_ms = times_ms[i];
    if (!is_time(time_ms)) {
      variant.failed = true;
    } else if (in_finals_ && twin_of_ == round_[i] && first_ms) {
      twin_differences_.push_back(std::log(time_ms / *first_ms));
    } else {
      if (twin_of_ == round_[i]) first_ms = time_ms;
      (in_finals_ ? variant.final_ms : variant.race_ms).push_back(time_ms);
    }
  }
  std::erase_if(contenders_, [this](std::size_t i) { return variants_[i].failed; });
  if (twin_of_ && variants_[*twin_of_].failed) twin_of_.reset();
  round_.clear();

  if (in_finals_) {
    const bool is_look = ++final_rounds_ % kRoundsPerLook == 0;
    if (is_look && leave_behind() && final_rounds_ >= kLeastFinalRounds) cut_finals();
    return;
  }
  ++race_rounds_;
  const bool is_decision =
      race_rounds_ >= options_.first_rounds &&
      (race_rounds_ - options_.first_rounds) % std::max<std::size_t>(options_.check_every, 1) == 0;
  const bool all_tied = is_decision && drop_slower();
  if (all_tied || contenders_.size() <= options_.finalists || race_rounds_ >= options_.max_rounds) {
    start_finals();
  }
}

bool Race::drop_slower() {
  if (contenders_.size() < 2) return true;
  sort_by_center(contenders_, &Variant::race_ms);
  const std::vector<double>& best_ms = variants_[contenders_[0]].race_ms;
  const double tail = (1 - options_.drop_confidence) / static_cast<double>(contenders_.size() - 1);
  const auto beyond = averages_beyond(race_rounds_, tail);
  const double tie = from_percent(options_.tie_percent);
  spread_percent_ = spread_of_contenders(&Variant::race_ms);
  const double clear = kClearlySlower * from_percent(*spread_percent_);
  bool all_tied = true;
  std::vector<std::size_t> kept = {contenders_[0]};
  for (std::size_t i = 1; i < contenders_.size(); ++i) {
    const std::vector<double> slower = log_ratios(variants_[contenders_[i]].race_ms, best_ms);
    if (is_clearly_above(slower, clear) || is_above(slower, 0, beyond)) continue;
    kept.push_back(contenders_[i]);
    all_tied = all_tied && is_below(slower, tie, beyond);
  }
  contenders_ = std::move(kept);
  return all_tied;
}

bool Race::leave_behind() {
  if (contenders_.size() < 2) return true;
  if (!spread_percent_) spread_percent_ = spread_of_contenders(&Variant::final_ms);
  std::vector<std::size_t> sorted = contenders_;
  sort_by_center(sorted, &Variant::final_ms);
  const std::vector<double>& best_ms = variants_[sorted[0]].final_ms;
  const double clear = from_percent(std::max(kClearlySlower * *spread_percent_, kBehind_percent));
  const std::size_t looks = std::max<std::size_t>(1, 2 * options_.final_rounds / kRoundsPerLook);
  const double tail = tail_of_pairs(sorted.size()) / static_cast<double>(looks);
  const auto beyond = averages_beyond(final_rounds_, tail);
  bool all_known = true;
  for (const std::size_t i : std::span(sorted).subspan(1)) {
    const std::vector<double> slower = log_ratios(variants_[i].final_ms, best_ms);
    const bool is_behind =
        is_clearly_above(slower, clear) || (is_above(slower, from_percent(tie_percent()), beyond) &&
                                            are_both_above(slower, final_rounds_ / 2));
    if (is_behind && i != twin_of_) {
      behind_.push_back(i);
      std::erase(contenders_, i);
    } else if (!is_above(slower, 0, beyond)) {
      // Whatever the noise: it is not well known yet.
      all_known = all_known && is_below(slower, from_percent(options_.tie_percent), beyond);
    }
  }
  return all_known;
}

std::vector<std::vector<double>> Race::residuals(const std::vector<std::size_t>& variants,
                                                 std::vector<double> Variant::*times) const {
  std::vector<std::vector<double>> logs(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (const double time_ms : variants_[variants[i]].*times) logs[i].push_back(std::log(time_ms));
  }
  level_rounds(logs);
  return logs;
}

double Race::spread_of_contenders(std::vector<double> Variant::*times) const {
  constexpr double kNearlyAll = 0.95;
  std::vector<std::vector<double>> rows = residuals(contenders_, times);
  for (std::vector<double>& row : rows) {
    const double middle = center(row);
    for (double& residual : row) residual -= middle;
  }
  level_rounds(rows);  // Without the variants' own differences, a round's level is known better.
  std::vector<double> distances;
  for (const std::vector<double>& row : rows) {
    for (const double residual : row) distances.push_back(std::abs(residual));
  }
  const auto nearly_all =
      distances.begin() +
      static_cast<std::ptrdiff_t>(kNearlyAll * static_cast<double>(distances.size()));
  std::nth_element(distances.begin(), nearly_all, distances.end());
  return to_percent(*nearly_all);
}

void Race::sort_by_center(std::vector<std::size_t>& variants,
                          std::vector<double> Variant::*times) const {
  std::vector<std::pair<double, std::size_t>> centers;  // And the place so far, for ties.
  for (const std::vector<double>& variant : residuals(variants, times)) {
    centers.emplace_back(variant.empty() ? 0 : center(variant), centers.size());
  }
  std::sort(centers.begin(), centers.end());
  std::vector<std::size_t> sorted;
  for (const auto& [ignored, place] : centers) sorted.push_back(variants[place]);
  variants = std::move(sorted);
}

void Race::start_finals() {
  if (in_finals_) return;
  in_finals_ = true;
  sort_by_center(contenders_, &Variant::race_ms);
  if (contenders_.size() > options_.finalists) contenders_.resize(options_.finalists);
  if (!contenders_.empty()) twin_of_ = contenders_[0];
  for (const std::size_t i : always_) {
    const bool is_in = std::find(contenders_.begin(), contenders_.end(), i) != contenders_.end();
    if (!is_in && !variants_[i].failed) contenders_.push_back(i);
  }
}

void Race::disqualify(std::size_t variant) {
  variants_[variant].failed = true;
  std::erase(contenders_, variant);
  std::erase(behind_, variant);
}

void Race::set_final_rounds(std::size_t rounds) { options_.final_rounds = rounds; }

void Race::cut_finals() { options_.final_rounds = final_rounds_ / 2; }

bool Race::in_finals() const { return in_finals_; }

std::size_t Race::final_rounds() const { return final_rounds_; }

std::size_t Race::samples_left() const {
  if (contenders_.empty()) return 0;
  const std::size_t rounds = 2 * options_.final_rounds;
  if (in_finals_) {
    const std::size_t left = rounds - std::min(rounds, final_rounds_);
    return left * (contenders_.size() + (twin_of_ ? 1 : 0));
  }
  const std::size_t finalists = std::min(contenders_.size(), options_.finalists) + 1;
  const std::size_t every = std::max<std::size_t>(options_.check_every, 1);
  const std::size_t to_decision = race_rounds_ < options_.first_rounds
                                      ? options_.first_rounds - race_rounds_
                                      : every - (race_rounds_ - options_.first_rounds) % every;
  return to_decision * contenders_.size() + rounds * (finalists + always_.size());
}

std::vector<Race::Standing> Race::standings() const {
  const bool has_finals = final_rounds_ > 0;
  const auto times = has_finals ? &Variant::final_ms : &Variant::race_ms;
  std::vector<std::size_t> ranked = contenders_.empty() ? behind_ : contenders_;
  // After the race and before the first final, contenders_ is in order, and `always_` has no times.
  if (has_finals || !in_finals_) sort_by_center(ranked, times);
  if (ranked.empty()) return {};
  const Variant& winner = variants_[ranked[0]];

  std::vector<Standing> tied;
  std::vector<Standing> slower;
  for (const std::size_t i : ranked) {
    Standing standing = compare(i, winner, times, ranked.size());
    standing.final = has_finals;
    (standing.tied ? tied : slower).push_back(std::move(standing));
  }
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    const bool is_behind = std::find(behind_.begin(), behind_.end(), i) != behind_.end();
    const auto its_times = is_behind ? times : &Variant::race_ms;
    if (variants_[i].failed || (variants_[i].*its_times).empty()) continue;
    if (std::find(ranked.begin(), ranked.end(), i) != ranked.end()) continue;
    Standing standing = compare(i, winner, its_times, ranked.size());
    standing.final = is_behind;
    standing.tied = false;
    slower.push_back(std::move(standing));
  }
  const auto median_of = [](const Standing& standing) {
    return standing.samples_ms.empty() ? kInfinity : median(standing.samples_ms);
  };
  std::stable_sort(tied.begin() + 1, tied.end(), [&](const Standing& a, const Standing& b) {
    return median_of(a) < median_of(b);
  });
  std::stable_sort(slower.begin(), slower.end(), [](const Standing& a, const Standing& b) {
    return a.slower_percent < b.slower_percent;
  });
  tied.insert(tied.end(), std::make_move_iterator(slower.begin()),
              std::make_move_iterator(slower.end()));
  return tied;
}

Race::Standing Race::compare(std::size_t i, const Variant& winner,
                             std::vector<double> Variant::*times, std::size_t ranked) const {
  const Variant& variant = variants_[i];
  Standing standing{.variant = i, .samples_ms = variant.*times};
  const std::vector<double> ratios = log_ratios(variant.*times, winner.*times);
  if (&variant == &winner || ratios.empty()) {
    standing.tied = true;
    standing.slower_percent = (variant.screen_ms / winner.screen_ms - 1) * 100;
    return standing;
  }
  standing.slower_percent = to_percent(center(ratios));
  const auto beyond = averages_beyond(ratios.size(), tail_of_pairs(ranked));
  standing.tied = !is_above(ratios, 0, beyond) || standing.slower_percent < tie_percent();
  if (times == &Variant::final_ms && ratios.size() > options_.final_rounds) {
    standing.tied = standing.tied || !are_both_above(ratios, options_.final_rounds);
  }
  return standing;
}

// The winner was picked for being fastest, so a verdict allows for every ordered pair.
double Race::tail_of_pairs(std::size_t ranked) const {
  const double pairs = static_cast<double>(ranked) * static_cast<double>(ranked - 1);
  return (1 - options_.drop_confidence) / pairs;
}

double Race::tie_percent() const {
  return std::max(options_.tie_percent, noise_percent().value_or(0));
}

std::optional<double> Race::noise_percent() const {
  if (twin_differences_.empty()) return std::nullopt;
  return to_percent(std::abs(center(twin_differences_)));
}

std::optional<Slowdown> paired_difference(const std::vector<double>& slower_ms,
                                          const std::vector<double>& faster_ms) {
  const std::vector<double> ratios = log_ratios(slower_ms, faster_ms);
  if (ratios.empty()) return std::nullopt;
  const Estimate found = estimate(ratios, averages_beyond(ratios.size(), kShownTail));
  return Slowdown{.percent = to_percent(found.center),
                  .low_percent = to_percent(found.low),
                  .high_percent = to_percent(found.high)};
}

}  // namespace smemtune
