#include "tuner/core/error.h"
#include "tuner/search/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace smemtune {
namespace {

SearchSpace space_of(std::int64_t size) {
  Parameter parameter{.name = "A", .values = {}};
  for (std::int64_t i = 0; i < size; ++i) parameter.values.emplace_back(i);
  return SearchSpace({parameter}, {});
}

TEST(Exhaustive, TriesDefaultsFirstAndThenKernelByKernelInOrder) {
  const SearchSpace three(
      {{.name = "A", .values = {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}}}}, {});
  const SearchSpace two({{.name = "B", .values = {std::int64_t{1}, std::int64_t{2}}}}, {});
  const auto strategy = make_strategy("exhaustive",
                                      {{.space = &three, .default_configuration = 1},
                                       {.space = &two, .default_configuration = std::nullopt},
                                       {.space = &two, .default_configuration = 0}},
                                      1);
  const std::vector<Candidate> expected = {{0, 1}, {2, 0}, {0, 0}, {0, 2}, {1, 0}, {1, 1}, {2, 1}};
  std::vector<Candidate> asked;
  while (const auto candidate = strategy->ask()) asked.push_back(*candidate);
  EXPECT_EQ(expected, asked);
}

TEST(Strategies, CanAllBeMadeAndVisitEveryConfigurationOnce) {
  const SearchSpace small = space_of(5);
  const SearchSpace large = space_of(70);
  for (const StrategyInfo& info : strategies()) {
    const auto strategy = make_strategy(info.name,
                                        {{.space = &small, .default_configuration = 3},
                                         {.space = &large, .default_configuration = std::nullopt}},
                                        /*seed=*/1);
    std::set<Candidate> seen;
    while (const auto candidate = strategy->ask()) {
      EXPECT_TRUE(seen.insert(*candidate).second) << info.name << " repeats itself";
    }
    EXPECT_EQ(75u, seen.size()) << info.name;
    EXPECT_EQ(std::nullopt, strategy->ask()) << info.name;
    EXPECT_FALSE(info.description.empty());
  }
}

TEST(Strategies, EndAtOnceWhenThereIsNothingToSearch) {
  for (const StrategyInfo& info : strategies()) {
    EXPECT_EQ(std::nullopt, make_strategy(info.name, {}, 1)->ask()) << info.name;
  }
}

TEST(Strategies, RefuseAnUnknownNameNamingTheKnownOnes) {
  try {
    make_strategy("greedy", {}, 1);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        "no strategy is called 'greedy'; there are auto, exhaustive, forest, model, random",
        error.what());
  }
  try {
    make_strategy("ranom", {}, 1);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::EndsWith("; did you mean 'random'?"));
  }
}

}  // namespace
}  // namespace smemtune
