#include "tuner/core/size_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace smemtune {
namespace {

const Bindings kDevice = {{"sm_count", std::int64_t{100}}};

std::vector<float> features(const LaunchTexts& texts, std::int64_t tile, std::int64_t n) {
  const Configuration configuration = {{"TILE", tile}};
  const Problem problem = {{"N", n}};
  const LaunchFeatures launches(texts, configuration, problem);
  std::vector<float> row;
  launches.append_to(row, configuration, problem, kDevice);
  EXPECT_EQ(launches.count(), row.size());
  return row;
}

TEST(LaunchFeatures, AreBlocksThreadsTheShareOfBusyMultiprocessorsAndWorkForEach) {
  const LaunchTexts texts = {.blocks = {"(1)", "(ceil_div(N, TILE)) * (2)"},
                             .threads = {"32", "(TILE) * (2)"},
                             .metrics = {{"bytes", "8 * N"}}};
  const std::vector<float> row = features(texts, 64, 6400);
  ASSERT_EQ(6U, row.size());
  EXPECT_FLOAT_EQ(std::log2(200.F), row[0]);
  EXPECT_FLOAT_EQ(1, row[1]);
  EXPECT_FLOAT_EQ(128, row[2]);
  EXPECT_FLOAT_EQ(std::log2(200 * 128.F), row[3]);
  EXPECT_FLOAT_EQ(std::log2(8 * 6400 / 200.F), row[4]);
  EXPECT_FLOAT_EQ(std::log2(8 * 6400 / (200 * 128.F)), row[5]);
  EXPECT_FLOAT_EQ(202 / 300.F, features(texts, 64, 6401)[1]);
}

TEST(LaunchFeatures, CountThePartsOfBlocksThatTakeOneAfterTheOther) {
  EXPECT_FLOAT_EQ(
      10, features({.blocks = {"min(sm_count, ceil_div(N, TILE))"}, .threads = {}, .metrics = {}},
                   4, 4096)[0]);
  EXPECT_FLOAT_EQ(std::log2(200.F),
                  features({.blocks = {"2 * sm_count"}, .threads = {}, .metrics = {}}, 4, 4096)[0]);
}

TEST(LaunchFeatures, AreUnknownWhereNothingSaysThem) {
  EXPECT_EQ((std::vector<float>{-1, -1, -1, -1}), features({}, 4, 4096));
  EXPECT_EQ(
      (std::vector<float>{-1, -1, -1, -1, 12, 12}),
      features({.blocks = {"N +"}, .threads = {"4 *"}, .metrics = {{"flops", "N"}}}, 4, 4096));
}

/// A kernel whose time is that of its waves of blocks, each of which takes as long as its tile.
struct Waves {
  static constexpr std::int64_t kTiles[] = {16, 32, 48, 64, 96, 128};

  static double ms(std::int64_t tile, std::int64_t n) {
    return std::ceil(std::ceil(static_cast<double>(n) / static_cast<double>(tile)) / 100) *
           (static_cast<double>(tile) + 8);
  }
  static double best_ms(std::int64_t n) {
    double best = std::numeric_limits<double>::infinity();
    for (const std::int64_t tile : kTiles) best = std::min(best, ms(tile, n));
    return best;
  }
  static SizeModel::Sized sized(std::int64_t tile, std::int64_t n) {
    return {.kernel = "tiled",
            .configuration = {{"TILE", tile}},
            .problem = {{"N", n}, {"T", "float"}}};
  }

  static SizeModel model(std::int64_t step) {
    std::vector<SizeModel::Measured> measured;
    for (std::int64_t n = 1000; n < 40'000; n += step) {
      for (const std::int64_t tile : kTiles) {
        measured.push_back({.of = sized(tile, n), .to_best = ms(tile, n) / best_ms(n)});
      }
    }
    const SizeModel::Sized& first = measured.front().of;
    const LaunchTexts texts = {
        .blocks = {"ceil_div(N, TILE)"}, .threads = {"TILE"}, .metrics = {{"bytes", "4 * N"}}};
    return {
        measured, {{"tiled", LaunchFeatures(texts, first.configuration, first.problem)}}, kDevice};
  }
};

TEST(SizeModel, KnowsWhichTileFillsTheLastWave) {
  const SizeModel model = Waves::model(331);
  EXPECT_EQ(118U, model.problems());
  double loss = 0;
  double loss_of_one = 0;
  int count = 0;
  for (std::int64_t n = 1100; n < 39'000; n += 977, ++count) {
    const std::int64_t chosen = *std::ranges::min_element(
        Waves::kTiles, {},
        [&](std::int64_t tile) { return model.log_to_best(Waves::sized(tile, n)); });
    loss += Waves::ms(chosen, n) / Waves::best_ms(n) - 1;
    loss_of_one += Waves::ms(128, n) / Waves::best_ms(n) - 1;
  }
  EXPECT_LT(loss / count, 0.03);
  EXPECT_GT(loss_of_one / count, 0.1);
}

TEST(SizeModel, TakesKernelsAndWordsThatWereNotMeasured) {
  const SizeModel model = Waves::model(3001);
  SizeModel::Sized other = Waves::sized(16, 5000);
  other.kernel = "another";
  other.problem["T"] = "double";
  EXPECT_TRUE(std::isfinite(model.log_to_best(other)));
}

TEST(SizeModel, CountsWhatDoesNotRunAsSlow) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<SizeModel::Measured> measured;
  for (std::int64_t n = 1; n <= 20; ++n) {
    measured.push_back({.of = Waves::sized(16, n), .to_best = 1});
    measured.push_back({.of = Waves::sized(32, n), .to_best = kInfinity});
  }
  const SizeModel model(measured, {}, kDevice);
  EXPECT_NEAR(0, model.log_to_best(Waves::sized(16, 7)), 0.05);
  EXPECT_NEAR(std::log(1.5), model.log_to_best(Waves::sized(32, 7)), 0.05);
}

}  // namespace
}  // namespace smemtune
