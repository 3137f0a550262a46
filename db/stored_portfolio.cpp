#include "db/stored_portfolio.h"

#include "db/result_store.h"
#include "db/stored_times.h"
#include "tuner/core/size_ratio.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

constexpr std::size_t kMostSizes = 8;

/// The bests of all problems of a space on a device model, and the kernels that a portfolio may
/// use.
struct PortfolioGroup {
  std::vector<const StoredResult*> bests;
  std::vector<const StoredResult*> kernels;
};

/// Keyed by space, device name, device model and, for portfolios per kernel, kernel name.
using Groups =
    std::map<std::tuple<std::string, std::string, std::int64_t, std::string>, PortfolioGroup>;

Groups groups_of(const std::vector<StoredResult>& bests, const std::vector<StoredResult>& kernels,
                 bool per_kernel) {
  Groups groups;
  for (const StoredResult& stored : kernels) {
    if (stored.stale) continue;
    const std::string kernel = per_kernel ? stored.result.kernel : "";
    groups[{stored.space, stored.device.name, stored.model_id, kernel}].kernels.push_back(&stored);
  }
  for (auto& [name, group] : groups) {
    for (const StoredResult& stored : bests) {
      const bool is_its = stored.space == std::get<0>(name) && stored.model_id == std::get<2>(name);
      if (is_its && !stored.stale) group.bests.push_back(&stored);
    }
  }
  return groups;
}

/// Returns, for each problem, the index of the other problem whose configuration selection.h would
/// use for it.
std::vector<std::optional<std::size_t>> nearest(const std::vector<StoredResult>& bests) {
  std::vector<std::optional<std::size_t>> all;
  for (std::size_t i = 0; i < bests.size(); ++i) {
    std::optional<std::size_t> found;
    std::pair<double, double> least;
    for (std::size_t j = 0; j < bests.size(); ++j) {
      const double ratio = size_ratio(bests[i].result.problem, bests[j].result.problem);
      const std::pair rank(ratio, bests[j].result.measurement.median_ms);
      if (i == j || ratio <= 0 || (found && rank >= least)) continue;
      found = j;
      least = rank;
    }
    all.push_back(found);
  }
  return all;
}

}  // namespace

std::vector<PortfolioSize> portfolio_sizes(const StoredPortfolio& stored) {
  const TimeTable& table = stored.table;
  const std::vector<std::optional<std::size_t>> instead = nearest(stored.bests);
  std::vector<PortfolioSize> sizes;
  for (std::size_t most = 1; most <= std::min(kMostSizes, table.cases()); ++most) {
    sizes.push_back({.most = most,
                     .portfolio = best_portfolio(table, most),
                     .held_back = held_back(table, most, instead)});
  }
  sizes.push_back({.most = 0,
                   .portfolio = best_portfolio(table, table.variants()),
                   .held_back = held_back(table, table.variants(), instead)});
  return sizes;
}

std::vector<StoredPortfolio> ResultStore::portfolios(const Query& query, std::size_t most,
                                                     bool per_kernel) const {
  const std::vector<StoredResult> bests = best(query, /*per_kernel=*/false);
  const std::vector<StoredResult> kernels = best(query, /*per_kernel=*/true);
  TimesReader reader(kernels.size(), query.run);
  std::vector<StoredPortfolio> portfolios;
  for (const auto& [name, group] : groups_of(bests, kernels, per_kernel)) {
    StoredPortfolio stored;
    std::vector<TimedCase> cases;
    for (const StoredResult* one : group.bests) {
      stored.bests.push_back(*one);
      cases.push_back({.in = connection_.get(),
                       .model_id = one->model_id,
                       .problem_id = problem_id(*connection_, one->space, one->result.problem),
                       .best_ms = one->result.measurement.median_ms});
    }
    StoredTimes times = reader.read(cases, group.kernels);
    stored.table = std::move(times.table);
    stored.portfolio = best_portfolio(stored.table, most);
    if (stored.portfolio) {
      std::vector<std::int64_t> ids;
      for (std::size_t in = 0; in < cases.size(); ++in) {
        ids.push_back(times.result_ids[in][stored.portfolio->choice[in]]);
      }
      stored.chosen = results_of(ids, query);
    }
    portfolios.push_back(std::move(stored));
  }
  return portfolios;
}

}  // namespace smemtune::db
