#include "reports/why.h"

#include "reports/energy.h"
#include "reports/findings.h"
#include "reports/report_source_examples_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace smemtune {
namespace {

using db::StoredResult;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Returns a launch of a loop with 32 multiply-adds, 8 shared loads of 4 bytes and 80 instructions.
LaunchResult launch() {
  LaunchResult launch;
  launch.shape.grid = {1000, 1, 1};
  launch.shape.block = {256, 1, 1};
  launch.resources.registers_per_thread = 64;
  launch.occupancy.percent = 40;
  launch.occupancy.blocks_per_sm = launch.occupancy.blocks_by_registers = 3;
  launch.occupancy.blocks_by_threads = launch.occupancy.blocks_by_shared = 8;
  launch.occupancy.blocks_by_limit = 32;
  for (const char* scope : {kCodeFacts, kMainLoopFacts}) {
    launch.facts[std::string(scope) + "instructions"] = 80;
    launch.facts[std::string(scope) + "fp32_fma"] = 32;
    launch.facts[std::string(scope) + "shared_load_4_bytes"] = 8;
  }
  launch.facts["code.loops"] = 1;
  return launch;
}

using Change = std::function<void(LaunchResult&)>;

Result changed(const Change& change) {
  Result result;
  result.launches = {launch()};
  change(result.launches.front());
  return result;
}

Why why(const Change& faster, const Change& slower) {
  return why_faster(changed(faster), changed(slower), 132);
}

void as_it_is(LaunchResult& /*launch*/) {}

TEST(WhyFaster, SaysNothingWhereNothingDiffersOrIsKnown) {
  EXPECT_EQ(why(as_it_is, as_it_is).cause, "");
  EXPECT_THAT(why(as_it_is, as_it_is).differences, IsEmpty());
  const Why unknown = why([](LaunchResult& one) { one.facts.clear(); },
                          [](LaunchResult& one) { one.resources.spill_load_bytes = 8; });
  EXPECT_EQ(unknown.cause, "");
  EXPECT_THAT(unknown.differences, IsEmpty());
}

TEST(WhyFaster, SinglesOutAFigureWithBothNumbers) {
  const Why spills = why(as_it_is, [](LaunchResult& one) { one.resources.spill_load_bytes = 96; });
  EXPECT_EQ(spills.cause, "spills");
  EXPECT_THAT(spills.sentence, HasSubstr("96 bytes per thread there, 0 here"));
  EXPECT_THAT(spills.differences, Contains("bytes spilled 0, there 96"));

  const Why reuse = why([](LaunchResult& one) { one.facts["main_loop.fp32_fma"] = 64; }, as_it_is);
  EXPECT_EQ(reuse.cause, "reuse in registers");
  EXPECT_THAT(reuse.sentence, HasSubstr("8 multiply-adds for each 4 bytes; the other 4"));

  const Why warps = why([](LaunchResult& one) { one.occupancy.percent = 75; }, as_it_is);
  EXPECT_EQ(warps.cause, "occupancy");
  EXPECT_THAT(warps.sentence,
              HasSubstr("75 % occupancy; the other has 40 %, limited by registers"));

  const Why unreached = why([](LaunchResult& one) { one.occupancy.percent = 75; },
                            [](LaunchResult& one) {
                              one.shape.grid = {66, 1, 1};
                            });
  EXPECT_EQ(unreached.cause, "blocks") << "with so few its occupancy does not matter";
  const auto few = [](double percent, std::int64_t blocks) {
    return [=](LaunchResult& one) {
      one.occupancy.percent = percent;
      one.shape.grid = {blocks, 1, 1};
    };
  };
  EXPECT_EQ(why(few(75, 128), few(25, 64)).cause, "blocks") << "a third of 75 % is reached";

  const Why blocks = why(as_it_is, [](LaunchResult& one) { one.shape.grid = {66, 1, 1}; });
  EXPECT_EQ(blocks.cause, "blocks");

  const Why copies =
      why([](LaunchResult& one) { one.facts["code.async_copy_16_bytes"] = 4; }, as_it_is);
  EXPECT_EQ(copies.cause, "copies");

  const Why fewer =
      why([](LaunchResult& one) { one.facts["main_loop.instructions"] = 60; }, as_it_is);
  EXPECT_EQ(fewer.cause, "instructions");
  EXPECT_THAT(fewer.sentence, HasSubstr("1.88 in its main loop; the other 2.50"));

  const Why wide = why([](LaunchResult& one) { one.facts["main_loop.global_load_16_bytes"] = 1; },
                       [](LaunchResult& one) { one.facts["main_loop.global_load_4_bytes"] = 4; });
  EXPECT_EQ(wide.cause, "wide global accesses");
  EXPECT_THAT(wide.differences, Contains("16-byte global loads 1, there 0"));
}

TEST(WhyFaster, SinglesOutNothingWhereTwoFiguresAreBetter) {
  const Why two = why([](LaunchResult& one) { one.occupancy.percent = 75; },
                      [](LaunchResult& one) { one.resources.spill_load_bytes = 96; });
  EXPECT_EQ(two.cause, "");
  EXPECT_EQ(two.sentence, "");
  EXPECT_THAT(two.differences, Contains("% occupancy 75, there 40"));
}

TEST(WhyFaster, TakesTensorCoresAndNotWhatFollowsFromThem) {
  const Why tensor = why(
      [](LaunchResult& one) {
        one.facts["code.tensor"] = one.facts["main_loop.tensor"] = 16;
        one.facts["code.async_copy_16_bytes"] = 4;
      },
      as_it_is);
  EXPECT_EQ(tensor.cause, "tensor cores");
}

Change counted(double conflicts, double dram_bytes, double l2_bytes) {
  return [=](LaunchResult& one) {
    one.facts["counter.shared_wavefronts"] = 1000;
    one.facts["counter.shared_bank_conflicts"] = conflicts;
    one.facts["counter.dram_read_bytes"] = dram_bytes;
    one.facts["counter.dram_write_bytes"] = 0;
    one.facts["counter.l2_bytes"] = l2_bytes;
  };
}

TEST(WhyFaster, TakesCountersWhereTheMachineCodeSaysNothing) {
  const Why conflicts = why(counted(20, 1024, 4096), counted(970, 1024, 4096));
  EXPECT_EQ(conflicts.cause, "bank conflicts");
  EXPECT_THAT(conflicts.sentence, HasSubstr("they cost 2 % of its passes"));
  EXPECT_THAT(conflicts.sentence, HasSubstr("of the other's 97 %"));
  const Why dram = why(counted(0, 1024, 4096), counted(0, 2048, 8192));
  EXPECT_EQ(dram.cause, "traffic");
  EXPECT_THAT(dram.sentence, HasSubstr("through DRAM: 1.0 KB; the other 2.0 KB"));
  EXPECT_THAT(why(counted(0, 1024, 4096), counted(0, 1024, 8192)).sentence,
              HasSubstr("through the L2 cache"));
  EXPECT_EQ(why(counted(20, 1024, 4096), counted(970, 2048, 4096)).cause, "") << "two of them";
  EXPECT_EQ(why(counted(0, 1024, 4096), as_it_is).cause, "") << "not known of the other";
  const Why spills = why(counted(20, 1024, 4096), [](LaunchResult& one) {
    counted(970, 1024, 4096)(one);
    one.resources.spill_load_bytes = 96;
  });
  EXPECT_EQ(spills.cause, "spills") << "the machine code says it";
}

TEST(WhyFaster, DoesNotTakeWhatIsWorseOrTooLittleForAReason) {
  EXPECT_EQ(why([](LaunchResult& one) { one.resources.spill_load_bytes = 96; }, as_it_is).cause,
            "");
  EXPECT_EQ(why([](LaunchResult& one) { one.occupancy.percent = 50; }, as_it_is).cause, "");
  EXPECT_EQ(why([](LaunchResult& one) { one.occupancy.percent = 100; },
                [](LaunchResult& one) { one.occupancy.percent = 60; })
                .cause,
            "");
}

TEST(WhyFaster, LooksAtTheLaunchThatTakesMostOfTheTime) {
  Result faster = changed(as_it_is);
  Result slower = changed([](LaunchResult& one) { one.resources.spill_load_bytes = 96; });
  faster.launches.push_back(launch());
  slower.launches.push_back(launch());
  EXPECT_EQ(why_faster(faster, slower, 132).cause, "") << "not known which";
  for (Result* result : {&faster, &slower}) {
    result->launches[0].time_ms = 2;
    result->launches[1].time_ms = 1;
  }
  EXPECT_EQ(why_faster(faster, slower, 132).cause, "spills");
  slower.launches[1].time_ms = 3;
  EXPECT_EQ(why_faster(faster, slower, 132).cause, "");
}

StoredResult finalist(std::int64_t tile, double ms, const Change& change) {
  StoredResult stored = timed(tile, ms, Stage::final);
  stored.device.sm_count = 132;
  stored.result.launches = {launch()};
  change(stored.result.launches.front());
  return stored;
}

TEST(WhyBestBeats, ComparesWithTheDefaultAndTheRunnerUpOfTheSameFinals) {
  const Change spills = [](LaunchResult& one) { one.resources.spill_load_bytes = 96; };
  const Change few = [](LaunchResult& one) { one.shape.grid = {66, 1, 1}; };
  StoredResult best = finalist(32, 1, as_it_is);
  best.result.chosen = true;
  StoredResult tied = finalist(64, 1.001, few);
  tied.result.tied = true;
  StoredResult of_another_run = finalist(8, 1.1, few);
  of_another_run.run_id = "second";
  const ReportSource source = source_of({best, tied, of_another_run, finalist(16, 4, spills),
                                         finalist(48, 2, few), finalist(96, 3, spills)});
  const std::vector<WhyBeats> beaten = why_best_beats(source, source.sections[0]);
  ASSERT_THAT(beaten, SizeIs(2));
  EXPECT_EQ(beaten[0].other, "its default");
  EXPECT_EQ(beaten[0].factor, 4);
  EXPECT_EQ(beaten[0].why.cause, "spills");
  EXPECT_EQ(beaten[1].other, "the runner-up");
  EXPECT_EQ(beaten[1].factor, 2);
  EXPECT_EQ(beaten[1].why.cause, "blocks");
  EXPECT_THAT(why_text(source), HasSubstr("2.00x over the runner-up, tiled TILE=48"));
  EXPECT_THAT(
      findings(source, source.sections[0]),
      Contains(HasSubstr("Against its default it keeps in registers what the other spills")));
}

TEST(WhyText, NamesTheUnitThatCountersShowAtWork) {
  const auto text = [](const Facts& counters) {
    StoredResult best = finalist(
        16, 1, [&](LaunchResult& one) { one.facts.insert(counters.begin(), counters.end()); });
    best.result.metrics["bytes"] = 1024;
    return why_text(source_of({best}));
  };
  EXPECT_THAT(text({{"counter.dram_percent", 91}, {"counter.issue_percent", 30}}),
              HasSubstr("bound by DRAM: 91 % of its peak"));
  EXPECT_THAT(
      text({{"counter.dram_percent", 22},
            {"counter.duration_ns", 0.9e6},
            {"counter.stalled_at_barrier_warps", 1},
            {"counter.stalled_for_global_memory_warps", 6}}),
      HasSubstr("no unit is above 22 % (DRAM); its warps wait mostly for\n      global memory"));
  EXPECT_THAT(text({{"counter.dram_percent", 22},
                    {"counter.duration_ns", 3e6},
                    {"counter.stalled_for_global_memory_warps", 6}}),
              HasSubstr("bound by DRAM: 66 % of its peak"))
      << "it was counted for 3 ms and takes 1";
  EXPECT_THAT(text({{"counter.dram_percent", 22}, {"counter.stalled_for_global_memory_warps", 6}}),
              Not(HasSubstr("bound by")))
      << "how long it was counted is not known";
  EXPECT_THAT(text({{"counter.dram_percent", 50}}), Not(HasSubstr("bound by")));
  EXPECT_THAT(text({}), Not(HasSubstr("bound by")));
  EXPECT_THAT(text({{"counter.dram_read_bytes", 1024}, {"counter.dram_write_bytes", 512}}),
              HasSubstr("1.5 KB pass through DRAM, 1.50x the bytes"));
}

TEST(WhyText, RanksTheFinalistsOfTheRunWhoseEnergyWasMeasured) {
  const auto takes = [](double joules) {
    return [joules](LaunchResult& one) { one.facts["energy.joules_per_launch"] = joules; };
  };
  StoredResult of_another_run = finalist(8, 1.1, takes(0.001));
  of_another_run.run_id = "second";
  const ReportSource source =
      source_of({finalist(16, 1, takes(0.5)), finalist(32, 2, takes(0.3)), of_another_run});
  EXPECT_THAT(why_text(source), HasSubstr("energy per launch of 2 finalists"));
  EXPECT_THAT(why_text(source, Objective("energy")),
              HasSubstr("by energy tiled TILE=32 is the best of these: 2.00x the time and 0.60x"));
  const auto json = nlohmann::json::parse(why_document(source, Objective("energy")));
  EXPECT_EQ(json["problems"][0]["energy"]["ranked"][0]["time_ms"], 2);
  const auto stored = nlohmann::json::parse(stored_energy_document(source, Objective("energy")));
  EXPECT_EQ(stored["problems"][0]["energy"], json["problems"][0]["energy"]);
  EXPECT_THAT(stored_energy_text(source, Objective("energy")),
              HasSubstr("by energy tiled TILE=32"));
  EXPECT_EQ(stored_energy_text(source_of({finalist(16, 1, as_it_is)}), Objective("energy")), "");
  EXPECT_TRUE(nlohmann::json::parse(
                  why_document(source_of({finalist(16, 1, as_it_is)})))["problems"][0]["energy"]
                  .is_null());
}

TEST(WhyText, ComparesWhatIsAskedForWithWhatIsDeclaredWhereNothingLoops) {
  StoredResult best = finalist(16, 1, [](LaunchResult& one) {
    one.facts = {{"code.instructions", 12},
                 {"code.loops", 0},
                 {"code.global_load_4_bytes", 3},
                 {"code.global_store_4_bytes", 1}};
  });
  best.result.metrics["bytes"] = 1000 * 256 * 8;
  EXPECT_THAT(why_text(source_of({best})),
              HasSubstr("ask global memory for 3.9 MB at most, 2.00x the bytes"));
  best.result.launches.front().facts["code.loops"] = 1;
  EXPECT_THAT(why_text(source_of({best})), Not(HasSubstr("ask global memory")));
}

}  // namespace
}  // namespace smemtune
