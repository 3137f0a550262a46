#include "tuner/search/every_kernel.h"

#include "tuner/search/chance_of_better.h"
#include "tuner/search/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>

namespace smemtune {
namespace {

SearchSpace space_of_size(std::int64_t size) {
  Parameter parameter{.name = "A", .values = {}};
  for (std::int64_t i = 0; i < size; ++i) parameter.values.emplace_back(i);
  return SearchSpace({parameter}, {});
}

Result timed(double time_ms) {
  Result result;
  result.stage = Stage::screen;
  result.measurement.median_ms = time_ms;
  return result;
}

Result failed() {
  Result result;
  result.status = Status::runtime;
  result.reason = "crash";
  return result;
}

/// Asks `count` times and tells each result of `evaluate` at once.
std::vector<Candidate> search(EveryKernel& strategy, std::size_t count,
                              const std::function<Result(const Candidate&)>& evaluate) {
  std::vector<Candidate> asked;
  while (asked.size() < count) {
    const auto candidate = strategy.ask();
    if (!candidate) break;
    asked.push_back(*candidate);
    strategy.tell(*candidate, evaluate(*candidate));
  }
  return asked;
}

std::array<std::size_t, 3> count_by_kernel(const std::vector<Candidate>& asked) {
  std::array<std::size_t, 3> counts{};
  for (const Candidate& candidate : asked) ++counts[candidate.kernel];
  return counts;
}

std::unique_ptr<KernelSearch> make_random(const SearchedKernel&, Untried& untried, std::uint64_t) {
  return std::make_unique<Random>(untried);
}

class EveryKernelTest : public testing::Test {
 protected:
  EveryKernel of_three(std::uint64_t seed) const {
    return EveryKernel({{.space = &space_, .default_configuration = 7},
                        {.space = &space_, .default_configuration = std::nullopt},
                        {.space = &space_, .default_configuration = 999}},
                       seed, make_random);
  }

