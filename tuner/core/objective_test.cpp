#include "tuner/core/objective.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result finalist(double ms, double joules) {
  Result result;
  result.stage = Stage::final;
  result.measurement.median_ms = ms;
  result.launches.resize(2);
  result.launches.front().facts = {{"energy.joules_per_launch", joules}};
  return result;
}

TEST(Objective, RefusesWhatIsNotKnownAndListsWhatIs) {
  EXPECT_EQ(Objective().text(), "time");
  EXPECT_TRUE(Objective().is_time());
  for (const char* text : {"watts", "time *", "time + 'float'", ""}) {
    EXPECT_THROW(Objective{text}, InputError) << text;
  }
  try {
    Objective("watts * time");
    ADD_FAILURE() << "there are no watts";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("objective 'watts * time' column 1: unknown name 'watts'"));
    EXPECT_THAT(error.what(), HasSubstr("registers_per_thread"));
    EXPECT_THAT(error.what(), HasSubstr("energy.mean_watts"));
  }
  EXPECT_THROW(Objective("1 / flops"), InputError);
  EXPECT_NO_THROW(Objective("1 / flops", {"flops"}));
}

TEST(Objective, IsAnExpressionOverWhatIsKnownOfAResult) {
  Result result = finalist(2, 3);
  result.metrics = {{"flops", 1000}};
  result.launches[0].facts["counter.dram_read_bytes"] = 10;
  result.launches[1].facts["counter.dram_read_bytes"] = 5;
  result.launches[0].facts["counter.dram_percent"] = 10;
  result.launches[1].facts["counter.dram_percent"] = 5;
  EXPECT_EQ(Objective("registers_per_thread").value(result), std::nullopt) << "not told";
  EXPECT_EQ(Objective("occupancy_percent").value(result), std::nullopt);
  result.launches[0].resources.registers_per_thread = 24;
  result.launches[1].resources.registers_per_thread = 40;
  result.launches[0].resources.spill_store_bytes = 8;
  result.launches[0].occupancy.percent = 50;
  result.launches[1].occupancy.percent = 25;
  const auto value = [&](const char* text) { return Objective(text, {"flops"}).value(result); };
  EXPECT_EQ(value("energy * time ** 2"), 12);
  EXPECT_EQ(value("edp"), 6e-3);
  EXPECT_EQ(value("energy / flops"), 3e-3);
  EXPECT_EQ(value("counter.dram_read_bytes"), 15) << "those of all launches";
  EXPECT_EQ(value("counter.dram_percent"), std::nullopt) << "of which launch?";
  EXPECT_EQ(value("registers_per_thread > 32 ? 1e9 : time"), 1e9) << "the launch that has most";
  EXPECT_EQ(value("spill_bytes"), 8);
  EXPECT_EQ(value("occupancy_percent"), 25) << "the launch that has least";
  EXPECT_EQ(value("time / dynamic_shared_bytes"), std::nullopt) << "none is used";
  EXPECT_EQ(value("energy.mean_watts"), std::nullopt);
  EXPECT_THAT(Objective("time * energy.mean_watts").unknown_of(result),
              ElementsAre("energy.mean_watts"));
}

TEST(Objective, SaysWhatMustBeMeasuredForIt) {
  EXPECT_FALSE(Objective().uses(kEnergyFacts));
  EXPECT_TRUE(Objective("edp").uses(kEnergyFacts));
  EXPECT_FALSE(Objective("edp").uses(kCounterFacts));
  EXPECT_TRUE(Objective("time + counter.l2_bytes").uses(kCounterFacts));
}

TEST(Objective, RanksOnlyWhatIsMeasured) {
  const Result fast = finalist(1, 3);
  const Result frugal = finalist(4, 1);
  const Result between = finalist(1.5, 1.5);
  Result unknown = finalist(0.5, 0);
  unknown.launches.front().facts.clear();
  Result screened = unknown;
  screened.stage = Stage::screen;
  const Result* const all[] = {&frugal, &unknown, &between, &screened, &fast};
  EXPECT_THAT(ranked_by(Objective(), all), ElementsAre(&unknown, &fast, &between, &frugal));
  EXPECT_THAT(ranked_by(Objective("energy"), all), ElementsAre(&frugal, &between, &fast));
  EXPECT_THAT(ranked_by(Objective("edp"), all), ElementsAre(&between, &fast, &frugal));
  EXPECT_THAT(ranked_by(Objective("1"), all), ElementsAre(&unknown, &fast, &between, &frugal))
      << "of equal ones the faster is first";
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
