#include "reports/run_summary.h"

#include "reports/energy.h"
#include "reports/wide_page_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Returns a GPU with 10 TFLOP/s and 1 TB/s.
Device gpu() {
  Device device;
  device.name = "GPU fictional";
  device.architecture = "sm_90";
  device.compute_major = 9;
  device.sm_count = 50;
  device.sm_clock_khz = 781250;
  device.memory_bus_bits = 4000;
  device.memory_clock_khz = 1000000;
  return device;
}

Device cpu() {
  Device device = gpu();
  device.kind = DeviceKind::cpu;
  return device;
}

KernelTemplate kernel(const std::string& name) {
  KernelTemplate kernel;
  kernel.name = name;
  kernel.where = "/kernels/0";
  kernel.parameters = {{.name = "TILE", .values = {8, 16, 32}}};
  kernel.default_configuration = {{"TILE", 8}};
  LaunchTemplate& launch = kernel.launches.emplace_back();
  launch.entry = launch.entry_name = name;
  launch.block = {{"TILE", "/block/0"}};
  launch.grid = {{"1", "/grid/0"}};
  return kernel;
}

Result timed(const std::string& kernel, std::int64_t tile, double ms) {
  Result result;
  result.kernel = kernel;
  result.problem = {{"N", 1000}, {"T", "float"}};
  result.configuration = {{"TILE", tile}};
  result.is_default = tile == 8;
  result.stage = Stage::screen;
  const std::vector<double> samples = {ms, ms, ms};
  result.measurement = summarize(samples);
  result.metrics = {{"flops", 1e9}, {"bytes", 1e6}, {"uses", 64000}, {"loads", 2000}};
  LaunchResult launch;
  launch.resources.registers_per_thread = 40;
  launch.resources.static_shared_bytes = 2048;
  launch.resources.stack_bytes = 24;
  launch.resources.spill_store_bytes = 8;
  launch.resources.spill_load_bytes = 4;
  launch.shape.dynamic_shared_bytes = 2048;
  launch.occupancy.percent = 50;
  launch.occupancy.blocks_per_sm = 4;
  launch.occupancy.blocks_by_registers = 4;
  launch.occupancy.blocks_by_threads = 8;
  launch.occupancy.blocks_by_shared = 8;
  launch.occupancy.blocks_by_limit = 8;
  result.launches = {launch};
  return result;
}

Space space() {
  Space space;
  space.name = "fictional";
  space.description = "Times grow with TILE";
  space.kernels = {kernel("naive"), kernel("tiled")};
  return space;
}

ProblemSummary problem() {
  ProblemSummary problem;
  problem.problem = {{"N", 1000}, {"T", "float"}};
  problem.results = {timed("naive", 8, 4), timed("naive", 16, 2), timed("tiled", 8, 1),
                     timed("tiled", 32, 0.5)};
  problem.bests.kernels = {problem.results[3], problem.results[1]};
  return problem;
}

std::string line_with(const std::string& text, const std::string& words) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(words) != std::string::npos) return line;
  }
  return "";
}

TEST(Ladder, ComparesEachKernelsBestWithTheFirstDefaultAndItsOwn) {
  const std::string text = kernel_table_text(space(), problem(), gpu());
  const std::string naive = line_with(text, "naive");
  EXPECT_THAT(naive, HasSubstr("2.000 ms"));
  EXPECT_THAT(naive, HasSubstr("2.00x       2.00x"));
  const std::string tiled = line_with(text, "* tiled");
  EXPECT_THAT(tiled, HasSubstr("500.0 us"));
  EXPECT_THAT(tiled, HasSubstr("8.00x       2.00x"));
  EXPECT_THAT(tiled, HasSubstr("2.00 TFLOP/s  2.00 GB/s     32"));
}

TEST(Ladder, HasARowForEachLaunchOfAKernel) {
  ProblemSummary two = problem();
  for (Result& result : two.results) {
    result.launches.push_back(result.launches.front());
    result.launches.front().shape.name_expression = "first<8>";
    result.launches.back().shape.name_expression = "second";
    result.launches.back().resources.registers_per_thread = 77;
  }
  two.bests.kernels = {two.results.back()};
  const std::string text = kernel_table_text(space(), two, gpu());
  EXPECT_THAT(line_with(text, "* tiled, first<8>"), HasSubstr("TILE=32"));
  EXPECT_THAT(line_with(text, "* tiled, second"), HasSubstr(" 77 "));
}

