#include "tuner/search/chance_of_better.h"

#include "tuner/search/chance_follower.h"
#include "tuner/search/replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace smemtune {
namespace {

TEST(ChanceOfBetter, FallsWithEvaluationsAndWithWhatTheModelExpects) {
  const auto chance = [](const SearchedSoFar& searched) { return chance_of_better(searched); };
  const SearchedSoFar unknown = {.untried = 9'800, .evaluated = 200, .since_gain = 200};
  EXPECT_GT(chance(unknown), 0.1) << "no model knows of anything";
  SearchedSoFar expects = unknown;
  expects.expected = 0.01;
  EXPECT_GT(chance(unknown), chance(expects));
  SearchedSoFar fewer = expects;
  fewer.evaluated = 100;
  EXPECT_GT(chance(fewer), chance(expects));
  SearchedSoFar gained = unknown;
  gained.since_gain = 1;
  EXPECT_GT(chance(gained), chance(unknown));
  EXPECT_EQ(chance({.untried = 9'800, .evaluated = 236, .since_gain = 180, .in_flight = 36}),
            chance({.untried = 9'800, .evaluated = 200, .since_gain = 144}))
      << "no question whose answer is known could follow from the latest 36 results";
  EXPECT_LT(chance({.untried = 9'980, .evaluated = 20, .in_flight = 36}), 1);
  expects.expected = 4'000;
  EXPECT_EQ(chance(expects), chance(unknown));
  EXPECT_EQ(chance({.untried = 0, .evaluated = 200}), 0) << "nothing is left";
}

TEST(ChanceOfBetter, FallsWithWhatIsKnownElsewhere) {
  const auto known = [](double share) {
    return chance_of_better({.untried = 9'800, .evaluated = 200, .known_elsewhere = share});
  };
  EXPECT_LT(known(0.5), known(0));
  EXPECT_LT(known(1), known(0.5));
  const auto odds = [](double chance) { return chance / (1 - chance); };
  EXPECT_NEAR(odds(known(1)) / odds(known(0)), std::exp(-0.3), 1e-12);
}

TEST(ChanceOfBetter, FallsWhereCostsArePredicted) {
  SearchedSoFar searched = {.untried = 9'800, .evaluated = 200, .expected = 1};
  const double without = chance_of_better(searched);
  searched.has_costs = true;
  const auto odds = [](double chance) { return chance / (1 - chance); };
  EXPECT_NEAR(odds(chance_of_better(searched)) / odds(without), std::exp(-0.6), 1e-12);
}

TEST(ChanceOfBetter, GrowsWithTheKernelsThatMayHoldIt) {
  const SearchedSoFar one = {.untried = 9'800, .evaluated = 200, .expected = 1};
  SearchedSoFar four = one;
  four.kernels = 4;
  EXPECT_GT(chance_of_better(four), chance_of_better(one));
}

TEST(ChanceOfKernelBehind, FallsWithEvaluationsAndWithHowFarBehindAKernelIs) {
  const KernelBehind kernel = {.times = 1.5, .untried = 1'000, .evaluated = 32};
  const auto chance_with = [&kernel](const auto& change) {
    KernelBehind changed = kernel;
    change(changed);
    return chance_of_kernel_behind(changed);
  };
  const double chance = chance_of_kernel_behind(kernel);
  EXPECT_LT(chance_with([](KernelBehind& its) { its.times = 3; }), chance);
  EXPECT_LT(chance_with([](KernelBehind& its) { its.evaluated = 64; }), chance);
  EXPECT_LT(chance_with([](KernelBehind& its) { its.untried = 100; }), chance);
  EXPECT_LT(chance_with([](KernelBehind& its) { its.has_costs = true; }), chance);
  EXPECT_EQ(chance_with([](KernelBehind& its) { its.untried = 0; }), 0);
  const double hidden = chance_with([](KernelBehind& its) { its.times = 1'000; });
  EXPECT_GT(hidden, 0.0005) << "the best may hide";
  EXPECT_LT(hidden, 0.003);
}

TEST(ChanceOfBetter, IsForetoldToFallAsItDoes) {
  EXPECT_EQ(evaluations_until(0.04, 0.05, 300), 300);
  const auto after = [](std::uint64_t evaluated) {
    return chance_of_better(
        {.untried = 1'000'000'000, .evaluated = evaluated, .since_gain = evaluated});
  };
  const auto foretold = static_cast<std::uint64_t>(evaluations_until(after(300), kSureChance, 300));
  EXPECT_NEAR(after(foretold), kSureChance, 0.005);
}

TEST(LastGain, IsTheLastOfMoreThanOnePercent) {
  LastGain gains;
  gains.tell(std::nullopt);
  EXPECT_EQ(gains.last_gain(), 0u);
  for (int i = 0; i < 20; ++i) gains.tell(2);
  for (int i = 0; i < 100; ++i) gains.tell(1.985);
  EXPECT_EQ(gains.last_gain(), 2u) << "less than one per cent is none";
  gains.tell(1.9);
  EXPECT_EQ(gains.last_gain(), 122u);
  EXPECT_EQ(gains.evaluations(), 122u);
}

/// Counts how often it is asked.
class Asked final : public Strategy {
 public:
  std::optional<Candidate> ask() override { return std::nullopt; }
  void tell(const Candidate&, const Result&) override {}
  std::optional<double> chance_of_better(double) override { return 1.0 / ++asked; }
  int asked = 0;
};

TEST(ChanceFollower, SaysOfBlindSearchWhatWasNotLookedAt) {
  Asked strategy;
  ChanceFollower chance(strategy, 100, false);
  chance.tell(std::nullopt);
  EXPECT_EQ(chance.now(), std::nullopt) << "nothing was timed";
  for (int i = 0; i < 24; ++i) chance.tell(1);
  EXPECT_DOUBLE_EQ(*chance.now(), 0.75);
  EXPECT_EQ(strategy.asked, 0);
}

TEST(ChanceFollower, AsksAStrategyThatLearnsAfterEveryFourthResult) {
  Asked strategy;
  ChanceFollower chance(strategy, 12, true);
  for (int i = 0; i < 11; ++i) chance.tell(1);
  EXPECT_EQ(strategy.asked, 2);
  EXPECT_DOUBLE_EQ(*chance.now(), 0.5);
  chance.tell(1);
  EXPECT_DOUBLE_EQ(*chance.now(), 0) << "all were evaluated";
}

TEST(ChanceFollower, AsksNothingWhereNoEstimateIsWanted) {
  Asked strategy;
  ChanceFollower chance(strategy, 100, true);
  for (int i = 0; i < 8; ++i) chance.tell(1, false);
  EXPECT_EQ(strategy.asked, 0);
  EXPECT_EQ(chance.now(), std::nullopt);
  EXPECT_EQ(chance.last_gain().evaluations(), 8u) << "all are counted";
}

TEST(ChanceFollower, KnowsNothingOfASpaceThatIsNotCounted) {
  Asked strategy;
  ChanceFollower chance(strategy, std::nullopt, true);
  for (int i = 0; i < 100; ++i) chance.tell(1);
  EXPECT_EQ(chance.now(), std::nullopt);
  EXPECT_EQ(chance.last_gain().last_gain(), 1u);
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

/// Returns the numbers of searches that would have ended by themselves, and of those that were
/// wrong.
ReplayStatistics::Ended ended(std::uint64_t seeds, const auto& kernel_of) {
  std::vector<std::vector<Replayed>> runs;
  std::optional<RecordedKernel> kernel;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    kernel = kernel_of(seed);
    runs.push_back(replay(*kernel, {.strategy = "auto", .seed = seed, .evaluations = 700}));
  }
  return summarize_replays(runs, 700).ended;
}

TEST(ChanceOfBetter, HoldsWhereSearchesAreReplayed) {
  const auto rugged = ended(10, rugged_kernel);
  EXPECT_GE(rugged.runs, 5u) << "it ends";
  EXPECT_LE(rugged.wrong, 1u);
}

TEST(ChanceOfBetter, DoesNotEndASearchBeforeItHasLookedForANeedle) {
  const auto needle = [](std::uint64_t seed) {
    RecordedKernel kernel = rugged_kernel(seed);
    for (RecordedKernel::Answer& answer : kernel.answers) {
      if (answer.time_ms) answer.time_ms = 1 + 0.001 * *answer.time_ms;
    }
    kernel.answers[kernel.answers.size() / 3].time_ms = 0.5;
    return kernel;
  };
  const auto hidden = ended(4, needle);
  EXPECT_TRUE(!hidden.evaluations || *hidden.evaluations >= 80);
}

}  // namespace
}  // namespace smemtune
