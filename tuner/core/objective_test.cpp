#include "tuner/core/objective.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Result finalist(double ms, double joules) {
  Result result;
  result.stage = Stage::final;
  result.measurement.median_ms = ms;
  result.launches.resize(2);
  result.launches.front().facts = {{"energy.joules_per_launch", joules}};
  return result;
}

TEST(Objective, HasWords) {
  for (const char* word : {"time", "energy", "edp"}) {
    EXPECT_EQ(to_text(parse_objective(word)), word);
  }
  EXPECT_THROW(parse_objective("watts"), InputError);
}

TEST(Objective, RanksOnlyFinalistsWhoseEnergyIsKnown) {
  const Result fast = finalist(1, 3);
  const Result frugal = finalist(4, 1);
  const Result between = finalist(1.5, 1.5);
  Result unknown = finalist(0.5, 0);
  unknown.launches.front().facts.clear();
  Result screened = finalist(0.5, 0.5);
  screened.stage = Stage::screen;
  const Result* const all[] = {&frugal, &unknown, &between, &screened, &fast};
  EXPECT_THAT(ranked_by(Objective::time, all), ElementsAre(&fast, &between, &frugal));
  EXPECT_THAT(ranked_by(Objective::energy, all), ElementsAre(&frugal, &between, &fast));
  EXPECT_THAT(ranked_by(Objective::edp, all), ElementsAre(&between, &fast, &frugal));
  EXPECT_DOUBLE_EQ(*objective_value(frugal, Objective::edp), 4e-3);
  EXPECT_FALSE(objective_value(unknown, Objective::time)) << "it is not among those compared";
  EXPECT_FALSE(objective_value(Result(), Objective::energy));
}

TEST(ParetoFront, HasAllThatNoneIsBetterThan) {
  const Result fast = finalist(1, 3);
  const Result twin = finalist(1, 3);
  const Result worse = finalist(1, 4);
  const Result slow = finalist(2, 3);
  const Result frugal = finalist(4, 1);
  const Result* const all[] = {&slow, &frugal, &worse, &fast, &twin};
  EXPECT_THAT(pareto_front(all), ElementsAre(&fast, &twin, &frugal));
  EXPECT_THAT(pareto_front({}), IsEmpty());
}

}  // namespace
}  // namespace smemtune
