#include "reports/portfolio_report.h"

#include "db/json_forms.h"
#include "reports/table.h"
#include "tuner/core/portfolio.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace smemtune {

namespace {

using db::Json;

std::string one_digit_percent(double value) { return decimal(value, 1) + " %"; }

/// Returns the losses of a portfolio, or of one with problems held back.
template <typename Losses>
Json losses_json(const std::optional<Losses>& losses) {
  if (!losses) return nullptr;
  return {{"mean_percent", db::number_json(losses->mean_percent)},
          {"worst_percent", db::number_json(losses->worst_percent)}};
}

/// Returns the problems that each member of the portfolio is used for: keys of problems, by kernel
/// and configuration.
std::map<std::string, std::vector<std::string>> shares(const db::StoredPortfolio& stored) {
  std::map<std::string, std::vector<std::string>> shares;
  if (!stored.portfolio) return shares;
  for (std::size_t in = 0; in < stored.times.problems.size(); ++in) {
    const KernelConfiguration& one = stored.variants[stored.portfolio->choice[in]];
    shares[one.kernel + " " + key(one.configuration)].push_back(key(stored.times.problems[in]));
  }
  for (auto& [configuration, problems] : shares) std::ranges::sort(problems, in_natural_order);
  return shares;
}

}  // namespace

PortfolioReport portfolio_report(const db::StoredPortfolio& stored) {
  return {.stored = stored, .sizes = portfolio_sizes(stored), .size_losses = size_losses(stored)};
}

std::string portfolio_text(const PortfolioReport& report) {
  const db::StoredPortfolio& stored = report.stored;
  const db::StoredResult& first = stored.bests.front();
  const std::string from = first.shared_from.empty() ? "" : ", from " + first.shared_from;
  std::string text = printable(first.space + " on " + first.device.name + from) + ": " +
                     counted(stored.bests.size(), "problem") +
                     ", loss to their bests (geometric mean, at worst), and for sizes held back\n";
  if (stored.is_predicted) {
    text += "  " + std::to_string(stored.bests.size() - stored.chosen.size()) + " of the " +
            counted(stored.bests.size(), "chosen time") +
            " are predictions, as nothing was measured there\n";
  }
  Table table(
      {">configurations", ">mean", ">worst", ">held back: mean", ">worst", ">problems", ""});
  for (const db::PortfolioSize& size : report.sizes) {
    const auto& portfolio = size.portfolio;
    const auto& held = size.held_back;
    table.add_row({size.most == 0 ? "each its own" : std::to_string(size.most),
                   portfolio ? one_digit_percent(portfolio->mean_percent) : "-",
                   portfolio ? one_digit_percent(portfolio->worst_percent) : "-",
                   held ? one_digit_percent(held->mean_percent) : "-",
                   held ? one_digit_percent(held->worst_percent) : "-",
                   held ? std::to_string(held->cases) : "-",
                   portfolio && !portfolio->is_exact ? "by exchange" : ""});
  }
  text += table.text("  ");
  for (const auto& [configuration, problems] : shares(stored)) {
    text += "  " + printable(configuration) + ": " + printable(joined(problems, "; ")) + "\n";
  }
  return text + size_losses_text(report.size_losses);
}

std::string size_losses_text(const std::vector<db::SizeLoss>& losses) {
  if (losses.empty()) return "";
  Table table({"chosen", "held back with the size", ">sizes", ">mean", ">worst",
               ">slower than the default", ">at most by"});
  for (const db::SizeLoss& one : losses) {
    const HeldBack& loss = one.loss;
    const bool is_compared = loss.with_default > 0;
    table.add_row(
        {one.way,
         one.doublings > 0 ? "all within " + decimal(one.doublings, 0) + " doublings" : "nothing",
         std::to_string(loss.cases), one_digit_percent(loss.mean_percent),
         one_digit_percent(loss.worst_percent),
         is_compared ? std::to_string(loss.slower) + " of " + std::to_string(loss.with_default)
                     : "-",
         is_compared ? one_digit_percent(loss.worst_to_default_percent) : "-"});
  }
  return "  Sizes that were not measured, each size in turn being held back:\n" + table.text("  ");
}

db::DeviceRules device_rules(const db::StoredPortfolio& stored, std::size_t most) {
  const SizedTimes& times = stored.times;
  std::vector<std::size_t> cases(times.problems.size());
  std::iota(cases.begin(), cases.end(), std::size_t{0});
  std::vector<std::size_t> variants = candidates_of(times, cases);
  if (most > 0 && stored.portfolio) {
    variants = stored.portfolio->variants();
    std::ranges::copy(times.defaults, std::back_inserter(variants));
  }
  db::DeviceRules rules = {.space = stored.bests.front().space,
                           .device = stored.bests.front().device.name,
                           .variants = stored.variants,
                           .rules = fit_rules(times, cases, variants),
                           .notes = ""};
  const auto lost = held_back(times, -1, [&](std::size_t in, const std::vector<std::size_t>&) {
    return rules.rules.variant(times.problems[in]);
  });
  const std::string& from = stored.bests.front().shared_from;
  rules.notes = counted(cases.size(), "size") + (from.empty() ? "" : ", from " + from) + ". ";
  if (lost) {
    rules.notes += "At " + std::to_string(lost->cases) +
                   " of them what is chosen was measured: it loses " +
                   one_digit_percent(lost->mean_percent) + " to their bests (geometric mean), " +
                   one_digit_percent(lost->worst_percent) + " at worst.";
  }
  rules.notes += "\n" + size_losses_text(size_losses(stored));
  return rules;
}

