#include "tuner/search/replay.h"

#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/search/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace smemtune {
namespace {

/// Returns tiles of which 64 x 8 is the best by far; blocks of more than 1024 threads fail.
RecordedKernel tiles() {
  std::vector<Parameter> parameters = {
      {.name = "X", .values = {}}, {.name = "Y", .values = {}}, {.name = "UNROLL", .values = {}}};
  for (std::int64_t x = 16; x <= 256; x += 16) parameters[0].values.emplace_back(x);
  for (std::int64_t y = 1; y <= 16; ++y) parameters[1].values.emplace_back(y);
  for (std::int64_t unroll = 1; unroll <= 8; ++unroll) parameters[2].values.emplace_back(unroll);
  RecordedKernel kernel = {.space = SearchSpace(parameters, {}), .answers = {}};
  for (ConfigurationIndex i = 0; i < kernel.space.size(); ++i) {
    const Configuration configuration = kernel.space.configuration(i);
    const auto value = [&](const char* name) {
      return static_cast<double>(std::get<std::int64_t>(configuration.at(name)));
    };
    RecordedKernel::Answer answer = {.compile_ms = 1000, .device_ms = 10};
    if (value("X") * value("Y") <= 1024) {
      answer.time_ms = 1 + std::abs(std::log2(value("X") / 64)) +
                       std::abs(std::log2(value("Y") / 8)) + 0.1 * std::abs(value("UNROLL") - 4);
    }
    kernel.answers.push_back(answer);
  }
  return kernel;
}

RecordedKernel where_all_fails(std::int64_t size) {
  Parameter parameter = {.name = "A", .values = {}};
  for (std::int64_t i = 0; i < size; ++i) parameter.values.emplace_back(i + 1);
  RecordedKernel kernel = {
      .space = SearchSpace({parameter, {.name = "B", .values = {Value{"x"}}}}, {}), .answers = {}};
  kernel.answers.resize(kernel.space.size());
  return kernel;
}

RecordedKernel where_all_take_as_long(std::int64_t size) {
  RecordedKernel kernel = where_all_fails(size);
  for (RecordedKernel::Answer& answer : kernel.answers) answer.time_ms = 1;
  return kernel;
}

/// Checks that nothing is asked twice and the best so far never gets worse.
void check(const std::vector<Replayed>& run, const std::string& strategy) {
  std::set<ConfigurationIndex> seen;
  double share = 0;
  for (const Replayed& one : run) {
    EXPECT_TRUE(seen.insert(one.configuration).second) << strategy;
    EXPECT_GE(one.share, share) << strategy;
    share = one.share;
  }
}

class EachStrategy : public testing::TestWithParam<std::string> {};

TEST_P(EachStrategy, FindsTheBestOfAllInTheEnd) {
  const RecordedKernel kernel = tiles();
  const auto run = replay(kernel, {.strategy = GetParam(), .evaluations = 5000});
  EXPECT_EQ(kernel.space.size(), run.size());
  EXPECT_EQ(1, run.back().share);
  check(run, GetParam());
}

TEST_P(EachStrategy, RepeatsForASeedWithManyInFlight) {
  const RecordedKernel kernel = tiles();
  const ReplayOptions options = {
      .strategy = GetParam(), .seed = 7, .evaluations = 150, .in_flight = 64, .compilers = 16};
  const auto once = replay(kernel, options);
  const auto again = replay(kernel, options);
  check(once, GetParam());
  ASSERT_EQ(150u, once.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].configuration, again[i].configuration);
  }
}

TEST_P(EachStrategy, EndsWhereEverythingFailsAndOnTheSmallestSpaces) {
  for (const std::int64_t size : {1, 2, 3, 300}) {
    const RecordedKernel kernel = where_all_fails(size);
    for (const std::size_t in_flight : {1u, 64u}) {
      const auto run =
          replay(kernel, {.strategy = GetParam(), .evaluations = 1000, .in_flight = in_flight});
      EXPECT_EQ(kernel.space.size(), run.size());
      check(run, GetParam());
      EXPECT_EQ(0, run.back().share);
    }
  }
}