// At 10 TFLOP/s, 1e9 operations take 0.1 ms.
TEST(Ladder, SaysWhatShareOfTheRooflineIsReached) {
  EXPECT_THAT(line_with(kernel_table_text(space(), problem(), gpu()), "* tiled"),
              HasSubstr("  20 %"));
  EXPECT_THAT(kernel_table_text(space(), problem(), gpu()),
              HasSubstr("roofline: 10.0 TFLOP/s (50 SMs x 128 FMA x 781 MHz), 1.00 TB/s (4000 bits "
                        "x 2 x 1000 MHz)"));
  EXPECT_THAT(kernel_table_text(space(), problem(), gpu()), Not(HasSubstr("roofline for")));
  EXPECT_THAT(kernel_table_text(space(), problem(), cpu()), Not(HasSubstr("roofline")));
}

ProblemSummary with_type(const std::string& type) {
  ProblemSummary problem = smemtune::problem();
  for (Result& result : problem.results) result.problem["T"] = Value(type);
  problem.bests.kernels.front().problem["T"] = Value(type);
  return problem;
}

// A multiprocessor does 4096 operations per clock in half precision and 8192 in FP8.
TEST(Ladder, HoldsEachTypeAgainstThePeakOfItsUnits) {
  const std::string halves = kernel_table_text(space(), with_type("__half"), gpu());
  EXPECT_THAT(line_with(halves, "* tiled"), HasSubstr("   1 %"));
  EXPECT_THAT(halves, HasSubstr("roofline for __half: 160 TFLOP/s\n"));
  const std::string bytes = kernel_table_text(space(), with_type("__nv_fp8_e4m3"), gpu());
  EXPECT_THAT(bytes, HasSubstr("roofline for __nv_fp8_e4m3: 320 TFLOP/s\n"));
}

TEST(Ladder, MarksWhatIsAboveThePeak) {
  ProblemSummary many = problem();
  for (Result& result : many.results) result.metrics["bytes"] = 1e9;
  many.bests.kernels.front().metrics["bytes"] = 1e9;
  const std::string text = kernel_table_text(space(), many, gpu());
  EXPECT_THAT(line_with(text, "* tiled"), HasSubstr("200 % !"));
  EXPECT_THAT(text, HasSubstr("! above the peak: caches served a part"));
  EXPECT_THAT(kernel_table_text(space(), problem(), gpu()), Not(HasSubstr("above the peak")));
}

// At 1 TB/s, 4e8 bytes take 0.4 ms of 0.5 ms.
TEST(Ladder, TakesTheBytesThatWereMeasuredAndSaysSo) {
  ProblemSummary counted = problem();
  Result& best = counted.bests.kernels.front();
  best.metrics["bytes"] = 1e9;
  best.launches.front().facts = {{"counter.dram_read_bytes", 3e8},
                                 {"counter.dram_write_bytes", 1e8}};
  const std::string text = kernel_table_text(space(), counted, gpu());
  EXPECT_THAT(line_with(text, "* tiled"), HasSubstr("  80 % m"));
  EXPECT_THAT(text, HasSubstr("  m of the bytes that counters measured in DRAM"));
  EXPECT_THAT(kernel_table_text(space(), problem(), gpu()), Not(HasSubstr("counters measured")));
}

// 50 multiprocessors reach 10 TFLOP/s without tensor cores and 80 TFLOP/s in TF32.
TEST(Ladder, TakesAFloatKernelBeyondItsCoresForOneOfTensorCores) {
  ProblemSummary fast = problem();
  for (Result& result : fast.results) result.metrics["flops"] = 20e9;
  fast.bests.kernels.front().metrics["flops"] = 20e9;
  const std::string text = kernel_table_text(space(), fast, gpu());
  EXPECT_THAT(line_with(text, "* tiled"), HasSubstr("  50 %"));
  EXPECT_THAT(text, HasSubstr("roofline for float: 80.0 TFLOP/s\n"));
}

