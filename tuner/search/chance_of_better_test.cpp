#include "tuner/search/chance_of_better.h"

#include "tuner/search/replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace smemtune {
namespace {

TEST(ChanceOfBetter, OfBlindSearchIsWhatWasNotLookedAt) {
  ChanceOfBetter chance;
  EXPECT_EQ(chance.after(100, false), std::nullopt);
  chance.tell(std::nullopt);
  EXPECT_EQ(chance.after(100, false), std::nullopt);
  for (int i = 0; i < 24; ++i) chance.tell(1);
  EXPECT_EQ(chance.last_gain(), 2u);
  EXPECT_DOUBLE_EQ(*chance.after(100, false), 0.75);
  EXPECT_DOUBLE_EQ(*chance.after(25, false), 0);
}

TEST(ChanceOfBetter, FallsWhileNothingBetterIsFound) {
  ChanceOfBetter chance;
  for (int i = 0; i < 20; ++i) chance.tell(2);
  for (int i = 0; i < 100; ++i) chance.tell(1.985);
  EXPECT_EQ(chance.last_gain(), 1u) << "less than one per cent is none";
  EXPECT_NEAR(*chance.after(1'000'000, true), 0.2 + 0.8 * 11 / 120, 1e-4);
  chance.tell(1.9);
  EXPECT_EQ(chance.last_gain(), 121u);
  EXPECT_NEAR(*chance.after(1'000'000, true), 1, 1e-3);
}

/// Returns 2,058 configurations whose times depend on their parameters in a rugged way.
RecordedKernel rugged_kernel(std::uint64_t seed) {
  std::vector<Parameter> parameters;
  for (const char* name : {"A", "B", "C", "D", "E"}) {
    Parameter parameter{.name = name, .values = {}};
    for (std::int64_t i = 0; i < (parameter.name < "D" ? 7 : 2) + (parameter.name == "E"); ++i) {
      parameter.values.emplace_back(std::int64_t{1} << i);
    }
    parameters.push_back(std::move(parameter));
  }
  RecordedKernel kernel = {.space = SearchSpace(parameters, {}), .answers = {}};
  RandomEngine random(seed);
  const double best[] = {6 * uniform(random), 6 * uniform(random), 6 * uniform(random)};
  for (ConfigurationIndex i = 0; i < kernel.space.size(); ++i) {
    const std::vector<std::size_t> at = kernel.space.value_indices(i);
    double time_ms = 1 + 0.3 * static_cast<double>(at[3]) + 0.1 * static_cast<double>(at[4]);
    for (std::size_t p = 0; p < 3; ++p) {
      time_ms += 0.1 * std::abs(static_cast<double>(at[p]) - best[p]) *
                 (1 + static_cast<double>(at[(p + 1) % 3] % 3));
    }
    RecordedKernel::Answer answer;
    answer.time_ms = time_ms * (1 + 0.2 * uniform(random));
    kernel.answers.push_back(answer);
  }
  return kernel;
}

TEST(ChanceOfBetter, HoldsWhereSearchesAreReplayed) {
  for (const std::string strategy : {"random", "forest"}) {
    std::size_t runs = 0;
    std::size_t better = 0;
    double said = 0;
    std::size_t sure = 0;
    std::size_t wrong = 0;
    const bool is_slow = strategy == "forest";
    const std::uint64_t seeds = is_slow ? 3 : 12;
    const std::uint64_t evaluations = is_slow ? 100 : 2000;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const RecordedKernel kernel = rugged_kernel(seed % 6);
      const auto told =
          replay(kernel, {.strategy = strategy, .seed = seed, .evaluations = evaluations});
      for (const std::size_t n : {50u, 100u, 200u, 300u, 2000u}) {
        if (n > told.size()) continue;
        const bool is_better_left = told[n - 1].share * 1.01 < 1;
        ++runs;
        if (is_better_left) ++better;
        said += told[n - 1].chance;
        if (told[n - 1].chance > 0.1) continue;
        ++sure;
        if (is_better_left) ++wrong;
      }
    }
    EXPECT_TRUE(sure > 0 || is_slow) << "it looks at most of the space";
    EXPECT_LE(static_cast<double>(better), said + 0.1 * static_cast<double>(runs)) << strategy;
    EXPECT_LE(static_cast<double>(wrong), 1 + 0.15 * static_cast<double>(sure)) << strategy;
  }
}

}  // namespace
}  // namespace smemtune
