#include "reports/value_bars.h"

#include "reports/result_texts.h"
#include "tuner/core/main_effects.h"
#include "tuner/core/measurement.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace smemtune {
namespace {

constexpr std::size_t kParameters = 3;
constexpr std::size_t kLongestBar = 60;

std::string left_aligned(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

/// Returns the times measured with each value of a parameter.
std::map<Value, std::vector<double>> times_by_value(const std::vector<const Result*>& timed,
                                                    const std::string& parameter) {
  std::map<Value, std::vector<double>> times;
  for (const Result* result : timed) {
    const auto value = result->configuration.find(parameter);
    if (value == result->configuration.end()) continue;
    times[value->second].push_back(result->measurement.median_ms);
  }
  return times;
}

/// The summary does not contain the run's strategy, only whether everything was evaluated.
ChosenBy chosen_by(const ProblemSummary& problem) {
  return problem.valid && !problem.unfinished ? ChosenBy::all : ChosenBy::search;
}

std::string bar(double best_share, double median_share, std::size_t length) {
  const auto signs = [&](double share) {
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(length)));
  };
  const std::size_t full = signs(best_share);
  const std::size_t half = std::min(full, signs(median_share));
  return std::string(half, '#') + std::string(full - half, '-') + std::string(length - full, ' ');
}

}  // namespace

std::string value_bars_text(const ProblemSummary& problem, std::size_t columns) {
  if (columns < kBarsColumns || !problem.best()) return "";
  const std::vector<const Result*> timed = timed_results(problem, problem.best()->kernel);
  std::vector<const Configuration*> configurations;
  std::vector<double> ms;
  for (const Result* result : timed) {
    configurations.push_back(&result->configuration);
    ms.push_back(result->measurement.median_ms);
  }
  std::vector<MainEffect> effects = MainEffects(configurations).of(ms);
  if (effects.empty()) return "";
  effects.resize(std::min(effects.size(), kParameters));
  const double best = std::ranges::min(ms);

  std::size_t label = 0;
  for (const MainEffect& effect : effects) {
    for (const auto& [value, times] : times_by_value(timed, effect.parameter)) {
      label = std::max(label, effect.parameter.size() + 1 + to_text(value).size());
    }
  }
  const std::size_t used = label + 40;  // Width of the indentation, numbers and words.
  const std::size_t length = std::min(kLongestBar, columns - std::min(columns - 1, used));
  std::string text = "  values of " + problem.best()->kernel + " in " +
                     timed_text(effects.front().configurations, chosen_by(problem)) +
                     ":\n  # the median, - the best configuration with it, as a share of the best "
                     "speed\n";
  for (const MainEffect& effect : effects) {
    std::string explained =
        "  (alone explains " + decimal(100 * effect.explained, 0) + " % of the variance)";
    for (const auto& [value, times] : times_by_value(timed, effect.parameter)) {
      const double best_share = best / std::ranges::min(times);
      const double median_share = best / quantile(times, 0.5);
      text += "    " + left_aligned(effect.parameter + "=" + to_text(value), label) + " |" +
              bar(best_share, median_share, length) + "| " + decimal(100 * best_share, 0) + " %" +
              explained + "\n";
      explained.clear();
    }
  }
  return text;
}

}  // namespace smemtune
