#include "reports/portfolio_report.h"

#include "db/json_forms.h"
#include "reports/table.h"

#include <nlohmann/json.hpp>

#include <map>
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
  for (const db::StoredResult& one : stored.chosen) {
    shares[one.result.kernel + " " + key(one.result.configuration)].push_back(
        key(one.result.problem));
  }
  return shares;
}

}  // namespace

PortfolioReport portfolio_report(const db::StoredPortfolio& stored) {
  return {.stored = stored, .sizes = portfolio_sizes(stored)};
}

std::string portfolio_text(const PortfolioReport& report) {
  const db::StoredPortfolio& stored = report.stored;
  const db::StoredResult& first = stored.bests.front();
  const std::string from = first.shared_from.empty() ? "" : ", from " + first.shared_from;
  std::string text = printable(first.space + " on " + first.device.name + from) + ": " +
                     counted(stored.bests.size(), "problem") +
                     ", loss to their bests (geometric mean, at worst), and for sizes held back\n";
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
  return text;
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
  const db::StoredResult& first = stored.bests.front();
  return {{"space", first.space},
          {"device", first.device.name},
          {"shared_from", first.shared_from.empty() ? Json(nullptr) : Json(first.shared_from)},
          {"problems", stored.bests.size()},
          {"configurations", stored.portfolio ? stored.portfolio->variants().size() : 0},
          {"loss", losses_json(stored.portfolio)},
          {"sizes", std::move(sizes)}};
}

}  // namespace smemtune