TEST(Ladder, SaysWhatEachBestTakes) {
  const std::string text = kernel_table_text(space(), problem(), gpu());
  const std::string resources = text.substr(text.find("registers"));
  EXPECT_THAT(line_with(resources, "* tiled"),
              HasSubstr("4.0 KB         40     24       12       50 %  registers   TILE=32"));
}

TEST(Ladder, AddsTheCopiesWhereTheyWereMeasured) {
  ProblemSummary with_transfers = problem();
  with_transfers.transfers =
      Transfers{.to_device_ms = 3, .to_host_ms = 1, .to_device_bytes = 2048, .to_host_bytes = 1024};
  const std::string text = kernel_table_text(space(), with_transfers, gpu());
  EXPECT_THAT(line_with(text, "* tiled"), HasSubstr("4.500 ms"));
  EXPECT_THAT(text, HasSubstr("copies, pageable host memory: 2.0 KB to the device in 3.000 ms, 1.0 "
                              "KB back in 1.000 ms"));
  EXPECT_THAT(kernel_table_text(space(), problem(), gpu()), Not(HasSubstr("copies")));
}

TEST(Ladder, IsNotWiderThan160Columns) {
  ProblemSummary wide = problem();
  wide.bests.kernels.front().kernel = "register_tiled";
  wide.bests.kernels.front().configuration = {{"BLOCKS", 1},   {"COLS", 8},    {"DEPTH", 16},
                                              {"GROUP", 8},    {"PAD", 4},     {"ROWS", 16},
                                              {"TILE_M", 128}, {"TILE_N", 256}};
  wide.transfers = Transfers{.to_device_ms = 3, .to_host_ms = 1};
  Space wide_space = space();
  wide_space.kernels.push_back(kernel("register_tiled"));
  std::istringstream lines(kernel_table_text(wide_space, wide, gpu()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 160u) << line;
}

Space predicted(const std::string& time) {
  Space predicted = space();
  predicted.kernels[1].expect =
      Expectation{.time = {time, "/kernels/1/expect/time"}, .within_percent = 25};
  return predicted;
}

TEST(Summary, SaysThatThereAreTooManyToCountAndNotThatTheDefaultIsTheBestOfThem) {
  ProblemSummary all = problem();
  all.cartesian = 30;
  all.valid = 20;
  all.bests.kernels = {all.results[2]};
  TuningSummary summary;
  summary.problems = {all};
  std::string text = summary_text(space(), summary, gpu());
  EXPECT_THAT(text, HasSubstr("30 points, 20 valid, "));
  EXPECT_THAT(text, HasSubstr("the default is already the best"));
  EXPECT_THAT(text, Not(HasSubstr("the best of all"))) << "most have no result";
  summary.problems[0].cartesian = UINT64_MAX;
  summary.problems[0].valid = std::nullopt;
  summary.problems[0].unfinished =
      Unfinished{.chance_of_better = 0.9, .evaluations = 4, .last_gain = 3};
  text = summary_text(space(), summary, gpu());
  EXPECT_THAT(text, HasSubstr("more than 1.8e19 points, too many valid ones to count, "));
  EXPECT_THAT(text, HasSubstr("nothing faster than the default was found"));
  EXPECT_THAT(text, Not(HasSubstr("already the best")));
}

TEST(SummaryJson, SaysWhatAnEarlierSearchOfTheModelAdds) {
  TuningSummary summary;
  summary.problems = {problem()};
  summary.problems[0].unfinished = Unfinished{.chance_of_better = 0.04, .elsewhere = 300};
  const auto json = nlohmann::ordered_json::parse(summary_json(space(), summary, gpu(), {}));
  EXPECT_EQ(json["problems"][0]["unfinished"]["elsewhere"], 300);
}

TEST(Summary, SaysHowSureItIsOfTheBest) {
  ProblemSummary some = problem();
  some.valid = 1'789;
  some.evaluated = 1'700;
  some.known = 89;
  EXPECT_EQ(how_sure(some), "the best of all 1,789 as screened, without finals");
  some.bests.kernels.front().stage = Stage::final;
  EXPECT_EQ(how_sure(some), "the best of all 1,789");
  some.valid = 1;
  EXPECT_EQ(how_sure(some), "the only configuration of this space");
  some.valid = 1'789;
  some.unfinished = Unfinished{.chance_of_better = 0.04,
                               .percent = 1,
                               .by_itself = true,
                               .evaluations = 214,
                               .last_gain = 30};
  EXPECT_EQ(how_sure(some),
            "within 1 % of the best of this space with 95 % confidence, after 214 of 1,789");
  some.bests.kernels.front().finals.noise_percent = 2.5;
  EXPECT_THAT(how_sure(some), HasSubstr("within 2.5 % of the best")) << "no finer than the noise";
  some.bests.kernels.front().finals.noise_percent = 0.1;
  some.bests.kernels.front().stage = Stage::screen;
  EXPECT_EQ(
      how_sure(some),
      "stopped before the finals, after 214 of 1,789: the chance that something more than 1 % "
      "faster is left is about 4 %");
  some.bests.kernels.front().stage = Stage::final;
  some.unfinished->by_itself = false;
  some.unfinished->chance_of_better = 0.3;
  EXPECT_EQ(how_sure(some),
            "stopped after 214 of 1,789: the chance that something more than 1 % "
            "faster is left is about 30 %");
  some.unfinished->chance_of_better = std::nullopt;
  EXPECT_EQ(how_sure(some), "");
  some.unfinished->chance_of_better = 0.3;
  some.valid = std::nullopt;
  EXPECT_EQ(how_sure(some), "") << "nobody knows how many there are";
}

TEST(Summary, ShowsOfACompilersLogTheFirstError) {
  TuningSummary summary;
  summary.problems = {problem()};
  Result& broken = summary.problems[0].results.emplace_back(timed("tiled", 64, 1));
  broken.status = Status::compile;
  broken.reason = "error";
  broken.detail = "k.cu(2): warning: unused\n  int x;\nk.cu(3): error: unknown y\nmore";
  Result& slow = summary.problems[0].results.emplace_back(timed("tiled", 128, 1));
  slow.status = Status::runtime;
  slow.reason = "illegal_address";
  slow.detail = "launch of it\nerror 700";
  const std::string text = summary_text(space(), summary, gpu());
  EXPECT_THAT(text, HasSubstr("tiled TILE=64: k.cu(3): error: unknown y\n"));
  EXPECT_THAT(text, HasSubstr("tiled TILE=128: launch of it\n"));
}

TEST(Summary, SaysThatABestWasOnlyScreened) {
  TuningSummary summary;
  summary.problems = {problem()};
  EXPECT_THAT(summary_text(space(), summary, gpu()), HasSubstr("screened only: no finals"));
  summary.problems.front().bests.kernels.front().stage = Stage::final;
  EXPECT_THAT(summary_text(space(), summary, gpu()), Not(HasSubstr("screened only: no finals")));
}

TEST(Summary, SaysThatTheNextKernelWasNotInTheFinals) {
  ProblemSummary summary = problem();
  summary.bests.kernels = {timed("tiled", 16, 2), timed("naive", 32, 3)};
  Result& best = summary.bests.kernels[0];
  Result& next = summary.bests.kernels[1];
  EXPECT_THAT(why_best(space(), summary, gpu()), HasSubstr("    1.50x over naive's best\n"));
  best.stage = Stage::final;
  EXPECT_THAT(why_best(space(), summary, gpu()),
              HasSubstr("    1.50x over naive's best, which was not in the finals\n"));
  next.measurement.median_ms = 1;
  EXPECT_THAT(
      why_best(space(), summary, gpu()),
      HasSubstr(
          "    naive's best took 1.000 ms outside the finals, which did not compare the two\n"));
  next.stage = Stage::final;
  EXPECT_THAT(why_best(space(), summary, gpu()), HasSubstr("    0.50x over naive's best\n"));
  summary.bests.tied = {next};
  EXPECT_THAT(why_best(space(), summary, gpu()),
              HasSubstr("    naive's best is statistically tied with it\n"));
}

TEST(Summary, CallsANeighborTiedWhereTheFinalsDid) {
  ProblemSummary tied = problem();
  EXPECT_THAT(why_best(space(), tied, gpu()),
              HasSubstr("    one parameter changed: TILE=8 +100.0 %\n"));
  tied.bests.tied = {timed("tiled", 8, 1)};
  EXPECT_THAT(why_best(space(), tied, gpu()),
              HasSubstr("    one parameter changed: TILE=8 tied\n"));
}

ProblemSummary problem_with_energy() {
  ProblemSummary measured = problem();
  const auto tell = [&](std::size_t i, double joules, double power_percent) {
    Result& result = measured.results[i];
    result.stage = Stage::final;
    result.launches.front().facts = {{"energy.joules_per_launch", joules},
                                     {"energy.mean_watts", 312},
                                     {"energy.idle_watts", 82},
                                     {"energy.power_limit_watts", 700},
                                     {"energy.power_limited_percent", power_percent},
                                     {"energy.other_processes", 2}};
  };
  tell(1, 0.0015, 0);
  tell(2, 0.0016, 0);
  tell(3, 0.004, 98);
  return measured;
}

TEST(Summary, HasATableOfWhatFinalistsTakeInTimeAndEnergy) {
  TuningSummary summary;
  summary.problems = {problem_with_energy()};
  const std::string text = summary_text(space(), summary, gpu());
  EXPECT_THAT(text, HasSubstr("energy per launch of 3 finalists, and of nothing else (82 W before, "
                              "power limit 700 W, 2 other processes on the GPU, whose energy "
                              "counts as well)"));
  const std::string fastest = line_with(text, "4 mJ");
  EXPECT_THAT(fastest, HasSubstr("312 W"));
  EXPECT_THAT(fastest, HasSubstr(" *  "));
  EXPECT_THAT(fastest, HasSubstr("power 98 %"));
  EXPECT_LT(text.find("4 mJ"), text.find("1.6 mJ")) << "the fastest is first";
  EXPECT_THAT(text, Not(HasSubstr("is the best of these")));
  summary.problems = {problem()};
  EXPECT_THAT(summary_text(space(), summary, gpu()), Not(HasSubstr("energy")));
}

TEST(Summary, ListsOthersThanFinalistsOnlyWhereTheyAreOnTheFront) {
  TuningSummary summary;
  summary.problems = {problem_with_energy()};
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    summary.problems.front().results[i].stage = Stage::screen;
  }
  summary.problems.front().results[2].launches.front().facts["energy.joules_per_launch"] = 1;
  const std::string text = summary_text(space(), summary, gpu());
  EXPECT_THAT(text, HasSubstr("energy per launch of 3 configurations, and of nothing else"));
  EXPECT_THAT(line_with(text, "1.5 mJ"), HasSubstr("screen"));
  EXPECT_THAT(text, HasSubstr("  not listed: 1 that are neither finalists nor *\n"));
  EXPECT_THAT(text, Not(HasSubstr(" 1 J")));
}

