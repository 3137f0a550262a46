#include "tuner/core/boosted_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace smemtune {
namespace {

/// The points of a 30 x 30 grid with a third feature that is the same everywhere, and at each a wave
/// along one side times a step along the other.
struct Grid {
  std::vector<std::vector<float>> rows;
  std::vector<double> targets;

  Grid() {
    for (int x = 0; x < 30; ++x) {
      for (int y = 0; y < 30; ++y) {
        rows.push_back({static_cast<float>(x), 5, static_cast<float>(y)});
        targets.push_back(std::sin(x / 4.0) * (y < 11 ? 1 : 3));
      }
    }
  }
};

TEST(BoostedTrees, PredictWhatTheyWereFittedTo) {
  const Grid grid;
  const BoostedTrees trees(grid.rows, grid.targets);
  double squares = 0;
  for (std::size_t i = 0; i < grid.rows.size(); ++i) {
    squares += std::pow(trees(grid.rows[i]) - grid.targets[i], 2);
  }
  EXPECT_LT(std::sqrt(squares / static_cast<double>(grid.rows.size())), 0.05);
}

TEST(BoostedTrees, PredictBetweenAndBeyondTheRows) {
  const BoostedTrees trees(Grid().rows, Grid().targets);
  EXPECT_NEAR(3 * std::sin(6.5 / 4), trees(std::vector<float>{6.5, 5, 20.5}), 0.4);
  EXPECT_EQ(trees(std::vector<float>{29, 5, 29}), trees(std::vector<float>{1000, -5, 1000}));
}

TEST(BoostedTrees, AreEqualForEqualRows) {
  const Grid grid;
  const BoostedTrees one(grid.rows, grid.targets);
  const BoostedTrees other(grid.rows, grid.targets);
  for (const std::vector<float>& row : grid.rows) EXPECT_EQ(one(row), other(row));
}

TEST(BoostedTrees, OfFewRowsPredictTheirMean) {
  const BoostedTrees trees({{1}, {2}}, {4, 8});
  EXPECT_EQ(6, trees(std::vector<float>{1}));
  EXPECT_EQ(6, trees(std::vector<float>{2}));
}

}  // namespace
}  // namespace smemtune