nlohmann::ordered_json portfolio_json(const PortfolioReport& report) {
  const db::StoredPortfolio& stored = report.stored;
  const auto size_json = [](const db::PortfolioSize& size) -> Json {
    Json held = losses_json(size.held_back);
    if (size.held_back) held["problems"] = size.held_back->cases;
    return {{"configurations", size.most == 0 ? Json(nullptr) : Json(size.most)},
            {"loss", losses_json(size.portfolio)},
            {"exact", size.portfolio ? Json(size.portfolio->is_exact) : Json(nullptr)},
            {"held_back", std::move(held)}};
  };
  const auto loss_json = [](const db::SizeLoss& one) -> Json {
    return {{"way", one.way},
            {"doublings", one.doublings},
            {"mean_percent", one.loss.mean_percent},
            {"worst_percent", one.loss.worst_percent},
            {"problems", one.loss.cases},
            {"with_default", one.loss.with_default},
            {"slower_than_default", one.loss.slower},
            {"worst_to_default_percent",
             one.loss.with_default > 0 ? Json(one.loss.worst_to_default_percent) : Json(nullptr)}};
  };
  const db::StoredResult& first = stored.bests.front();
  return {{"space", first.space},
          {"device", first.device.name},
          {"shared_from", db::or_null(first.shared_from)},
          {"problems", stored.bests.size()},
          {"configurations", stored.portfolio ? stored.portfolio->variants().size() : 0},
          {"loss", losses_json(stored.portfolio)},
          {"predicted_times", stored.bests.size() - stored.chosen.size()},
          {"sizes", db::list_json(report.sizes, size_json)},
          {"unmeasured_sizes", db::list_json(report.size_losses, loss_json)}};
}

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

/// Returns the number of variants that run all cases.
std::size_t variants_for_all(const TimeTable& table) {
  std::size_t count = 0;
  for (std::size_t variant = 0; variant < table.variants(); ++variant) {
    count += std::ranges::all_of(table.ms, [variant](const std::vector<double>& times) {
      return std::isfinite(times[variant]);
    });
  }
  return count;
}

/// `chosen`: results of one configuration, in the same order of problems as the cases of `table`.
OneForAll one_of(const Portfolio& portfolio, const std::vector<const Result*>& chosen,
                 const TimeTable& table) {
  OneForAll one;
  one.candidates = variants_for_all(table);
  one.kernel = chosen.front()->kernel;
  one.configuration = chosen.front()->configuration;
  one.mean_percent = portfolio.mean_percent;
  one.worst_percent = portfolio.worst_percent;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const double ms = median_of(*chosen[i]);
    // A screened time may be below the best's time in the finals.
    one.losses.push_back({.problem = chosen[i]->problem,
                          .median_ms = ms,
                          .best_ms = table.best_ms[i],
                          .percent = std::max(0.0, ms / table.best_ms[i] - 1) * 100});
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
  return one_of(*portfolio, chosen, table);
}

std::optional<OneForAll> one_for_all(const db::StoredPortfolio& stored) {
  if (!stored.portfolio || stored.is_predicted || stored.chosen.size() < 2) return std::nullopt;
  std::vector<const Result*> chosen;
  for (const db::StoredResult& one : stored.chosen) chosen.push_back(&one.result);
  return one_of(*stored.portfolio, chosen, stored.table);
}

std::string one_for_all_text(const OneForAll& one, const std::string& indent) {
  std::string text = indent + "one for all " + std::to_string(one.losses.size()) +
                     " problems: " + one.kernel + " " + key(one.configuration) + "\n" + indent +
                     "  of " + std::to_string(one.candidates) +
                     " timed on each it loses least: " + decimal(one.mean_percent, 1) + " %" +
                     " (geometric mean), " + decimal(one.worst_percent, 1) + " %" + " at worst\n";
  Table table({"problem", ">time", ">best", ">loss"});
  for (const OneForAll::Loss& loss : one.losses) {
    table.add_row({key(loss.problem), format_time(loss.median_ms), format_time(loss.best_ms),
                   decimal(loss.percent, 1) + " %"});
  }
  return text + table.text(indent + "  ");
}

nlohmann::ordered_json one_for_all_json(const OneForAll& one) {
  const auto loss_json = [](const OneForAll::Loss& loss) -> db::Json {
    return {{"problem", db::bindings_json(loss.problem)},
            {"median_ms", loss.median_ms},
            {"best_ms", loss.best_ms},
            {"percent", loss.percent}};
  };
  return {{"kernel", one.kernel},
          {"configuration", db::bindings_json(one.configuration)},
          {"candidates", one.candidates},
          {"mean_percent", one.mean_percent},
          {"worst_percent", one.worst_percent},
          {"losses", db::list_json(one.losses, loss_json)}};
}

}  // namespace smemtune
