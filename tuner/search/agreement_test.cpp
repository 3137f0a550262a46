#include "tuner/search/agreement.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

Ranking ranking_of(ConfigurationIndex size) {
  Ranking ranking = {.device = "elsewhere", .fastest_first = {}};
  for (ConfigurationIndex i = 0; i < size; ++i) {
    ranking.fastest_first.push_back({.time_ms = 1 + static_cast<double>(i), .configuration = i});
  }
  return ranking;
}

TEST(Agreement, IsAllForTheSameOrderAndNoneForTheReverse) {
  Agreement same(ranking_of(100));
  Agreement reverse(ranking_of(100));
  const double before = same.share();
  EXPECT_GT(before, 0.75) << "nothing speaks against it yet";
  for (ConfigurationIndex i = 0; i < 100; i += 7) {
    same.tell(i, 1.0 + static_cast<double>(i));
    reverse.tell(i, 1.0 - static_cast<double>(i) / 100);
  }
  EXPECT_GT(same.share(), 0.99);
  EXPECT_LT(reverse.share(), 0.05);
}

TEST(Agreement, CountsPairsByHowFarApartTheyAreThere) {
  Agreement near(ranking_of(100));
  near.tell(50, 2);
  near.tell(51, 1);
  Agreement far(ranking_of(100));
  far.tell(0, 2);
  far.tell(99, 1);
  EXPECT_GT(near.share(), 0.85);
  EXPECT_LT(far.share(), 0.4);
}

TEST(Agreement, TakesFailuresForTheSlowestAndLeavesOutWhatIsNotKnownThere) {
  Agreement agreement(ranking_of(10));
  const double before = agreement.share();
  agreement.tell(100, 1);
  agreement.tell(9, std::nullopt);
  agreement.tell(8, std::nullopt);
  EXPECT_EQ(before, agreement.share()) << "of two that fail none is faster";
  agreement.tell(0, 1);
  EXPECT_GT(agreement.share(), before);
  Agreement wrong(ranking_of(10));
  wrong.tell(0, std::nullopt);
  wrong.tell(9, 1);
  EXPECT_LT(wrong.share(), before);
}

}  // namespace
}  // namespace smemtune
