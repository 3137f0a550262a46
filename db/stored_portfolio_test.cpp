#include "db/stored_portfolio.h"

#include "db/planted_results_test_support.h"
#include "db/result_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace smemtune::db {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class StoredPortfolios : public testing::Test {
 protected:
  /// Stores results where TILE=1 is the best for small sizes, TILE=2 for large ones, and TILE=9 is
  /// 20 % slower everywhere; each size also has its own tile, which is one per cent faster.
  void plant(const std::vector<std::int64_t>& sizes, std::int64_t small_up_to) {
    const auto log = store_.begin_run(planted_run(planted_device("A"), "run"));
    for (const std::int64_t n : sizes) {
      const bool is_small = n <= small_up_to;
      const auto best_ms = static_cast<double>(n);
      log->record("hash", planted(tile(1), best_ms * (is_small ? 1.01 : 2), n));
      log->record("hash", planted(tile(2), best_ms * (is_small ? 3 : 1.01), n));
      log->record("hash", planted(tile(9), best_ms * 1.2, n));
      log->record("hash", planted(tile(n), best_ms, n));
    }
  }

  ResultStore store_{":memory:"};
};

std::vector<std::string> keys(const std::vector<StoredResult>& results) {
  std::vector<std::string> keys;
  for (const StoredResult& one : results) {
    keys.push_back(key(one.result.problem) + " " + key(one.result.configuration));
  }
  return keys;
}

TEST_F(StoredPortfolios, ShareTheProblemsOut) {
  plant({100, 200, 3000, 4000}, 200);
  const auto one = store_.portfolios({}, 1, false);
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_NEAR(one[0].portfolio.value().mean_percent, 20, 1e-6);
  const auto two = store_.portfolios({}, 2, false);
  EXPECT_THAT(keys(two.at(0).chosen),
              ElementsAre("N=100,T=float TILE=1", "N=200,T=float TILE=1", "N=3000,T=float TILE=2",
                          "N=4000,T=float TILE=2"));
  EXPECT_NEAR(two[0].portfolio.value().mean_percent, 1, 1e-6);
  EXPECT_NEAR(two[0].portfolio.value().worst_percent, 1, 1e-6);
}

TEST_F(StoredPortfolios, SayWhatSizesThatAreHeldBackLose) {
  plant({100, 200, 400, 800, 3000, 6000, 12000, 24000}, 800);
  const std::vector<PortfolioSize> sizes = portfolio_sizes(store_.portfolios({}, 2, false).at(0));
  ASSERT_THAT(sizes, SizeIs(9));
  EXPECT_NEAR(sizes[0].portfolio.value().mean_percent, 20, 1e-6);
  EXPECT_NEAR(sizes[1].portfolio.value().mean_percent, 1, 1e-6);
  // Each size gets the configuration of its neighbor, which is the right one of the two.
  EXPECT_NEAR(sizes[1].held_back.value().mean_percent, 1, 1e-6);
  EXPECT_EQ(sizes[1].held_back->cases, 8u);
  EXPECT_EQ(sizes[8].most, 0u);
  EXPECT_NEAR(sizes[8].portfolio.value().mean_percent, 0, 1e-6);
  EXPECT_FALSE(sizes[8].held_back) << "a size's own tile was not measured on the others";
}

TEST_F(StoredPortfolios, AreNoneWhereNothingRunsEverywhere) {
  const auto log = store_.begin_run(planted_run(planted_device("A"), "run"));
  log->record("hash", planted(tile(1), 1, 100));
  log->record("hash", planted_failure(tile(1), 200));
  log->record("hash", planted(tile(2), 1, 200));
  log->record("hash", planted_failure(tile(2), 100));
  const StoredPortfolio one = store_.portfolios({}, 1, false).at(0);
  EXPECT_FALSE(one.portfolio);
  EXPECT_THAT(one.chosen, IsEmpty());
  EXPECT_EQ(store_.portfolios({}, 2, false).at(0).portfolio.value().mean_percent, 0);
}

TEST_F(StoredPortfolios, ArePredictedWhereWinnersWereNotMeasuredForOtherProblems) {
  const auto log = store_.begin_run(planted_run(planted_device("A"), "run"));
  Result fallback = planted(tile(3), 2, 100);
  fallback.is_default = true;
  log->record("hash", fallback);
  log->record("hash", planted(tile(1), 1, 100));
  log->record("hash", planted(tile(2), 1, 120));
  const StoredPortfolio one = store_.portfolios({}, 1, false).at(0);
  EXPECT_TRUE(one.is_predicted);
  ASSERT_TRUE(one.portfolio);
  EXPECT_EQ(one.variants.at(one.portfolio->choice.at(1)).configuration, tile(1));
  EXPECT_THAT(keys(one.chosen), ElementsAre("N=100,T=float TILE=1"));
  EXPECT_FALSE(store_.portfolios({}, 2, false).at(0).is_predicted);
}

TEST_F(StoredPortfolios, OfAKernelAreHeldAgainstTheBestOfAll) {
  const auto log = store_.begin_run(planted_run(planted_device("A"), "run"));
  for (const std::int64_t n : {100, 200}) {
    log->record("hash", planted(tile(1), 1, n));
    Result naive = planted(tile(1), 3, n);
    naive.kernel = "naive";
    log->record("hash", naive);
  }
  const auto each = store_.portfolios({}, 1, /*per_kernel=*/true);
  ASSERT_THAT(each, SizeIs(2));
  EXPECT_EQ(each[0].chosen.at(0).result.kernel, "naive");
  EXPECT_NEAR(each[0].portfolio.value().mean_percent, 200, 1e-6);
  EXPECT_NEAR(each[1].portfolio.value().mean_percent, 0, 1e-6);
}

}  // namespace
}  // namespace smemtune::db