TEST(EnergyLine, TellsOfOneResultWhatTheTableDoes) {
  const ProblemSummary measured = problem_with_energy();
  EXPECT_EQ(
      energy_line(measured.results[3]),
      "  energy per launch: 4 mJ at 312 W (82 W before, power limit 700 W, 2 other processes on "
      "the GPU, whose energy counts as well), clock limited by power 98 %\n");
  EXPECT_EQ(energy_line(problem().results[3]), "");
}

TEST(Summary, RanksFinalistsByAnExpressionAndSaysWhatIsNotKnownOfTheOthers) {
  TuningSummary summary;
  summary.problems = {problem_with_energy()};
  summary.problems.front().results[1].launches.front().facts.clear();
  const std::string text = summary_text(space(), summary, gpu(), Objective("energy * time ** 2"));
  EXPECT_THAT(line_with(text, "4 mJ"), HasSubstr("  0.001  "));
  EXPECT_THAT(text, HasSubstr("by energy * time ** 2 tiled TILE=32 is the best of these"));
  EXPECT_THAT(text, HasSubstr("not ranked: 1 other, as energy is not known"));
  EXPECT_THAT(summary_text(space(), summary, gpu(), Objective("1 / time")),
              HasSubstr("3 finalists by 1 / time, energy per launch of 2 of them, and of nothing"));
  for (Result& result : summary.problems.front().results) {
    for (LaunchResult& launch : result.launches) launch.facts.clear();
  }
  const std::string without_energy = summary_text(space(), summary, gpu(), Objective("1 / time"));
  EXPECT_THAT(without_energy, HasSubstr("by 1 / time naive TILE=16 is the best of these: 4.00x"));
  EXPECT_THAT(without_energy, HasSubstr("3 finalists by 1 / time\n"));
  EXPECT_THAT(without_energy, Not(HasSubstr("energy")));
}

