#pragma once

#include "db/rows.h"
#include "tuner/core/portfolio.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace smemtune::db {

/// A small set of configurations that together serve all problems of a space on a device model.
struct StoredPortfolio {
  std::vector<StoredResult> bests;     ///< The best result of each problem. Not empty.
  TimeTable table;                     ///< Times of all configurations; its cases are the problems.
  std::optional<Portfolio> portfolio;  ///< nullopt if no set of that size runs all problems.
  /// For each problem, the result of the configuration that the portfolio uses.
  std::vector<StoredResult> chosen;
};

/// Loss of portfolios of at most `most` configurations.
struct PortfolioSize {
  std::size_t most = 0;  ///< Maximum number of configurations; 0: every problem has its own best.
  std::optional<Portfolio> portfolio;
  /// The loss for each problem in turn if the portfolio is chosen for the other problems, and
  /// selection.h then picks a configuration for it: that of the nearest problem.
  std::optional<HeldBack> held_back;
};

/// Returns the results for 1, 2, ... 8 configurations, and for every problem having its own best.
std::vector<PortfolioSize> portfolio_sizes(const StoredPortfolio& stored);

}  // namespace smemtune::db
