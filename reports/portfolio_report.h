#pragma once

#include "db/export_formats.h"
#include "db/stored_portfolio.h"
#include "tuner/core/summary.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// The cost of using few configurations for all problems of a space on a device.
struct PortfolioReport {
  db::StoredPortfolio stored;
  std::vector<db::PortfolioSize> sizes;
  std::vector<db::SizeLoss> size_losses;
};

/// Chooses portfolios of all sizes, and evaluates them also with each problem held back.
PortfolioReport portfolio_report(const db::StoredPortfolio& stored);

/// Returns lines of text, each ending with a newline.
std::string portfolio_text(const PortfolioReport& report);

/// Returns lines of text on ways to choose for sizes that were not measured; empty where too few
/// were.
std::string size_losses_text(const std::vector<db::SizeLoss>& losses);

/// Fits rules to a space on a device, for `export --rules`. `most`: the number of configurations
/// that they may choose from, beside the default values; 0: the bests of all problems.
db::DeviceRules device_rules(const db::StoredPortfolio& stored, std::size_t most);

/// Returns JSON for `export --portfolio`.
nlohmann::ordered_json portfolio_json(const PortfolioReport& report);

/// The single configuration that loses least if every problem must use the same one.
struct OneForAll {
  struct Loss {
    Problem problem;
    double median_ms = 0;
    double best_ms = 0;  ///< Time of the problem's best configuration.
    double percent = 0;  ///< Slowdown of the configuration against the best.
  };
  std::string kernel;
  Configuration configuration;
  std::size_t candidates =
      0;                    ///< Number of configurations that were timed on each of the problems.
  double mean_percent = 0;  ///< Geometric mean of the losses.
  double worst_percent = 0;
  std::vector<Loss> losses;  ///< One per problem.
};

/// Returns the best single configuration among those that are correct and timed on all problems of
/// a run. Of two results of one configuration on one problem, the later one counts. A problem's
/// best is taken from the finals if there were any. nullopt if there are fewer than two problems,
/// or if no configuration runs on all of them.
std::optional<OneForAll> one_for_all(const TuningSummary& summary);

/// Returns the same for stored results, given a portfolio of size one.
std::optional<OneForAll> one_for_all(const db::StoredPortfolio& stored);

/// Returns lines of text, each ending with a newline.
std::string one_for_all_text(const OneForAll& one, const std::string& indent = "");

/// Returns JSON for the documents of `best --one` and of a run.
nlohmann::ordered_json one_for_all_json(const OneForAll& one);

}  // namespace smemtune