TEST_P(EachStrategy, EndsOnTheSmallestSpacesAndWhereNothingDiffersWhateverIsKnownFromElsewhere) {
  for (const std::int64_t size : {1, 2, 3, 60}) {
    const RecordedKernel kernel = where_all_take_as_long(size);
    const Ranking nothing = {.device = "nothing was timed", .fastest_first = {}};
    const Ranking last = {
        .device = "the last alone",
        .fastest_first = {{.time_ms = 1, .configuration = kernel.space.size() - 1}}};
    for (const std::size_t in_flight : {1u, 64u}) {
      const auto run = replay(kernel, {.strategy = GetParam(),
                                       .evaluations = 1000,
                                       .in_flight = in_flight,
                                       .rankings = {nothing, last}});
      EXPECT_EQ(kernel.space.size(), run.size());
      check(run, GetParam());
      EXPECT_EQ(1, run.front().share);
    }
  }
}

TEST_P(EachStrategy, DoesNotLoopOnAnEmptySpace) {
  const RecordedKernel kernel = {.space = SearchSpace({{.name = "A", .values = {Value{"x"}}}},
                                                      {Expression::compile("1 > 2", Scope())}),
                                 .answers = {}};
  EXPECT_TRUE(replay(kernel, {.strategy = GetParam()}).empty());
}

INSTANTIATE_TEST_SUITE_P(All, EachStrategy, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const StrategyInfo& strategy : strategies())
                             names.push_back(strategy.name);
                           return names;
                         }()),
                         [](const auto& strategy) { return strategy.param; });

double mean_share(const std::string& strategy, std::size_t evaluations) {
  const RecordedKernel kernel = tiles();
  double sum = 0;
  constexpr std::uint64_t kSeeds = 20;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto run =
        replay(kernel, {.strategy = strategy, .seed = seed, .evaluations = evaluations});
    sum += run.back().share;
  }
  return sum / static_cast<double>(kSeeds);
}

TEST(EachStrategyButExhaustive, SearchesASpaceThatIsTooLargeToList) {
  std::vector<Parameter> parameters;
  Scope scope;
  std::string sum;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string name = "P" + std::to_string(i);
    Parameter parameter = {.name = name, .values = {}};
    for (std::int64_t value = 1; value <= 200; ++value) parameter.values.emplace_back(value);
    parameters.push_back(std::move(parameter));
    scope.add_variable(name, i);
    sum += (i == 0 ? "" : " + ") + name;
  }
  const SearchSpace space(parameters, {Expression::compile("(" + sum + ") % 7 == 0", scope)}, {},
                          100'000);
  for (const StrategyInfo& info : strategies()) {
    const SearchedKernel kernel = {.space = &space, .default_configuration = std::nullopt};
    if (info.name == "exhaustive") {
      EXPECT_THROW(make_strategy(info.name, {kernel}, 1), InputError);
      continue;
    }
    const auto strategy = make_strategy(info.name, {kernel}, 1);
    std::set<Candidate> seen;
    for (int i = 0; i < 60; ++i) {
      const auto candidate = strategy->ask();
      ASSERT_TRUE(candidate) << info.name;
      EXPECT_TRUE(seen.insert(*candidate).second) << info.name;
      EXPECT_TRUE(space.index_of(space.configuration(candidate->configuration))) << info.name;
      Result result;
      result.stage = Stage::screen;
      result.measurement.median_ms =
          1 + static_cast<double>(space.value_indices(candidate->configuration).front());
      strategy->tell(*candidate, result);
    }
  }
}

double evaluations_to_95_percent(const std::vector<Replayed>& run) {
  const auto first =
      std::ranges::find_if(run, [](const Replayed& one) { return one.share >= .95; });
  return static_cast<double>(first - run.begin() + 1);
}

/// Returns the ranking of another search that evaluated everything, or one of every `step`.
Ranking ranking_of(const RecordedKernel& kernel, std::size_t step = 1) {
  Ranking ranking = {.device = "sibling", .fastest_first = {}};
  for (ConfigurationIndex i = 0; i < kernel.answers.size(); i += step) {
    const std::optional<double> time_ms = kernel.answers[i].time_ms;
    if (time_ms) ranking.fastest_first.push_back({.time_ms = *time_ms, .configuration = i});
  }
  std::ranges::sort(ranking.fastest_first);
  return ranking;
}

