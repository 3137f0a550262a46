#include "tuner/core/kernel_binding.h"

#include "tuner/core/stencil_space_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace smemtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Device small_device() {
  Device device;
  device.max_threads_per_block = 512;
  device.compute_major = 9;
  return device;
}

Configuration configuration(std::int64_t threads, std::int64_t items) {
  return {{"THREADS", threads}, {"ITEMS", items}};
}

KernelBinding bind(const Space& space, std::size_t problem = 0) {
  return KernelBinding(space, space.kernels.front(), space.problems[problem], small_device());
}

// Returns the error from instantiating the stencil after `change`.
std::string message_of(const std::function<void(KernelTemplate&)>& change,
                       const Configuration& with = configuration(256, 4)) {
  KernelTemplate kernel = shared_kernel();
  change(kernel);
  const Space space = stencil(kernel);
  try {
    bind(space).instantiate(with);
    return "no error";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(KernelBinding, InstantiatesALaunch) {
  const Space space = stencil();
  const KernelInstance instance = bind(space).instantiate(configuration(256, 4));
  EXPECT_EQ("shared", instance.kernel);
  EXPECT_THAT(instance.options, IsEmpty());
  ASSERT_EQ(1u, instance.launches.size());
  const LaunchShape& launch = instance.launches[0];
  EXPECT_EQ("stencil1d_shared<int, 3, 256, 4, true>", launch.name_expression);
  EXPECT_THAT(launch.block, ElementsAre(256, 1, 1));
  EXPECT_THAT(launch.grid, ElementsAre(1, 2, 1));
  EXPECT_EQ((256 * 4 + 2 * 3) * 4, launch.static_shared_bytes);
  EXPECT_EQ(0, launch.dynamic_shared_bytes);
  EXPECT_THAT(launch.arguments, ElementsAre("in", "out", "n"));
}

/// The stencil's launch repeated three times, with another one behind it; `step` counts the
/// repetitions.
KernelTemplate repeated_kernel() {
  KernelTemplate kernel = shared_kernel();
  kernel.launches.push_back(kernel.launches.front());
  kernel.launches[0].grid = {text("3 - step", "/grid")};
  kernel.arguments[0].role = Role::inout;
  kernel.arguments.push_back(scalar("first", "int", "step * THREADS"));
  kernel.repeats = {{.first = 0,
                     .end = 1,
                     .counter = "step",
                     .times = text("RADIUS", "/repeat"),
                     .swaps = {{"in", "out"}}}};
  return kernel;
}

TEST(KernelBinding, RepeatsLaunchesWithTheirCounter) {
  const Space space = stencil(repeated_kernel());
  const KernelInstance instance = bind(space).instantiate(configuration(256, 4));
  ASSERT_EQ(2u, instance.launches.size());
  EXPECT_EQ(3, instance.launches[0].times);
  EXPECT_EQ(1, instance.launches[1].times);
  EXPECT_THAT(instance.launches[0].grid, ElementsAre(3, 1, 1));
  std::vector<std::size_t> launches;
  std::vector<std::int64_t> blocks;
  std::vector<std::int64_t> first;
  std::vector<std::string> read;
  for (const Turn& turn : turns_of(instance.launches)) {
    launches.push_back(turn.launch);
    blocks.push_back(turn.as.grid[0]);
    ASSERT_EQ(1u, turn.as.scalars.size());
    first.push_back(turn.as.scalars.front().integer);
    read.push_back(turn.as.arguments.front());
  }
  EXPECT_THAT(launches, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(blocks, ElementsAre(3, 2, 1, 1));
  // Behind the repetitions the counter is their number, and swapped buffers stay swapped.
  EXPECT_THAT(first, ElementsAre(0, 256, 512, 768));
  EXPECT_THAT(read, ElementsAre("in", "out", "in", "out"));
  const std::vector<Turn> turns = turns_of(instance.launches);
  EXPECT_EQ("out", holder_of("in", turns));
  EXPECT_EQ("in", holder_of("out", turns));
  EXPECT_TRUE(turns[2].as.renamed.empty());
}

TEST(KernelBinding, RepeatsSeveralLaunchesInTurn) {
  KernelTemplate kernel = repeated_kernel();
  kernel.repeats.front().end = 2;
  kernel.repeats.front().swaps.clear();
  const Space space = stencil(kernel);
  std::vector<std::size_t> launches;
  for (const Turn& turn : turns_of(bind(space).instantiate(configuration(256, 4)).launches)) {
    launches.push_back(turn.launch);
  }
  EXPECT_THAT(launches, ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(KernelBinding, LeavesOutRepetitionsWithoutABlock) {
  KernelTemplate kernel = repeated_kernel();
  kernel.launches.front().grid = {text("2 - step", "/grid")};
  const Space space = stencil(kernel);
  const KernelInstance instance = bind(space).instantiate(configuration(256, 4));
  EXPECT_EQ(2, instance.launches[0].times);
  EXPECT_EQ(3u, turns_of(instance.launches).size());
}

TEST(KernelBinding, RepeatsNothingWhereTheNumberIsZeroAndRefusesNegativeOnes) {
  KernelTemplate kernel = repeated_kernel();
  kernel.repeats.front().times.text = "0";
  kernel.launches.front().grid = {text("0", "/grid")};
  const Space space = stencil(kernel);
  const auto launches = bind(space).instantiate(configuration(256, 4)).launches;
  EXPECT_THAT(launches.front().grid, ElementsAre(1, 1, 1));
  const auto turns = turns_of(launches);
  ASSERT_EQ(1u, turns.size());
  EXPECT_EQ(1u, turns.front().launch);
  const auto message = [](const std::string& times) {
    return message_of([&](KernelTemplate& changed) {
      changed = repeated_kernel();
      changed.repeats.front().times.text = times;
    });
  };
  EXPECT_THAT(message("RADIUS - 4"),
              HasSubstr("/repeat: 'RADIUS - 4' is -1, 0 to 65536 repetitions are possible"));
  EXPECT_THAT(message("100000"), HasSubstr("is 100000, 0 to 65536 repetitions"));
  EXPECT_THAT(message("step"), HasSubstr("/repeat: 'step' column 1: unknown name 'step'"));
}

TEST(KernelBinding, SizesArguments) {
  const Space space = stencil();
  const KernelInstance instance = bind(space, 1).instantiate(configuration(256, 4));
  ASSERT_EQ(3u, instance.arguments.size());
  EXPECT_EQ("in", instance.arguments[0].name);
  EXPECT_EQ(ScalarType::float64, instance.arguments[0].type);
  EXPECT_THAT(instance.arguments[0].shape, ElementsAre(1600));
  EXPECT_EQ(1600 * 8, instance.arguments[0].bytes());
  EXPECT_EQ(Role::output, instance.arguments[1].role);
  EXPECT_EQ(ScalarType::int32, instance.arguments[2].type);
  EXPECT_FALSE(instance.arguments[2].is_buffer());
  EXPECT_EQ(1000, instance.arguments[2].integer);
  EXPECT_EQ(4, instance.arguments[2].bytes());
}

TEST(KernelBinding, SearchesWhatTheConstraintsOfProblemAndDeviceLeave) {
  const Space space = stencil();
  EXPECT_EQ(16u, bind(space).search_space().size());  // The 1024 threads violate a constraint.
  // 64 x 1, 2, 4 and 128 x 1, 2 and 256 x 1 do not reach the radius of 300.
  const KernelBinding wide = bind(space, 1);
  EXPECT_EQ(10u, wide.search_space().size());
  EXPECT_EQ(&wide.search_space(), &wide.search_space());
  EXPECT_EQ("ITEMS=8,THREADS=64", key(wide.search_space().configuration(0)));
}

TEST(KernelBinding, ChecksConstraintsOffTheLists) {
  const Space space = stencil();
  const KernelBinding kernel = bind(space, 1);
  EXPECT_TRUE(kernel.satisfies_constraints(configuration(100, 3)));
  EXPECT_FALSE(kernel.satisfies_constraints(configuration(100, 2)));
  EXPECT_EQ(std::nullopt, kernel.violated_constraint(configuration(100, 3)));
  EXPECT_EQ("THREADS * ITEMS >= RADIUS", kernel.violated_constraint(configuration(100, 2)));
  EXPECT_THROW(kernel.satisfies_constraints({{"THREADS", std::int64_t{1}}}), InputError);
}

TEST(KernelBinding, LeavesOutOfTheSearchWhatIsNotPromisingButRunsIt) {
  const Space all = stencil();
  KernelTemplate kernel = shared_kernel();
  kernel.promising = {text("THREADS > N / 8", "/kernels/1/promising/0")};
  const Space some = stencil(kernel);
  const KernelBinding bound = bind(some);
  EXPECT_EQ(bind(all).search_space().size() - 4, bound.search_space().size());
  EXPECT_TRUE(bound.satisfies_constraints(configuration(64, 4)));
  EXPECT_EQ("THREADS > N / 8", bound.why_not_searched(configuration(64, 4)));
  EXPECT_EQ(std::nullopt, bound.why_not_searched(configuration(256, 4)));
  EXPECT_EQ("THREADS * ITEMS >= RADIUS", bind(some, 1).why_not_searched(configuration(100, 2)));
  kernel.promising[0].text = "THREADS / (ITEMS - 4) > 0";
  const Space no_value = stencil(kernel);
  EXPECT_THROW(bind(no_value).why_not_searched(configuration(256, 4)), InputError);
  kernel.promising[0].text = "THREADS > N / 8";
  kernel.configurations = {configuration(64, 4), configuration(256, 8)};
  const Space listed = stencil(kernel);
  EXPECT_EQ(2u, bind(listed).search_space().size()) << "256 x 8 and the default";
}

TEST(KernelBinding, CalculatesMetrics) {
  const Space space = stencil();
  EXPECT_THAT(bind(space, 1).metrics(configuration(64, 8)),
              ElementsAre(Pair("bytes", 16000.0), Pair("flops", 600000.0)));
}

TEST(KernelBinding, TakesTypesFromParameters) {
  KernelTemplate kernel = shared_kernel();
  kernel.parameters.push_back({"ACC", {"float", "double"}});
  kernel.parameters.push_back({"LAYOUT", {"row", "col"}});
  kernel.constraints.push_back(
      text("sizeof(ACC) >= 8 or LAYOUT == row", "/kernels/1/constraints/2"));
  kernel.arguments[1].type = "ACC";
  for (const char* argument : {"ACC", "LAYOUT", "cute::half_t", "Plus", "col", "unsigned char"}) {
    kernel.launches[0].template_arguments.push_back(text(argument, "/kernels/1/entry"));
  }
  const Space space = stencil(kernel);
  const KernelBinding bound = bind(space);
  Configuration chosen = configuration(256, 4);
  chosen["ACC"] = "double";
  chosen["LAYOUT"] = "col";
  const KernelInstance instance = bound.instantiate(chosen);
  EXPECT_EQ(
      "stencil1d_shared<int, 3, 256, 4, true, double, col, cute::half_t, Plus, col, unsigned char>",
      instance.launches[0].name_expression);
  EXPECT_EQ(ScalarType::float64, instance.arguments[1].type);
  EXPECT_TRUE(bound.satisfies_constraints(chosen));
  chosen["ACC"] = "float";
  EXPECT_FALSE(bound.satisfies_constraints(chosen));
  chosen["LAYOUT"] = "row";
  EXPECT_TRUE(bound.satisfies_constraints(chosen));
  EXPECT_EQ(16u * 3u, bound.search_space().size());
}

TEST(KernelBinding, PrintsAPlainEntryAsItStands) {
  KernelTemplate kernel = shared_kernel();
  kernel.launches[0].entry = "stencil1d_plain";
  kernel.launches[0].entry_name = "stencil1d_plain";
  kernel.launches[0].template_arguments.clear();
  const Space space = stencil(kernel);
  const KernelInstance instance = bind(space).instantiate(configuration(256, 4));
  EXPECT_EQ("stencil1d_plain", instance.launches[0].name_expression);
}

TEST(KernelBinding, BindsCarveOutAndProgrammaticLaunch) {
  KernelTemplate kernel = shared_kernel();
  kernel.launches[0].shared_carveout = text("ITEMS * 10", "/carveout");
  kernel.launches[0].programmatic = text("ITEMS > 1", "/programmatic");
  const Space space = stencil(kernel);
  const LaunchShape shape = bind(space).instantiate(configuration(256, 4)).launches[0];
  EXPECT_EQ(40, shape.shared_carveout);
  EXPECT_EQ(1, shape.programmatic);
  EXPECT_THAT(message_of([](KernelTemplate& k) {
                k.launches[0].shared_carveout = text("101", "/carveout");
              }),
              HasSubstr("/carveout: '101' is 101, -1 to 100 are possible"));
}

TEST(KernelBinding, PutsValuesIntoOptions) {
  KernelTemplate kernel = shared_kernel();
  kernel.options = {"--maxrregcount=${THREADS}", "-DWIDTH=${N}", "--use_fast_math"};
  const Space space = stencil(kernel);
  EXPECT_THAT(bind(space).instantiate(configuration(256, 4)).options,
              ElementsAre("--maxrregcount=256", "-DWIDTH=1000", "--use_fast_math"));
}

TEST(KernelBinding, HandsParametersAndTheProblemOverAsMacros) {
  KernelTemplate kernel = shared_kernel();
  kernel.pass = KernelTemplate::Pass::as_define;
  kernel.options = {"--use_fast_math"};
  {
    const Space space = stencil(kernel);
    EXPECT_THAT(bind(space).instantiate(configuration(256, 4)).options,
                ElementsAre("--use_fast_math", "-DITEMS=4", "-DN=1000"))
        << "T, RADIUS and THREADS are the entry's template arguments";
  }
  kernel.launches[0].template_arguments.clear();
  const Space space = stencil(kernel);
  EXPECT_THAT(bind(space).instantiate(configuration(256, 4)).options,
              ElementsAre("--use_fast_math", "-DITEMS=4", "-DN=1000", "-DRADIUS=3", "-DT=int",
                          "-DTHREADS=256"));
}

TEST(KernelBinding, KeepsOnlyTheArgumentsThatAreUsed) {
  KernelTemplate kernel = shared_kernel();
  ArgumentTemplate weights = buffer("weights", Role::input, "2 * RADIUS + 1");
  weights.memory = MemorySpace::constant;
  kernel.arguments.insert(kernel.arguments.begin() + 1, weights);
  weights.name = "other";
  weights.symbol = "other<3>";
  kernel.arguments.push_back(weights);
  {
    const Space space = stencil(kernel);
    const KernelInstance instance = bind(space).instantiate(configuration(256, 4));
    EXPECT_THAT(instance.launches[0].arguments, ElementsAre("in", "out", "n"));
    ASSERT_EQ(5u, instance.arguments.size());
    EXPECT_EQ("weights", instance.arguments[1].symbol);
    EXPECT_TRUE(instance.arguments[1].in_constant_memory());
    EXPECT_EQ("other<3>", instance.arguments[4].symbol);
    EXPECT_EQ("", instance.arguments[0].symbol);
  }
  kernel.launches[0].arguments = {"out", "in"};
  const Space space = stencil(kernel);
  const KernelInstance instance = bind(space).instantiate(configuration(256, 4));
  EXPECT_THAT(instance.launches[0].arguments, ElementsAre("out", "in"));
  ASSERT_EQ(4u, instance.arguments.size());
  EXPECT_EQ("in", instance.arguments[0].name);
  EXPECT_EQ("weights", instance.arguments[1].name);
  EXPECT_EQ("out", instance.arguments[2].name);
  EXPECT_EQ("other", instance.arguments[3].name);
}

TEST(KernelBinding, ConvertsScalarsToTheirTypes) {
  KernelTemplate kernel = shared_kernel();
  kernel.arguments.push_back(scalar("scale", "float", "RADIUS"));
  kernel.arguments.push_back(scalar("low", "signed char", "-128"));
  kernel.arguments.push_back(scalar("high", "unsigned", "4294967295"));
  ArgumentTemplate alpha = scalar("alpha", "double", "");
  alpha.value.reset();
  alpha.number = 0.25;
  kernel.arguments.push_back(alpha);
  alpha.name = "count";
  alpha.type = "long long";
  alpha.number = 3;
  kernel.arguments.push_back(alpha);
  const Space space = stencil(kernel);
  const KernelInstance instance = bind(space).instantiate(configuration(256, 4));
  EXPECT_EQ(3.0, instance.arguments[3].number);
  EXPECT_EQ(-128, instance.arguments[4].integer);
  EXPECT_EQ(4294967295, instance.arguments[5].integer);
  EXPECT_EQ(0.25, instance.arguments[6].number);
  EXPECT_EQ(3, instance.arguments[7].integer);
}

TEST(KernelBinding, ComputesFloatingScalarsAndContentsInDoublePrecision) {
  KernelTemplate kernel = shared_kernel();
  kernel.arguments.push_back(scalar("dx", "float", "1.0 / N"));
  kernel.arguments.push_back(scalar("half", "double", "1 / 2"));
  kernel.arguments.push_back(scalar("scale", "double", "1 / sqrt(THREADS)"));
  kernel.arguments.push_back(scalar("down", "int", "N / 3"));
  kernel.arguments[0].init.kind = Init::Kind::uniform;
  kernel.arguments[0].init_numbers = {text("-0.5", "/init"), text("N - 1", "/init")};
  const Space space = stencil(kernel);
  const KernelInstance instance = bind(space).instantiate(configuration(256, 4));
  const auto n = static_cast<double>(std::get<std::int64_t>(space.problems.front().at("N")));
  EXPECT_EQ(1.0 / n, instance.arguments[3].number);
  EXPECT_EQ(0.5, instance.arguments[4].number);
  EXPECT_EQ(0.0625, instance.arguments[5].number);
  EXPECT_EQ(std::floor(n / 3), static_cast<double>(instance.arguments[6].integer));
  EXPECT_EQ(-0.5, instance.arguments[0].init.a);
  EXPECT_EQ(n - 1, instance.arguments[0].init.b);
}

TEST(KernelBinding, RefusesScalarsThatDoNotFit) {
  const auto of_value = [](const std::string& type, const std::string& value) {
    return message_of([&](KernelTemplate& k) { k.arguments[2] = scalar("n", type, value); });
  };
  const auto of_number = [](const std::string& type, double number) {
    return message_of([&](KernelTemplate& k) {
      k.arguments[2] = scalar("n", type, "");
      k.arguments[2].value.reset();
      k.arguments[2].number = number;
    });
  };
  EXPECT_EQ(
      "configs/stencil1d.json: /arguments/n/value: 'n' is 2147483648, int holds -2147483648 to "
      "2147483647 (ITEMS=4,THREADS=256)",
      of_value("int", "2147483647 + 1"));
  EXPECT_EQ("no error", of_value("int", "2147483647"));
  EXPECT_THAT(of_value("unsigned char", "-1"), HasSubstr("unsigned char holds 0 to 255"));
  EXPECT_THAT(of_value("unsigned long long", "-1"), HasSubstr("'n' is -1"));
  EXPECT_THAT(of_value("__half", "65505"), HasSubstr("'n' is 65505, __half holds at most 65504"));
  EXPECT_THAT(of_number("int", 0.5), HasSubstr("'n' is 0.5, int holds integers"));
  EXPECT_THAT(of_number("long long", 1e19), HasSubstr("'n' is 1e+19"));
  EXPECT_THAT(of_number("float", 1e39), HasSubstr("float holds at most"));
  EXPECT_EQ("no error", of_number("double", 1e39));
}

TEST(KernelBinding, NamesThePlaceOfWhatDoesNotCompile) {
  EXPECT_EQ(
      "configs/stencil1d.json: /kernels/1/constraints/0: 'THREADS * ITEM >= RADIUS' column 11: "
      "unknown name 'ITEM'; did you mean 'ITEMS'?",
      message_of([](KernelTemplate& k) { k.constraints[0].text = "THREADS * ITEM >= RADIUS"; }));
  EXPECT_THAT(message_of([](KernelTemplate& k) { k.launches[0].block[0].text = "THREADS +"; }),
              HasSubstr("/kernels/1/block/0: 'THREADS +' column 10"));
  EXPECT_THAT(message_of([](KernelTemplate& k) { k.metrics["bytes"].text = "sizeof(U)"; }),
              HasSubstr("/metrics/bytes: 'sizeof(U)' column 8: unknown name 'U'"));
  EXPECT_THAT(
      message_of([](KernelTemplate& k) { k.launches[0].template_arguments[1].text = "RADUIS"; }),
      HasSubstr("/kernels/1/entry: 'RADUIS' column 1: unknown name 'RADUIS'; did you mean "
                "'RADIUS'?"));
  EXPECT_THAT(message_of([](KernelTemplate& k) { k.arguments[0].type = "flaot"; }),
              HasSubstr("/arguments/in/type: 'flaot' is neither an element type"));
  EXPECT_THAT(message_of([](KernelTemplate& k) { k.arguments[0].type = "RADIUS"; }),
              HasSubstr("/arguments/in/type: 'RADIUS' is neither an element type"));
  EXPECT_THAT(message_of([](KernelTemplate& k) { k.arguments[2].value.reset(); }),
              HasSubstr("/arguments/n: 'n' has neither a shape nor a value"));
  EXPECT_THAT(message_of([](KernelTemplate& k) {
                k.launches[0].arguments = {"in", "uot"};
              }),
              HasSubstr("/kernels/1: launch 0 names 'uot', which is not an argument"));
  EXPECT_THAT(message_of([](KernelTemplate& k) {
                k.arguments[0].memory = MemorySpace::constant;
                k.launches[0].arguments = {"in"};
              }),
              HasSubstr("launch 0 names 'in', which lies in constant memory"));
  EXPECT_THAT(message_of([](KernelTemplate& k) { k.launches[0].grid.clear(); }),
              HasSubstr("a block or grid of 0 dimensions"));
}

TEST(KernelBinding, PassesTexturesOfOneTwoOrFourElements) {
  KernelTemplate kernel = shared_kernel();
  kernel.arguments[0].memory = MemorySpace::texture;
  kernel.arguments[0].shape.push_back(text("RADIUS + 1", "/arguments/in/shape/1"));
  const auto instance = [&](std::int64_t radius) {
    const Space space = stencil(kernel);
    return KernelBinding(
               space, space.kernels.front(),
               {{"N", std::int64_t{1000}}, {"RADIUS", radius}, {"T", std::string("float")}},
               small_device())
        .instantiate(configuration(256, 4));
  };
  for (const std::int64_t texel : {1, 2, 4}) {
    const Argument in = instance(texel - 1).arguments[0];
    EXPECT_TRUE(in.is_texture());
    EXPECT_FALSE(in.in_constant_memory());
    EXPECT_EQ(texel, in.texel_elements());
    EXPECT_EQ("", in.symbol);
  }
  EXPECT_THAT(instance(3).launches[0].arguments, ElementsAre("in", "out", "n"));
  try {
    instance(2);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/arguments/in/shape/1: 'in' would have 3 elements in a "
                                        "texel, 1, 2 or 4 are possible"));
  }
}

TEST(KernelBinding, RefusesNamesThatMeanTwoThings) {
  EXPECT_EQ(
      "configs/stencil1d.json: /kernels/1/parameters/N: the parameter 'N' is also a name of "
      "the problem",
      message_of([](KernelTemplate& k) {
        k.parameters.push_back({"N", integers({1})});
      }));
  EXPECT_THAT(message_of([](KernelTemplate& k) {
                k.parameters.push_back({"sm_count", integers({1})});
              }),
              HasSubstr("the parameter 'sm_count' is also a name of the device"));
  EXPECT_THAT(message_of([](KernelTemplate& k) {
                k.parameters.push_back({"MODE", {std::int64_t{1}, "fast"}});
              }),
              HasSubstr("the values of 'MODE' are partly numbers and partly words"));
  Space space = stencil();
  space.problems[0]["warp_size"] = std::int64_t{32};
  EXPECT_THROW(bind(space), InputError);
}

TEST(KernelBinding, RefusesConfigurationsOfOtherParameters) {
  const auto nothing = [](KernelTemplate&) {};
  EXPECT_THAT(message_of(nothing, {{"THREADS", std::int64_t{1}}}),
              HasSubstr("'THREADS=1' has no value for the parameter 'ITEMS'"));
  Configuration other = configuration(256, 4);
  other["ITEM"] = std::int64_t{1};
  EXPECT_THAT(message_of(nothing, other),
              HasSubstr("the kernel 'shared' has no parameter 'ITEM'; did you mean 'ITEMS'?"));
  other = configuration(256, 4);
  other["ITEMS"] = "four";
  EXPECT_THAT(message_of(nothing, other),
              HasSubstr("'four' is not a value of the parameter 'ITEMS'"));
}

TEST(KernelBinding, NamesThePlaceOfWhatHasNoValue) {
  EXPECT_EQ(
      "configs/stencil1d.json: /kernels/1/grid/0: 'N / (ITEMS - 4)' column 3: division by "
      "zero: 1000 / 0 (ITEMS=4,THREADS=256)",
      message_of([](KernelTemplate& k) { k.launches[0].grid[0].text = "N / (ITEMS - 4)"; }));
  EXPECT_THAT(
      message_of([](KernelTemplate& k) { k.launches[0].static_shared_bytes->text = "ITEMS - 5"; }),
      HasSubstr("/kernels/1/static_shared_bytes: 'ITEMS - 5' is -1 bytes"));
  EXPECT_THAT(message_of([](KernelTemplate& k) { k.arguments[1].shape[0].text = "ITEMS - 4"; }),
              HasSubstr("/arguments/out/shape/0: 'out' would have 0 elements in this dimension"));
  EXPECT_THAT(message_of([](KernelTemplate& k) { k.arguments[1].shape[0].text = "pow2(61)"; }),
              HasSubstr("/arguments/out/shape/0: 'out' would have more than 2^63 bytes"));
  // Zero blocks make a configuration fail; the file is not faulty.
  EXPECT_EQ("no error", message_of([](KernelTemplate& k) { k.launches[0].grid[0].text = "0"; }));
}

TEST(KernelBinding, NamesTheConstraintsThatHaveNoValue) {
  KernelTemplate kernel = shared_kernel();
  kernel.constraints[0].text = "N / (ITEMS - 8) > 0";
  const Space space = stencil(kernel);
  const KernelBinding bound = bind(space);
  for (const auto& act : std::vector<std::function<void()>>{
           [&] { bound.search_space(); },
           [&] { bound.satisfies_constraints(configuration(64, 8)); }}) {
    try {
      act();
      FAIL();
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("configs/stencil1d.json: /kernels/1/constraints: 'N / "
                                          "(ITEMS - 8) > 0' column 3: division by zero"));
    }
  }
}

TEST(KernelBinding, LaunchesNothingForASizeOfZeroThatIsOnlyVerified) {
  Space space = stencil();
  const Problem empty = {{"N", std::int64_t{0}}, {"RADIUS", std::int64_t{0}}, {"T", "int"}};
  const KernelBinding tuned(space, space.kernels.front(), empty, small_device());
  EXPECT_THROW(tuned.instantiate(configuration(256, 4)), InputError);
  space.verify.also = {empty};
  const KernelBinding verified(space, space.kernels.front(), empty, small_device());
  const KernelInstance instance = verified.instantiate(configuration(256, 4));
  EXPECT_EQ(0, instance.launches[0].times);
  EXPECT_THAT(turns_of(instance.launches), IsEmpty());
  EXPECT_EQ(0, instance.arguments[1].elements());
}

}  // namespace
}  // namespace smemtune
