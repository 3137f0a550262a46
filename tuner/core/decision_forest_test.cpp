#include "tuner/core/decision_forest.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace smemtune {
namespace {

using Row = std::array<float, 3>;

/// The points of a 10 x 10 grid, with a third feature that is uninformative; positive if both
/// coordinates are above 6.
struct Corner {
  std::vector<Row> rows;
  std::vector<DecisionForest::Sample> samples;

  explicit Corner(std::uint64_t seed) {
    RandomEngine random(seed);
    for (int x = 0; x < 10; ++x) {
      for (int y = 0; y < 10; ++y) {
        rows.push_back(
            {static_cast<float>(x), static_cast<float>(uniform(random)), static_cast<float>(y)});
      }
    }
    for (const Row& row : rows) {
      samples.push_back({.features = row, .positive = row[0] > 6 && row[2] > 6});
    }
  }
};

TEST(DecisionForest, KnowsWhatItWasTaught) {
  const Corner corner(1);
  RandomEngine random(1);
  const DecisionForest forest(corner.samples, 20, random);
  for (const DecisionForest::Sample& sample : corner.samples) {
    EXPECT_EQ(sample.positive ? 1 : 0, forest.score(sample.features));
  }
}

TEST(DecisionForest, PutsWhatItHasNotSeenWithItsNeighbors) {
  const Corner corner(2);
  RandomEngine random(2);
  const DecisionForest forest(corner.samples, 50, random);
  EXPECT_GT(forest.score(Row{8.4F, .5F, 8.6F}), .8);
  EXPECT_GT(forest.score(Row{20, .5F, 20}), .8);
  EXPECT_LT(forest.score(Row{2.5F, .5F, 8.5F}), .2);
  EXPECT_LT(forest.score(Row{8.5F, .5F, 2.5F}), .2);
}

TEST(DecisionForest, LeavesOutOnlyWhatScoresNoMore) {
  const Corner corner(5);
  RandomEngine random(5);
  const DecisionForest forest(corner.samples, 30, random);
  for (float x = 0; x < 10; x += 0.3F) {
    const Row place = {x, .5F, 9 - x / 3};
    const double exact = forest.score(place);
    for (const double least : {0.0, 0.1, 0.5, 0.9}) {
      const double found = forest.score(place, least);
      if (exact > least + 1e-9) {
        EXPECT_DOUBLE_EQ(exact, found);
      } else {
        EXPECT_TRUE(found == 0 || found == exact);
      }
    }
  }
}

TEST(DecisionForest, CountsWeightsWhereClassesCannotBeToldApart) {
  const Row same = {1, 2, 3};
  const std::vector<DecisionForest::Sample> samples = {
      {.features = same, .positive = true, .weight = 3}, {.features = same, .weight = 1}};
  RandomEngine random(3);
  EXPECT_DOUBLE_EQ(.75, DecisionForest(samples, 4, random).score(same));
}

TEST(DecisionForest, RepeatsForASeed) {
  const Corner corner(4);
  const Row between = {6.5F, .5F, 6.5F};
  const auto score = [&](std::uint64_t seed) {
    RandomEngine random(seed);
    return DecisionForest(corner.samples, 9, random).score(between);
  };
  EXPECT_EQ(score(1), score(1));
  std::set<double> scores;
  for (std::uint64_t seed = 0; seed < 20; ++seed) scores.insert(score(seed));
  EXPECT_GT(scores.size(), 3u);
}

}  // namespace
}  // namespace smemtune