TEST(Replay, EndsSoonerWhereTimesElsewhereSayWhatToExpect) {
  const RecordedKernel kernel = tiles();
  RecordedKernel here = tiles();
  for (std::size_t i = 0; i < here.answers.size(); ++i) {
    auto& time_ms = here.answers[i].time_ms;
    if (time_ms) time_ms = 3 * *time_ms * (1 + 0.02 * std::sin(static_cast<double>(i)));
  }
  const auto ended = [&](const std::vector<Ranking>& rankings) {
    std::vector<std::vector<Replayed>> runs;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      runs.push_back(replay(here, {.strategy = "auto", .seed = seed, .rankings = rankings}));
    }
    return summarize_replays(runs, 500).ended;
  };
  const auto some = ended({ranking_of(kernel, 7)});
  const auto none = ended({});
  EXPECT_EQ(some.runs, 5u);
  EXPECT_EQ(some.wrong, 0u);
  EXPECT_LT(some.evaluations.value_or(500), none.evaluations.value_or(500));
}

TEST(Replay, LearnsHowTimesDependOnThePredictedCost) {
  RecordedKernel kernel = where_all_take_as_long(2000);
  // A cost that no parameter tells; neither the least nor the greatest is the best.
  const auto log_cost = [](ConfigurationIndex i) {
    return static_cast<double>(random_bits(1, i) % 1000) / 1000;
  };
  for (std::size_t i = 0; i < kernel.answers.size(); ++i) {
    kernel.answers[i].time_ms = 1 + 5 * std::abs(log_cost(i) - 0.7);
  }
  const auto share = [&] {
    return replay(kernel, {.strategy = "auto", .evaluations = 60}).back().share;
  };
  const double without = share();
  kernel.cost = [&](ConfigurationIndex i, int) { return std::exp(log_cost(i)); };
  EXPECT_LT(without, 0.97);
  EXPECT_GT(share(), 0.99);
}

TEST(Replay, KnowsWhatWasFastElsewhereButDoesNotTrustIt) {
  const RecordedKernel kernel = tiles();
  const Ranking sibling = ranking_of(kernel);
  const ReplayOptions options = {.strategy = "auto", .evaluations = 10, .rankings = {sibling}};
  EXPECT_EQ(1, replay(kernel, options).front().share);
  Ranking stranger = sibling;
  std::ranges::reverse(stranger.fastest_first);
  for (std::size_t i = 0; i < stranger.fastest_first.size(); ++i) {
    stranger.fastest_first[i].time_ms = sibling.fastest_first[i].time_ms;
  }
  const auto middle = sibling.fastest_first.begin() + 600;
  const Ranking five = {.device = "five that neither lie far apart nor are fast",
                        .fastest_first = {middle, middle + 5}};
  const auto first =
      replay(kernel, {.strategy = "auto", .evaluations = 5, .in_flight = 5, .rankings = {five}});
  EXPECT_EQ(1, std::ranges::count_if(first,
                                     [&](const Replayed& one) {
                                       return std::ranges::count(
                                                  five.fastest_first, one.configuration,
                                                  &Ranking::Timed::configuration) > 0;
                                     }))
      << "more only after some of its own";
  double with_stranger = 0;
  double alone = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ReplayOptions cold = {.strategy = "auto", .seed = seed, .evaluations = 100};
    alone += evaluations_to_95_percent(replay(kernel, cold));
    cold.rankings = {stranger};
    with_stranger += evaluations_to_95_percent(replay(kernel, cold));
  }
  EXPECT_LE(with_stranger, 1.2 * alone);
}

TEST(Forest, AsksForNeighborsOfABestThatLeapt) {
  const RecordedKernel kernel = tiles();
  const auto strategy = make_strategy(
      "forest", {{.space = &kernel.space, .default_configuration = std::nullopt}}, /*seed=*/1);
  const auto tell = [&](const Candidate& candidate, double time_ms) {
    Result result;
    result.stage = Stage::screen;
    result.measurement.median_ms = time_ms;
    strategy->tell(candidate, result);
  };
  for (int i = 0; i < 40; ++i) tell(strategy->ask().value(), 10);
  const Candidate best = strategy->ask().value();
  tell(best, 9);
  const std::vector<ConfigurationIndex> neighbors = kernel.space.neighbors(best.configuration);
  int beside = 0;
  for (int i = 0; i < 6; ++i) {  // One of them may be random.
    const Candidate candidate = strategy->ask().value();
    beside += std::ranges::count(neighbors, candidate.configuration) > 0 ? 1 : 0;
    tell(candidate, 10);
  }
  EXPECT_GE(beside, 5);
}

