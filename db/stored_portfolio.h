#pragma once

#include "db/rows.h"
#include "tuner/core/portfolio.h"
#include "tuner/core/result.h"
#include "tuner/core/sized_times.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::db {

/// A small set of configurations that together serve all problems of a space on a device model.
struct StoredPortfolio {
  std::vector<StoredResult> bests;            ///< The best result of each problem. Not empty.
  std::vector<KernelConfiguration> variants;  ///< The configurations of `times`.
  SizedTimes times;                           ///< The times that were measured of them.
  /// The same, or if no set of that size is known to run all problems: of the problems' bests and
  /// the default values, with predictions for the times that are not known.
  TimeTable table;
  bool is_predicted = false;           ///< Whether `table` has predictions.
  std::optional<Portfolio> portfolio;  ///< nullopt if no set of that size runs all problems.
  /// For each problem, the result of the configuration that the portfolio uses; none where its time
  /// is a prediction.
  std::vector<StoredResult> chosen;
};

/// Loss of portfolios of at most `most` configurations.
struct PortfolioSize {
  std::size_t most = 0;  ///< Maximum number of configurations; 0: every problem has its own best.
  std::optional<Portfolio> portfolio;
  /// The loss for each problem in turn if the portfolio is chosen for the other problems, and
  /// selection.h then picks one of its configurations or the default values for it.
  std::optional<HeldBack> held_back;
};

/// Returns the results for 1, 2, ... 8 configurations, and for every problem having its own best.
std::vector<PortfolioSize> portfolio_sizes(const StoredPortfolio& stored);

/// The losses of a way to choose at sizes that it knows nothing of.
struct SizeLoss {
  /// `a header's select()`, `--rules`, `the best of the nearest size` or `the default values`.
  std::string way;
  double doublings = 0;  ///< Sizes that are nearer than so many doublings are held back as well.
  HeldBack loss;
};

/// Returns the losses with 0, 2 and 4 doublings, each if what is chosen was measured for at least
/// half of the sizes.
std::vector<SizeLoss> size_losses(const StoredPortfolio& stored);

}  // namespace smemtune::db
