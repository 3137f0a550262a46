#include "tuner/core/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace smemtune {
namespace {

/// A valley along the first feature; the second feature is uninformative.
double height(float x) { return std::cos(6 * static_cast<double>(x)); }

std::vector<std::vector<float>> grid() {
  std::vector<std::vector<float>> places;
  for (int x = 0; x <= 20; ++x) {
    for (int y = 0; y <= 4; ++y) {
      places.push_back({static_cast<float>(x) / 20, static_cast<float>(y) / 4});
    }
  }
  return places;
}

std::vector<GaussianProcess::Sample> samples(std::size_t count) {
  const std::vector<std::vector<float>> places = grid();
  std::vector<GaussianProcess::Sample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<float>& place = places[i * 31 % places.size()];
    samples.push_back({.features = place, .value = height(place[0])});
  }
  return samples;
}

std::size_t most_promising(const GaussianProcess& process, std::size_t count, double best) {
  std::size_t most = 0;
  double expected = -1;
  for (std::size_t i = 0; i < count; ++i) {
    const double one = process.expected_improvement(i, best, /*least=*/-1);
    if (!(one > expected)) continue;
    most = i;
    expected = one;
  }
  return most;
}

TEST(GaussianProcess, ExpectsMostWhereTheValleyIs) {
  RandomEngine random(1);
  GaussianProcess process;
  process.fit(samples(12), random);
  process.set_candidates(grid());
  const std::vector<float> found = grid()[most_promising(process, grid().size(), -0.5)];
  EXPECT_NEAR(std::acos(-1.0) / 6, found[0], 0.11);
}

TEST(GaussianProcess, ExpectsLessWhereItWasThanWhereItNeverWas) {
  RandomEngine random(1);
  std::vector<GaussianProcess::Sample> rough;
  for (int i = 0; i < 6; ++i) {
    rough.push_back({.features = {static_cast<float>(i) / 16}, .value = i % 2 == 0 ? 1.0 : 2.0});
  }
  GaussianProcess process;
  process.fit(rough, random);
  process.set_candidates(std::vector<std::vector<float>>{{1.F / 16}, {1.F}});
  EXPECT_LT(process.expected_improvement(0, 1, -1), process.expected_improvement(1, 1, -1));
}

TEST(GaussianProcess, ExpectsInAllPlacesWhatAFeatureDoesInSome) {
  RandomEngine random(1);
  std::vector<GaussianProcess::Sample> samples;
  for (int i = 0; i < 12; ++i) {
    const float on = static_cast<float>(i % 2);
    const float place = static_cast<float>(i - i % 2) / 40;
    samples.push_back({.features = {on, place, place}, .value = 3.0 - static_cast<double>(on)});
  }
  GaussianProcess process;
  process.fit(samples, random);
  process.set_candidates(std::vector<std::vector<float>>{{0, 1, 1}, {1, 1, 1}});
  EXPECT_LT(2 * process.expected_improvement(0, 2, -1), process.expected_improvement(1, 2, -1));
}

TEST(GaussianProcess, ExpectsOfItsNoiseWhatIsAskedForEvenWhereSamplesExplainTheMean) {
  RandomEngine random(1);
  std::vector<GaussianProcess::Sample> noisy;
  for (int i = 0; i < 40; ++i)
    noisy.push_back({.features = {0.5F}, .value = i % 2 == 0 ? 1.0 : 2.0});
  GaussianProcess process;
  process.fit(noisy, random);
  process.set_candidates(std::vector<std::vector<float>>{{0.5F}});
  const double without = process.expected_improvement(0, 1, -1);
  const double half = process.expected_improvement(0, 1, -1, /*doubt=*/1, /*noise_share=*/0.5);
  EXPECT_LT(2 * without, half);
  EXPECT_LT(half, process.expected_improvement(0, 1, -1, /*doubt=*/1, /*noise_share=*/1));
}

TEST(GaussianProcess, LearnsOneByOneWhatItLearnsAtOnce) {
  RandomEngine random(1);
  GaussianProcess at_once;
  at_once.fit(samples(30), random);
  // The lengths are the same: those of the first fit, because nothing better is found for one
  // sample.
  GaussianProcess one_by_one = at_once;
  at_once.set_candidates(grid());
  one_by_one.set_candidates(grid());
  const std::vector<GaussianProcess::Sample> more = samples(45);
  for (std::size_t i = 30; i < more.size(); ++i) {
    at_once.add(more[i]);
    one_by_one.add(more[i]);
  }
  at_once.set_candidates(grid());  // All samples are applied anew.
  for (std::size_t i = 0; i < grid().size(); ++i) {
    EXPECT_NEAR(at_once.expected_improvement(i, -0.9, -1),
                one_by_one.expected_improvement(i, -0.9, -1), 1e-5);
  }
}

TEST(GaussianProcess, LeavesOutOnlyWhatIsExpectedToBringLess) {
  RandomEngine random(1);
  GaussianProcess process;
  process.fit(samples(20), random);
  process.set_candidates(grid());
  for (std::size_t i = 0; i < grid().size(); ++i) {
    const double exact = process.expected_improvement(i, -0.8, -1);
    for (const double least : {1e-6, 1e-3, 0.05}) {
      const double found = process.expected_improvement(i, -0.8, least);
      if (exact > least) {
        EXPECT_EQ(exact, found);
      } else {
        EXPECT_TRUE(found == 0 || found == exact);
      }
    }
  }
}

TEST(GaussianProcess, TakesSamplesThatAreAllTheSame) {
  RandomEngine random(1);
  GaussianProcess process;
  process.fit(std::vector<GaussianProcess::Sample>(5, {.features = {0.5F}, .value = 2}), random);
  process.set_candidates(std::vector<std::vector<float>>{{0.5F}, {0.F}});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::isfinite(process.expected_improvement(i, 2, -1)));
  }
  EXPECT_EQ(1, process.likeness(std::vector<float>{0.5F}, std::vector<float>{0.5F}));
}

}  // namespace
}  // namespace smemtune
