#include "db/stored_portfolio.h"

#include "db/result_store.h"
#include "db/stored_times.h"
#include "tuner/core/size_rules.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
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

/// Returns the indices of the kernels' default values, those of the kernel that is the best most
/// often first.
/// A kernel's default values that were measured nowhere become a variant without times.
std::vector<std::size_t> default_variants(StoredTimes& times, const PortfolioGroup& group,
                                          const std::vector<KernelDefaults>& defaults) {
  std::map<std::string, int> wins;
  for (const StoredResult* best : group.bests) ++wins[best->result.kernel];
  std::vector<std::pair<int, std::size_t>> order;
  std::set<std::string> seen;
  for (const StoredResult* stored : group.kernels) {
    const std::string& kernel = stored->result.kernel;
    const auto its = std::ranges::find_if(defaults, [&](const KernelDefaults& one) {
      return one.space == stored->space && one.kernel == kernel;
    });
    if (its == defaults.end() || !seen.insert(kernel).second) continue;
    auto variant = times.find(version_of(*stored), its->configuration);
    if (!variant) {
      variant = times.variants.size();
      times.variants.push_back({.kernel = kernel, .configuration = its->configuration});
      for (auto& ms : times.table.ms) ms.push_back(std::numeric_limits<double>::quiet_NaN());
      for (auto& ids : times.result_ids) ids.push_back(0);
    }
    order.emplace_back(-wins[kernel], *variant);
  }
  std::ranges::sort(order);
  std::vector<std::size_t> variants;
  for (const auto& [count, variant] : order) variants.push_back(variant);
  return variants;
}

/// Chooses the portfolio; from predictions where no set is known to run all problems.
void choose(StoredPortfolio& stored, std::size_t most) {
  const SizedTimes& times = stored.times;
  stored.table = times.table;
  stored.portfolio = best_portfolio(stored.table, most);
  if (stored.portfolio) return;
  std::vector<std::size_t> all(times.table.cases());
  std::iota(all.begin(), all.end(), std::size_t{0});
  stored.table = with_predicted_times(times, candidates_of(times, all));
  stored.portfolio = best_portfolio(stored.table, most);
  stored.is_predicted = stored.portfolio.has_value();
}

}  // namespace

std::vector<PortfolioSize> portfolio_sizes(const StoredPortfolio& stored) {
  const TimeTable& table = stored.table;
  const auto held = [&stored](std::size_t most) {
    return held_back(stored.times, 0, selection_of(stored.times, most));
  };
  std::vector<PortfolioSize> sizes;
  for (std::size_t most = 1; most <= std::min(kMostSizes, table.cases()); ++most) {
    sizes.push_back(
        {.most = most, .portfolio = best_portfolio(table, most), .held_back = held(most)});
  }
  sizes.push_back(
      {.most = 0, .portfolio = best_portfolio(table, table.variants()), .held_back = held(0)});
  return sizes;
}

std::vector<SizeLoss> size_losses(const StoredPortfolio& stored) {
  const SizedTimes& times = stored.times;
  const std::pair<const char*, ChooseForCase> ways[] = {
      {"a header's select()", selection_of(times, 0)},
      {"--rules", rules_of(times)},
      {"the best of the nearest size", nearest_best(times)},
      {"the default values", default_values(times)}};
  std::vector<SizeLoss> losses;
  for (const double doublings : {0, 2, 4}) {
    for (const auto& [way, choose] : ways) {
      const auto loss = held_back(times, doublings, choose);
      // A table of winners only could count just those that happen to win twice.
      const bool is_enough = loss && 2 * loss->cases >= times.table.cases();
      if (is_enough) losses.push_back({.way = way, .doublings = doublings, .loss = *loss});
    }
  }
  return losses;
}

std::vector<StoredPortfolio> ResultStore::portfolios(const Query& query, std::size_t most,
                                                     bool per_kernel) const {
  const std::vector<StoredResult> bests = best(query, /*per_kernel=*/false);
  const std::vector<StoredResult> kernels = best(query, /*per_kernel=*/true);
  const std::vector<KernelDefaults> defaults =
      this->defaults({.space = query.space, .source = query.source});
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
    stored.times.defaults = default_variants(times, group, defaults);
    stored.times.table = std::move(times.table);
    for (const StoredResult* one : group.bests) {
      stored.times.problems.push_back(one->result.problem);
    }
    stored.variants = std::move(times.variants);
    choose(stored, most);
    if (stored.portfolio) {
      std::vector<std::int64_t> ids;
      for (std::size_t in = 0; in < cases.size(); ++in) {
        ids.push_back(times.result_ids[in][stored.portfolio->choice[in]]);
      }
      std::erase(ids, 0);
      stored.chosen = results_of(ids, query);
    }
    portfolios.push_back(std::move(stored));
  }
  return portfolios;
}

}  // namespace smemtune::db