TEST(Summary, NamesTheBestByAnObjectiveAndWhatItCostsInTime) {
  TuningSummary summary;
  summary.problems = {problem_with_energy()};
  const std::string text = summary_text(space(), summary, gpu(), Objective("energy"));
  EXPECT_LT(text.find("1.5 mJ"), text.find("1.6 mJ"));
  EXPECT_THAT(text, HasSubstr("by energy naive TILE=16 is the best of these: 4.00x the time and "
                              "0.38x the energy of the fastest"));
  EXPECT_THAT(summary_text(space(), summary, gpu(), Objective("edp")),
              HasSubstr("by edp tiled TILE=8 is the best of these: 2.00x the time"));
  const auto json = nlohmann::json::parse(
      summary_json(space(), summary, gpu(), {}, Objective("energy")))["problems"][0];
  EXPECT_EQ(json["best"]["configuration"]["TILE"], 32) << "the best is so by time";
  const auto& energy = json["energy"];
  EXPECT_EQ(energy["objective"], "energy");
  EXPECT_EQ(energy["ranked"].size(), 3u);
  EXPECT_EQ(energy["ranked"][0]["configuration"]["TILE"], 16);
  EXPECT_EQ(energy["ranked"][0]["joules_per_launch"], 0.0015);
  EXPECT_EQ(energy["ranked"][0]["on_pareto_front"], true);
  summary.problems = {problem()};
  EXPECT_FALSE(
      nlohmann::json::parse(summary_json(space(), summary, gpu(), {}))["problems"][0].contains(
          "energy"));
}