  SearchSpace space_ = space_of_size(1'000);
};

TEST_F(EveryKernelTest, AsksForTheDefaultsFirstTheLastKernelsAtFirst) {
  EveryKernel strategy = of_three(1);
  EXPECT_EQ((Candidate{2, 999}), strategy.ask());
  EXPECT_EQ((Candidate{0, 7}), strategy.ask());
}

TEST_F(EveryKernelTest, GivesEveryKernelItsMinimumEvenWhenItFails) {
  EveryKernel strategy = of_three(1);
  const auto asked = search(strategy, 24, [](const Candidate& candidate) {
    return candidate.kernel == 0 ? timed(1) : failed();
  });
  EXPECT_EQ((std::array<std::size_t, 3>{8, 8, 8}), count_by_kernel(asked));
}

TEST_F(EveryKernelTest, SpendsAShortBudgetNearTheBest) {
  EveryKernel strategy = of_three(1);
  const std::array<double, 3> times_ms = {9, 1, 1.5};
  const auto asked = search(
      strategy, 17, [&](const Candidate& candidate) { return timed(times_ms[candidate.kernel]); });
  EXPECT_EQ((std::array<std::size_t, 3>{1, 8, 8}), count_by_kernel(asked));
  const auto rest = search(strategy, 7, [](const Candidate&) { return timed(9); });
  EXPECT_EQ((std::array<std::size_t, 3>{7, 0, 0}), count_by_kernel(rest));
}

TEST_F(EveryKernelTest, AsksOfKernelsThatAreKnownElsewhereBeforeOthers) {
  EveryKernel strategy({{.space = &space_, .default_configuration = 7},
                        {.space = &space_,
                         .default_configuration = 8,
                         .rankings = {{.device = "another size",
                                       .fastest_first = {{.time_ms = 1, .configuration = 9}}}}}},
                       1, make_random);
  const auto asked = search(strategy, 4, [](const Candidate&) { return timed(1); });
  EXPECT_EQ(asked[2].kernel, 1u);
  EXPECT_EQ(asked[3].kernel, 0u);
}

TEST_F(EveryKernelTest, TakesAllOfASmallKernelForItsMinimum) {
  const SearchSpace tiny = space_of_size(3);
  EveryKernel strategy({{.space = &space_, .default_configuration = std::nullopt},
                        {.space = &tiny, .default_configuration = 0}},
                       1, make_random);
  const auto asked = search(strategy, 11, [](const Candidate&) { return timed(1); });
  EXPECT_EQ((std::array<std::size_t, 3>{8, 3, 0}), count_by_kernel(asked));
}

TEST_F(EveryKernelTest, DrawsKernelsByTheCubeOfTheirSpeed) {
  EveryKernel strategy = of_three(1);
  const std::array<double, 3> times_ms = {2, 1, 2.1};
  const auto asked = search(strategy, 24 + 700, [&](const Candidate& candidate) {
    return timed(times_ms[candidate.kernel]);
  });
  const auto counts = count_by_kernel(asked);
  // Weights 1/8, 1 and 1/20: 74, 592 and 33 of 700; the deviation is below 4 sigma.
  EXPECT_NEAR(82, static_cast<double>(counts[0]), 33);
  EXPECT_NEAR(600, static_cast<double>(counts[1]), 38);
  EXPECT_NEAR(41, static_cast<double>(counts[2]), 22);
}

TEST_F(EveryKernelTest, ExhaustsEveryKernelInTheEnd) {
  EveryKernel strategy = of_three(1);
  auto asked = search(strategy, 10'000, [](const Candidate& candidate) {
    return candidate.kernel == 1 ? failed() : timed(candidate.kernel == 0 ? 1 : 1e6);
  });
  EXPECT_EQ(3'000u, asked.size());
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked.end(), std::adjacent_find(asked.begin(), asked.end()));
}

TEST_F(EveryKernelTest, RepeatsForASeedAndTheSameResults) {
  const auto evaluate = [](const Candidate& candidate) {
    return candidate.configuration % 5 == 0
               ? failed()
               : timed(1 + static_cast<double>(candidate.configuration % 17));
  };
  EveryKernel first = of_three(42);
  EveryKernel second = of_three(42);
  EveryKernel other = of_three(43);
  const auto asked = search(first, 500, evaluate);
  EXPECT_EQ(asked, search(second, 500, evaluate));
  EXPECT_NE(asked, search(other, 500, evaluate));
}

TEST_F(EveryKernelTest, CanBeAskedFarAheadOfBeingTold) {
  EveryKernel strategy = of_three(1);
  std::vector<Candidate> asked;
  for (int i = 0; i < 200; ++i) asked.push_back(*strategy.ask());
  for (const Candidate& candidate : asked) strategy.tell(candidate, timed(1));
  while (const auto candidate = strategy.ask()) asked.push_back(*candidate);
  EXPECT_EQ(3'000u, asked.size());
}

TEST_F(EveryKernelTest, LeavesAKernelThatCannotWinWhileAnotherHasSomethingUntried) {
  EveryKernel strategy = of_three(1);
  std::array<std::size_t, 3> counts{};
  for (std::size_t i = 0; i < 1'000; ++i) {
    const auto asked = strategy.ask();
    ASSERT_TRUE(asked);
    ++counts[asked->kernel];
    const double ahead = asked->kernel == 0 ? 1 : 1e6;
    strategy.tell(*asked, timed(ahead + 0.01 * static_cast<double>(i % 7)));
    if (i % 4 == 3) {
      EXPECT_TRUE(strategy.chance_of_better(1.01));
    }
  }
  EXPECT_GT(counts[0], 950u);
  EXPECT_GE(counts[1], 6u);
  const auto rest = search(strategy, 5'000, [](const Candidate&) { return timed(1e6); });
  EXPECT_EQ(rest.size(), 2'000u) << "it is evaluated when nothing else is left";
}

TEST_F(EveryKernelTest, AsksLittleOfAKernelWithLittleToHideThatIsFarBehind) {
  const SearchSpace small = space_of_size(12);
  const LaunchCost cost = [](ConfigurationIndex, int) { return 1.0; };
  const auto asked_of_small = [&](double times, bool has_costs) {
    EveryKernel strategy(
        {{.space = &space_, .default_configuration = 7},
         {.space = &small, .default_configuration = 0, .cost = has_costs ? cost : LaunchCost()}},
        1, make_random);
    const auto asked = search(strategy, 100, [&](const Candidate& candidate) {
      return timed(candidate.kernel == 0 ? 1 : times);
    });
    return count_by_kernel(asked)[1];
  };
  EXPECT_LE(asked_of_small(7, true), 4u);
  EXPECT_LT(asked_of_small(7, true), asked_of_small(7, false)) << "less is known without costs";
  EXPECT_GE(asked_of_small(1.1, true), 8u);
}

TEST_F(EveryKernelTest, EstimatesKernelsThatAreNearTogether) {
  const auto chance_after = [&](const std::array<double, 3>& times_ms, std::size_t evaluations) {
    EveryKernel strategy = of_three(1);
    search(strategy, evaluations,
           [&](const Candidate& candidate) { return timed(times_ms[candidate.kernel]); });
    return *strategy.chance_of_better(1.01);
  };
  EXPECT_DOUBLE_EQ(
      chance_after({1, 1, 1}, 600),
      chance_of_better(
          {.kernels = 3, .untried = 2'400, .evaluated = 600, .since_gain = 599, .expected = 9}));
  EXPECT_LT(chance_after({1, 50, 50}, 600), chance_after({1, 1, 1}, 600))
      << "those far behind hardly count";
  EXPECT_GT(chance_after({1, 1.5, 1.5}, 30), chance_after({1, 50, 50}, 30));
}

}  // namespace
}  // namespace smemtune
