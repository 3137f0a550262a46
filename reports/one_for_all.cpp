#include "reports/one_for_all.h"

#include "db/json_forms.h"
#include "reports/table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

namespace smemtune {

namespace {

/// Kernel and key of a configuration, and its results by the key of their problem.
using ByProblem = std::map<std::string, const Result*>;
using ByConfiguration = std::map<std::pair<std::string, std::string>, ByProblem>;

double median_ms(const Result& result) { return result.measurement.median_ms; }

ByConfiguration newest(std::span<const Result* const> results) {
  ByConfiguration configurations;
  for (const Result* result : results) {
    configurations[{result->kernel, key(result->configuration)}][key(result->problem)] = result;
  }
  return configurations;
}

/// The best time of each problem.
std::map<std::string, double> best_times(const ByConfiguration& configurations) {
  std::map<std::string, const Result*> best;
  for (const auto& [name, by_problem] : configurations) {
    for (const auto& [problem, result] : by_problem) {
      if (!result->timed()) continue;
      const auto rank = [](const Result* r) {
        return std::pair(r->stage != Stage::final, median_ms(*r));
      };
      const Result*& least = best.try_emplace(problem, result).first->second;
      if (rank(result) < rank(least)) least = result;
    }
  }
  std::map<std::string, double> times;
  for (const auto& [problem, result] : best) times[problem] = median_ms(*result);
  return times;
}

double to_percent(double log_ratio) { return std::expm1(log_ratio) * 100; }

/// Nullopt where a problem has no time.
std::optional<OneForAll> losses_of(const ByProblem& by_problem,
                                   const std::map<std::string, double>& best_ms) {
  OneForAll one;
  double logs = 0;
  for (const auto& [problem, least_ms] : best_ms) {
    const auto found = by_problem.find(problem);
    if (found == by_problem.end() || !found->second->timed()) return std::nullopt;
    const Result& result = *found->second;
    // A screened time may be below what the finals found of the best.
    const double log_ratio = std::max(0.0, std::log(median_ms(result) / least_ms));
    logs += log_ratio;
    one.kernel = result.kernel;
    one.configuration = result.configuration;
    one.losses.push_back({.problem = result.problem,
                          .median_ms = median_ms(result),
                          .best_ms = least_ms,
                          .percent = to_percent(log_ratio)});
    one.worst_percent = std::max(one.worst_percent, one.losses.back().percent);
  }
  one.mean_percent = to_percent(logs / static_cast<double>(best_ms.size()));
  return one;
}

std::string percent_text(double percent) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", percent);
  return text;
}

}  // namespace

std::optional<OneForAll> one_for_all(std::span<const Result* const> results,
                                     const std::string& kernel) {
  const ByConfiguration configurations = newest(results);
  const std::map<std::string, double> best_ms = best_times(configurations);
  if (best_ms.size() < 2) return std::nullopt;
  std::optional<OneForAll> best;
  for (const auto& [name, by_problem] : configurations) {
    if (!kernel.empty() && name.first != kernel) continue;
    std::optional<OneForAll> one = losses_of(by_problem, best_ms);
    const auto rank = [](const OneForAll& o) { return std::pair(o.mean_percent, o.worst_percent); };
    if (one && (!best || rank(*one) < rank(*best))) best = std::move(one);
  }
  return best;
}

std::string one_for_all_text(const OneForAll& one, const std::string& indent) {
  std::string text = indent + "one for all " + std::to_string(one.losses.size()) +
                     " problems: " + one.kernel + " " + key(one.configuration) + "\n" + indent +
                     "  loses " + percent_text(one.mean_percent) + " (geometric mean), " +
                     percent_text(one.worst_percent) + " at worst\n";
  Table table({{"problem"},
               {"time", Table::Align::right},
               {"best", Table::Align::right},
               {"loss", Table::Align::right}});
  for (const OneForAll::Loss& loss : one.losses) {
    table.add_row({key(loss.problem), format_time(loss.median_ms), format_time(loss.best_ms),
                   percent_text(loss.percent)});
  }
  return text + table.text(indent + "  ");
}

nlohmann::ordered_json one_for_all_json(const OneForAll& one) {
  db::Json losses = db::Json::array();
  for (const OneForAll::Loss& loss : one.losses) {
    losses.push_back({{"problem", db::bindings_json(loss.problem)},
                      {"median_ms", loss.median_ms},
                      {"best_ms", loss.best_ms},
                      {"percent", loss.percent}});
  }
  return {{"kernel", one.kernel},
          {"configuration", db::bindings_json(one.configuration)},
          {"mean_percent", one.mean_percent},
          {"worst_percent", one.worst_percent},
          {"losses", std::move(losses)}};
}

}  // namespace smemtune
