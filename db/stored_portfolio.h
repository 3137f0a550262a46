#pragma once

#include "db/result_store.h"
#include "tuner/core/portfolio.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace smemtune::db {

/// How few configurations can share out the problems of a space on a device model among them.
struct StoredPortfolio {
  std::vector<StoredResult> bests;     ///< By problem. Not empty.
  TimeTable table;                     ///< Cases are the problems.
  std::optional<Portfolio> portfolio;  ///< Nullopt where no so many run all problems.
  std::vector<StoredResult> chosen;    ///< By problem, what the portfolio runs there.
};

/// What is lost with so many configurations at most.
struct PortfolioSize {
  std::size_t most = 0;  ///< 0: every problem has its own best.
  std::optional<Portfolio> portfolio;
  /// For each problem in turn, with a portfolio of the others and the configuration that
  /// selection.h then takes for it: that of the nearest problem.
  std::optional<HeldBack> held_back;
};

/// Of 1, 2, ... 8 configurations and of every problem's best.
std::vector<PortfolioSize> portfolio_sizes(const StoredPortfolio& stored);

}  // namespace smemtune::db
