#include "tuner/core/sized_times.h"

#include "tuner/core/measurement.h"
#include "tuner/core/selection.h"
#include "tuner/core/selection_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {

namespace {

/// The members of a variant in a case that select_measured() reads.
struct Entry {
  std::string_view device = {};
  int compute_capability = 0;
  double time_ms = 0;
  int configuration = 0;
  bool is_best = false;
  std::size_t in = 0;
  std::size_t variant = 0;
};

/// Returns the size ratio of each case to a problem.
std::vector<double> ratios_to(const Problem& problem, const SizedTimes& times) {
  std::vector<double> ratios;
  for (const Problem& one : times.problems) ratios.push_back(size_ratio(one, problem));
  return ratios;
}

/// Returns the predicted time of a variant by that of the best, at a size that was not measured.
/// `ratios`: of the cases to that size, 0 for one that does not count; `of_all`: their weight.
double predicted_to_best(const TimeTable& table, const std::vector<double>& ratios, double of_all,
                         std::size_t variant) {
  if (!(of_all > 0)) return kUnknownToBest;
  Prediction prediction(of_all);
  for (std::size_t in = 0; in < table.cases(); ++in) {
    const double ms = table.ms[in][variant];
    if (weight_of(ratios[in]) > 0 && !std::isnan(ms)) {
      prediction.add(ratios[in], ms / table.best_ms[in]);
    }
  }
  return prediction.to_best();
}

/// Returns the variant that is the fastest in a case; nullopt if none is known to run.
std::optional<std::size_t> fastest(const TimeTable& table, std::size_t in) {
  std::optional<std::size_t> best;
  for (std::size_t variant = 0; variant < table.variants(); ++variant) {
    const double ms = table.ms[in][variant];
    if (std::isfinite(ms) && (!best || ms < table.ms[in][*best])) best = variant;
  }
  return best;
}

TimeTable of_cases(const TimeTable& table, std::span<const std::size_t> cases) {
  TimeTable part;
  for (const std::size_t in : cases) {
    part.ms.push_back(table.ms[in]);
    part.best_ms.push_back(table.best_ms[in]);
  }
  return part;
}

void add(HeldBack& all, double loss, double default_loss) {
  ++all.cases;
  all.mean_percent += loss;  // The sum, until all are added.
  all.worst_percent = std::max(all.worst_percent, to_percent(loss));
  if (!std::isfinite(default_loss)) return;
  constexpr double kSlowerPercent = 1;
  ++all.with_default;
  const double percent = to_percent(std::max(0.0, loss - default_loss));
  all.slower += percent > kSlowerPercent ? 1 : 0;
  all.worst_to_default_percent = std::max(all.worst_to_default_percent, percent);
}

}  // namespace

std::optional<std::size_t> selected_variant(const SizedTimes& times, const Problem& problem,
                                            std::span<const std::size_t> cases,
                                            std::span<const std::size_t> variants) {
  const TimeTable& table = times.table;
  std::vector<double> best_ms(table.cases(), std::numeric_limits<double>::infinity());
  std::vector<Entry> entries;
  for (const std::size_t variant : variants) {
    for (const std::size_t in : cases) {
      const double ms = table.ms[in][variant];
      if (std::isnan(ms)) continue;
      best_ms[in] = std::min(best_ms[in], ms);
      entries.push_back({.time_ms = std::isfinite(ms) ? ms : 0,
                         .configuration = static_cast<int>(variant),
                         .in = in,
                         .variant = variant});
    }
  }
  const std::vector<double> ratios = ratios_to(problem, times);
  const auto ratio_of = [&](const Entry& entry) { return ratios[entry.in]; };
  const auto to_best_of = [&](const Entry& entry) {
    return table.ms[entry.in][entry.variant] / best_ms[entry.in];
  };
  const auto fitness_of = [](const Entry& /*entry*/) { return Fitness::right; };
  const Choice<Entry> choice = select_measured(entries.data(), entries.size(), Target{"", 0},
                                               ratio_of, to_best_of, fitness_of);
  if (choice) return choice->variant;
  return times.defaults.empty() ? std::nullopt : std::optional(times.defaults.front());
}

