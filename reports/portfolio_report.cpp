#include "reports/portfolio_report.h"

#include "db/json_forms.h"
#include "reports/table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>

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
  Json sizes = Json::array();
  for (const db::PortfolioSize& size : report.sizes) {
    Json held = losses_json(size.held_back);
    if (size.held_back) held["problems"] = size.held_back->cases;
    sizes.push_back({{"configurations", size.most == 0 ? Json(nullptr) : Json(size.most)},
                     {"loss", losses_json(size.portfolio)},
                     {"exact", size.portfolio ? Json(size.portfolio->is_exact) : Json(nullptr)},
                     {"held_back", std::move(held)}});
  }
  Json losses = Json::array();
  for (const db::SizeLoss& one : report.size_losses) {
    losses.push_back(
        {{"way", one.way},
         {"doublings", one.doublings},
         {"mean_percent", one.loss.mean_percent},
         {"worst_percent", one.loss.worst_percent},
         {"problems", one.loss.cases},
         {"with_default", one.loss.with_default},
         {"slower_than_default", one.loss.slower},
         {"worst_to_default_percent",
          one.loss.with_default > 0 ? Json(one.loss.worst_to_default_percent) : Json(nullptr)}});
  }
  const db::StoredResult& first = stored.bests.front();
  return {{"space", first.space},
          {"device", first.device.name},
          {"shared_from", first.shared_from.empty() ? Json(nullptr) : Json(first.shared_from)},
          {"problems", stored.bests.size()},
          {"configurations", stored.portfolio ? stored.portfolio->variants().size() : 0},
          {"loss", losses_json(stored.portfolio)},
          {"predicted_times", stored.bests.size() - stored.chosen.size()},
          {"sizes", std::move(sizes)},
          {"unmeasured_sizes", std::move(losses)}};
}

}  // namespace smemtune
