#include "tuner/core/main_effects.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace smemtune {

namespace {

struct Level {
  double sum = 0;
  double count = 0;
};

}  // namespace

std::string to_text(ChosenBy chosen_by) {
  if (chosen_by == ChosenBy::all) return "all";
  if (chosen_by == ChosenBy::unknown) return "unknown";
  return chosen_by == ChosenBy::chance ? "chance" : "search";
}

std::string timed_text(std::size_t configurations, ChosenBy chosen_by) {
  const char* const how = chosen_by == ChosenBy::all       ? ", all of the space tried"
                          : chosen_by == ChosenBy::chance  ? " drawn at random"
                          : chosen_by == ChosenBy::unknown ? ""
                                                           : " that the search chose";
  return format_count(configurations) + " timed configurations" + how;
}

MainEffects::MainEffects(std::span<const Configuration* const> configurations) {
  std::map<std::string, std::map<Value, std::size_t>> numbers;
  for (const Configuration* configuration : configurations) {
    for (const auto& [name, value] : *configuration) {
      std::map<Value, std::size_t>& values = numbers[name];
      values.try_emplace(value, values.size());
    }
  }
  for (const auto& [name, values] : numbers) {
    Levels levels{.parameter = name, .of_configuration = {}, .count = values.size()};
    for (const Configuration* configuration : configurations) {
      const auto value = configuration->find(name);
      levels.of_configuration.push_back(value == configuration->end() ? levels.count
                                                                      : values.at(value->second));
    }
    parameters_.push_back(std::move(levels));
  }
}

std::vector<MainEffect> MainEffects::of(std::span<const double> ms) const {
  std::vector<double> logs(ms.size(), std::numeric_limits<double>::quiet_NaN());
  Level whole;
  for (std::size_t i = 0; i < ms.size(); ++i) {
    if (!std::isfinite(ms[i])) continue;
    logs[i] = std::log(ms[i]);
    whole.sum += logs[i];
    whole.count += 1;
  }
  const double mean = whole.sum / whole.count;
  double all = 0;
  for (const double log : logs) {
    if (!std::isnan(log)) all += (log - mean) * (log - mean);
  }
  std::vector<MainEffect> effects;
  for (const Levels& parameter : parameters_) {
    std::vector<Level> levels(parameter.count + 1);
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (std::isnan(logs[i])) continue;
      Level& level = levels[parameter.of_configuration[i]];
      level.sum += logs[i];
      level.count += 1;
    }
    levels.pop_back();
    std::erase_if(levels, [](const Level& level) { return level.count == 0; });
    const auto level_count = static_cast<double>(levels.size());
    const double freedom = whole.count - level_count;
    if (level_count < 2 || freedom <= 0) continue;
    double between = 0;
    for (const Level& level : levels) {
      const double deviation = level.sum / level.count - mean;
      between += level.count * deviation * deviation;
    }
    const double by_chance = (level_count - 1) * (all - between) / freedom;
    const double explained = all > 0 ? std::clamp((between - by_chance) / all, 0.0, 1.0) : 0;
    effects.push_back({.parameter = parameter.parameter,
                       .explained = explained,
                       .configurations = static_cast<std::size_t>(whole.count)});
  }
  const std::size_t fewest = std::max(kFewestTimes, effects.size() + 2);
  if (whole.count < static_cast<double>(fewest)) return {};
  std::ranges::stable_sort(effects, std::greater(), &MainEffect::explained);
  return effects;
}

}  // namespace smemtune