std::vector<std::size_t> candidates_of(const SizedTimes& times,
                                       std::span<const std::size_t> cases) {
  std::set<std::size_t> all(times.defaults.begin(), times.defaults.end());
  for (const std::size_t in : cases) {
    if (const auto best = fastest(times.table, in)) all.insert(*best);
  }
  return {all.begin(), all.end()};
}

TimeTable with_predicted_times(const SizedTimes& times, std::span<const std::size_t> variants) {
  TimeTable table = times.table;
  for (std::vector<double>& ms : table.ms) {
    std::ranges::fill(ms, std::numeric_limits<double>::infinity());
  }
  for (std::size_t in = 0; in < table.cases(); ++in) {
    std::vector<double> ratios = ratios_to(times.problems[in], times);
    ratios[in] = 0;
    double of_all = 0;
    for (const double ratio : ratios) of_all += weight_of(ratio);
    for (const std::size_t variant : variants) {
      const double ms = times.table.ms[in][variant];
      table.ms[in][variant] =
          std::isnan(ms)
              ? predicted_to_best(times.table, ratios, of_all, variant) * table.best_ms[in]
              : ms;
    }
  }
  return table;
}

std::optional<HeldBack> held_back(const SizedTimes& times, double doublings,
                                  const ChooseForCase& choose) {
  HeldBack all;
  for (std::size_t out = 0; out < times.table.cases(); ++out) {
    std::vector<std::size_t> known;
    for (std::size_t in = 0; in < times.table.cases(); ++in) {
      const double ratio = size_ratio(times.problems[in], times.problems[out]);
      const bool is_near = ratio > 0 && !(smemtune::doublings(ratio) > doublings);
      if (in != out && !is_near) known.push_back(in);
    }
    const std::optional<std::size_t> chosen = choose(out, known);
    if (!chosen || std::isnan(times.table.ms[out][*chosen])) continue;
    const double loss = std::min(times.table.loss(out, *chosen), std::log(kMostToCount));
    const double default_loss = times.defaults.empty()
                                    ? std::numeric_limits<double>::infinity()
                                    : times.table.loss(out, times.defaults.front());
    add(all, loss, default_loss);
  }
  if (all.cases == 0) return std::nullopt;
  all.mean_percent = to_percent(all.mean_percent / static_cast<double>(all.cases));
  return all;
}

ChooseForCase nearest_best(const SizedTimes& times) {
  return [&times](std::size_t out, const std::vector<std::size_t>& known) {
    std::optional<std::size_t> nearest;
    std::pair<double, double> least;
    for (const std::size_t in : known) {
      const double ratio = size_ratio(times.problems[in], times.problems[out]);
      const std::pair rank(ratio, times.table.best_ms[in]);
      if (!(ratio > 0) || (nearest && rank >= least)) continue;
      nearest = in;
      least = rank;
    }
    return nearest ? fastest(times.table, *nearest) : std::nullopt;
  };
}

ChooseForCase default_values(const SizedTimes& times) {
  return [&times](std::size_t /*out*/, const std::vector<std::size_t>& /*known*/) {
    return times.defaults.empty() ? std::nullopt : std::optional(times.defaults.front());
  };
}

ChooseForCase selection_of(const SizedTimes& times, std::size_t most) {
  return [&times, most](std::size_t out,
                        const std::vector<std::size_t>& known) -> std::optional<std::size_t> {
    std::vector<std::size_t> variants = candidates_of(times, known);
    if (most > 0 && !known.empty()) {
      const auto portfolio = best_portfolio(of_cases(times.table, known), most);
      if (!portfolio) return std::nullopt;
      variants = portfolio->variants();
      std::ranges::copy(times.defaults, std::back_inserter(variants));
      std::ranges::sort(variants);
      variants.erase(std::unique(variants.begin(), variants.end()), variants.end());
    }
    return selected_variant(times, times.problems[out], known, variants);
  };
}

}  // namespace smemtune