TEST(Curves, HoldEachConfigurationAgainstWhatIsPredicted) {
  ProblemSummary measured = problem();
  measured.results[3] = timed("tiled", 16, 2.4);
  const Space space = predicted("TILE");
  const std::vector<Curve> found = curves(space, measured, gpu());
  ASSERT_EQ(1u, found.size());
  ASSERT_EQ(3u, found[0].points.size());
  EXPECT_TRUE(found[0].points[0].seen);  // This is the default itself.
  EXPECT_DOUBLE_EQ(2, found[0].points[1].predicted);
  EXPECT_DOUBLE_EQ(2.4, found[0].points[1].measured);
  EXPECT_TRUE(found[0].points[1].seen);
  EXPECT_EQ(nullptr, found[0].points[2].result);
  EXPECT_FALSE(found[0].points[2].seen);
  EXPECT_THAT(curves_text(found), HasSubstr("seen in 2 of 3"));
  EXPECT_THAT(line_with(curves_text(found), "TILE=32"), HasSubstr("not timed"));
}

TEST(Curves, AreNotSeenBeyondTheToleranceEitherWay) {
  for (const double ms : {2.6, 1.5}) {
    ProblemSummary measured = problem();
    measured.results[3] = timed("tiled", 16, ms);
    const Space space = predicted("TILE");
    EXPECT_FALSE(curves(space, measured, gpu())[0].points[1].seen) << ms;
  }
}

TEST(Curves, AreNotDrawnOnACpu) {
  const Space space = predicted("TILE");
  EXPECT_TRUE(curves(space, problem(), cpu()).empty());
}

}  // namespace
}  // namespace smemtune