TEST(Replay, ShowsThatStrategiesLearn) {
  const double random = mean_share("random", 60);
  EXPECT_GT(mean_share("forest", 60), random + .15);
  EXPECT_LT(random, .85);
}

// The live engine has this many in flight with 16 compilers and one device.
TEST(Replay, LosesLittleWithManyInFlightAndIsBetterAtEqualSeconds) {
  const RecordedKernel kernel = tiles();
  constexpr std::uint64_t kSeeds = 5;
  constexpr std::uint64_t kEvaluations = 200;
  double alone = 0;
  double together = 0;
  double alone_then = 0;  // The share that one in flight has reached when the others are done.
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto one = replay(
        kernel, {.strategy = "auto", .seed = seed, .evaluations = kEvaluations, .in_flight = 1});
    const auto many = replay(kernel, {.strategy = "auto",
                                      .seed = seed,
                                      .evaluations = kEvaluations,
                                      .in_flight = 18,
                                      .compilers = 16});
    alone += one.back().share / kSeeds;
    together += many.back().share / kSeeds;
    double then = 0;
    for (const Replayed& told : one) {
      if (told.done_s <= many.back().done_s) then = told.share;
    }
    alone_then += then / kSeeds;
  }
  EXPECT_GE(together, alone - 0.04);
  EXPECT_GE(together, alone_then);
}

TEST(Replay, TakesAsLongAsWasRecorded) {
  RecordedKernel kernel = where_all_fails(8);
  for (RecordedKernel::Answer& answer : kernel.answers) {
    answer = {.time_ms = 1, .compile_ms = 2000, .device_ms = 500};
  }
  const auto last_s = [&](std::size_t in_flight, std::size_t compilers) {
    return replay(kernel, {.strategy = "random",
                           .evaluations = 8,
                           .in_flight = in_flight,
                           .compilers = compilers})
        .back()
        .done_s;
  };
  EXPECT_DOUBLE_EQ(8 * 2.5, last_s(1, 1));
  EXPECT_DOUBLE_EQ(8 * 2.5, last_s(1, 4));     // Nothing is asked ahead.
  EXPECT_DOUBLE_EQ(8 * 2 + .5, last_s(8, 1));  // The compiler is the bottleneck.
  EXPECT_DOUBLE_EQ(2 + 8 * .5, last_s(8, 8));  // The device is.
}

TEST(Replay, SaysWhatManyRunsCameTo) {
  const auto run = [](std::vector<double> shares) {
    std::vector<Replayed> steps;
    for (const double share : shares) {
      steps.push_back({.share = share, .done_s = static_cast<double>(steps.size() + 1) * 10});
    }
    return steps;
  };
  const std::vector<std::vector<Replayed>> runs = {run({.5, .96, .96}), run({.5, .5, .5}),
                                                   run({.8, .9, 1})};
  const ReplayStatistics statistics = summarize_replays(runs, 3);
  EXPECT_EQ(3u, statistics.seeds);
  ASSERT_EQ(1u, statistics.qualities.size());
  EXPECT_NEAR(.82, statistics.qualities[0].mean, 1e-12);
  EXPECT_NEAR(.96, statistics.qualities[0].median, 1e-12);
  EXPECT_EQ(2u, statistics.efforts[0].reached);
  EXPECT_EQ(3, statistics.efforts[0].evaluations);
  EXPECT_EQ(30, statistics.efforts[0].seconds);
  EXPECT_EQ(1u, statistics.efforts[1].reached);
  EXPECT_EQ(std::nullopt, statistics.efforts[1].evaluations);
}

TEST(Replay, RefusesAStrategyThatIsNotKnown) {
  EXPECT_THROW(replay(tiles(), {.strategy = "psychic"}), InputError);
}

}  // namespace
}  // namespace smemtune
