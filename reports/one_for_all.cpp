#include "reports/one_for_all.h"

#include "db/json_forms.h"
#include "reports/table.h"
#include "tuner/core/portfolio.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace smemtune {

namespace {

/// Results by the key of their problem, for each configuration given by its kernel and key.
using ByProblem = std::map<std::string, const Result*>;
using ByConfiguration = std::map<std::pair<std::string, std::string>, ByProblem>;

double median_of(const Result& result) { return result.measurement.median_ms; }

ByConfiguration newest(const TuningSummary& summary) {
  ByConfiguration configurations;
  for (const ProblemSummary& problem : summary.problems) {
    for (const Result& result : problem.results) {
      configurations[{result.kernel, key(result.configuration)}][key(result.problem)] = &result;
    }
  }
  return configurations;
}

/// Returns the time of the best of each problem.
std::map<std::string, double> best_times(const TuningSummary& summary) {
  std::map<std::string, double> times;
  for (const ProblemSummary& problem : summary.problems) {
    if (problem.best()) times[key(problem.problem)] = median_of(*problem.best());
  }
  return times;
}

/// `chosen`: results of one configuration, in the same order of problems as `best_ms`.
OneForAll one_of(const Portfolio& portfolio, const std::vector<const Result*>& chosen,
                 const std::vector<double>& best_ms) {
  OneForAll one;
  one.kernel = chosen.front()->kernel;
  one.configuration = chosen.front()->configuration;
  one.mean_percent = portfolio.mean_percent;
  one.worst_percent = portfolio.worst_percent;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const double ms = median_of(*chosen[i]);
    // A screened time may be below the best's time in the finals.
    one.losses.push_back({.problem = chosen[i]->problem,
                          .median_ms = ms,
                          .best_ms = best_ms[i],
                          .percent = std::max(0.0, ms / best_ms[i] - 1) * 100});
  }
  return one;
}

}  // namespace

std::optional<OneForAll> one_for_all(const TuningSummary& summary) {
  const ByConfiguration configurations = newest(summary);
  const std::map<std::string, double> best_ms = best_times(summary);
  if (best_ms.size() < 2) return std::nullopt;
  TimeTable table;
  std::vector<const ByProblem*> variants;
  for (const auto& [name, by_problem] : configurations) variants.push_back(&by_problem);
  for (const auto& [problem, least_ms] : best_ms) {
    table.best_ms.push_back(least_ms);
    std::vector<double>& times = table.ms.emplace_back();
    for (const ByProblem* by_problem : variants) {
      const auto found = by_problem->find(problem);
      const bool runs = found != by_problem->end() && found->second->timed();
      times.push_back(runs ? median_of(*found->second) : std::numeric_limits<double>::infinity());
    }
  }
  const auto portfolio = best_portfolio(table, 1);
  if (!portfolio) return std::nullopt;
  std::vector<const Result*> chosen;
  for (const auto& [problem, result] : *variants[portfolio->choice.front()])
    chosen.push_back(result);
  return one_of(*portfolio, chosen, table.best_ms);
}

std::optional<OneForAll> one_for_all(const db::StoredPortfolio& stored) {
  if (!stored.portfolio || stored.is_predicted || stored.chosen.size() < 2) return std::nullopt;
  std::vector<const Result*> chosen;
  for (const db::StoredResult& one : stored.chosen) chosen.push_back(&one.result);
  return one_of(*stored.portfolio, chosen, stored.table.best_ms);
}

std::string one_for_all_text(const OneForAll& one, const std::string& indent) {
  std::string text = indent + "one for all " + std::to_string(one.losses.size()) +
                     " problems: " + one.kernel + " " + key(one.configuration) + "\n" + indent +
                     "  loses " + decimal(one.mean_percent, 1) + " %" + " (geometric mean), " +
                     decimal(one.worst_percent, 1) + " %" + " at worst\n";
  Table table({"problem", ">time", ">best", ">loss"});
  for (const OneForAll::Loss& loss : one.losses) {
    table.add_row({key(loss.problem), format_time(loss.median_ms), format_time(loss.best_ms),
                   decimal(loss.percent, 1) + " %"});
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
