#include "tuner/config/t1_file.h"

#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/planted_recordings_test_support.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace smemtune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Value number(std::int64_t value) { return value; }

TEST(PythonList, HoldsWhatPythonWouldMakeOfIt) {
  EXPECT_THAT(python_list("[1, 2, 4]"), ElementsAre(number(1), number(2), number(4)));
  EXPECT_THAT(python_list(" (16,) "), ElementsAre(number(16)));
  EXPECT_THAT(python_list("[True, False]"), ElementsAre(number(1), number(0)));
  EXPECT_THAT(python_list("['float', \"a, b\"]"), ElementsAre(Value("float"), Value("a, b")));
  EXPECT_THAT(python_list("[2**3, -1, (1 + 2) * 4]"),
              ElementsAre(number(8), number(-1), number(12)));
  EXPECT_THAT(python_list("range(3)"), ElementsAre(number(0), number(1), number(2)));
  EXPECT_THAT(python_list("list(range(1, 9, 3))"), ElementsAre(number(1), number(4), number(7)));
  EXPECT_THAT(python_list("range(3, 0, -1)"), ElementsAre(number(3), number(2), number(1)));
  EXPECT_THAT(python_list("[2**i for i in range(4)]"),
              ElementsAre(number(1), number(2), number(4), number(8)));
  EXPECT_THAT(python_list("list(32 * n for n in [1, 2, 3] if n % 2 == 1)"),
              ElementsAre(number(32), number(96)));
  EXPECT_THAT(python_list("[1] + [2 * i for i in range(1, 3)] + list(range(8, 10, 1))"),
              ElementsAre(number(1), number(2), number(4), number(8), number(9)));
  EXPECT_THAT(python_list("[i for i in [1, 2] + [40] if 1 < i <= 40]"),
              ElementsAre(number(2), number(40)));
  EXPECT_THAT(python_list("[]"), IsEmpty());
}

TEST(PythonList, RunsNothing) {
  for (const char* text :
       {"__import__('os').system('id')", "[__import__('os')]", "[x for x in open('/etc/passwd')]",
        "lambda: 1", "", "[1", "range()", "range(1, 2, 0)", "range(10**9)", "[i for i in i]",
        "[1 for i in ['a']]", "[1.5]", "[a]", "[1, for]", "[1] +", "+", "[3 / 2]",
        "[i / 2 for i in range(4)]"}) {
    EXPECT_THROW(python_list(text), InputError) << text;
  }
  std::string deep = "[1]";
  for (int i = 0; i < 40; ++i) deep = "list(" + deep + ")";
  EXPECT_THROW(python_list(deep), InputError);
}

/// A fixture with a specification like those of the hub, and a kernel beside it.
class T1 : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  LoadedSpace load(const Json& t1) const {
    return load_space(write("t1.json", t1.dump()), folder_ / "share");
  }

  std::string error(const Json& t1) const {
    try {
      load(t1);
    } catch (const InputError& thrown) {
      return thrown.what();
    }
    return "none";
  }

  const TemporaryFolder own_folder_;
  const fs::path folder_ = own_folder_.path();
  Json scale_ = Json::parse(R"({
    "ConfigurationSpace": {
      "TuningParameters": [
        {"Name": "block_size_x", "Type": "int", "Values": "[2**i for i in range(5, 10)]",
         "Default": 64},
        {"Name": "width", "Type": "int", "Values": "[1, 2, 4]"}],
      "Conditions": [{"Expression": "block_size_x * width <= 512 and width != 2",
                      "Parameters": ["block_size_x", "width"]}]},
    "KernelSpecification": {
      "Language": "CUDA", "KernelName": "scale", "KernelFile": "scale.cu",
      "CompilerOptions": ["-std=c++11", "--use_fast_math"],
      "LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"},
      "GlobalSize": {"X": "1", "Y": "1", "Z": "1"},
      "GridDivX": ["block_size_x", "width"], "ProblemSize": [4096],
      "Arguments": [
        {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly",
         "FillType": "Constant", "FillValue": 0.0, "Size": "ProblemSize[0] + max(width) - 1"},
        {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly",
         "FillType": "Random", "FillValue": 1.0, "Size": "ProblemSize[0]"},
        {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 4096}]}})");
  fs::path kernel_ = write("scale.cu", R"(
#ifndef kernel_tuner
#define block_size_x 32
#define width 1
#endif
extern "C" __global__ void scale(float* out,
    const float* in, int n) {
  for (int i = 0; i < width; ++i) {
    const int at = (blockIdx.x * width + i) * block_size_x + threadIdx.x;
    if (at < n) out[at] = 2 * in[at];
  }
})");
};

TEST_F(T1, IsASpaceWithMacros) {
  const LoadedSpace loaded = load(scale_);
  EXPECT_EQ("scale", loaded.space.name);
  EXPECT_EQ("problem_size_x=4096", key(loaded.space.problems.at(0)));
  const KernelTemplate& kernel = loaded.space.kernels.at(0);
  EXPECT_EQ("block_size_x=64,width=1", key(kernel.default_configuration));
  const Device device = h200_limits();
  const KernelBinding bound(loaded.space, kernel, loaded.space.problems.at(0), device);
  EXPECT_EQ(8u, bound.search_space().size());
}

TEST_F(T1, HasConditionsAsPythonReadsThem) {
  const auto valid = [&](const char* condition) {
    scale_["ConfigurationSpace"]["Conditions"][0]["Expression"] = condition;
    const LoadedSpace loaded = load(scale_);
    const Device device = h200_limits();
    const KernelBinding bound(loaded.space, loaded.space.kernels.at(0), loaded.space.problems.at(0),
                              device);
    return bound.search_space().size();
  };
  EXPECT_EQ(15u, valid("True"));
  EXPECT_EQ(8u, valid("64 <= block_size_x * width <= 256"));
  EXPECT_EQ(4u, valid("block_size_x / 3 > 21 and width == 1")) << "64 / 3 is 21.3";
  EXPECT_EQ(5u, valid("width in [1, 3]"));
  EXPECT_EQ(10u, valid("not (width == 2)"));
  EXPECT_EQ(15u, valid("block_size_x % (64 / width) % 2 == 0"));
}

TEST_F(T1, HasADefaultThatIsValidWhateverThePublishedOneIs) {
  const auto default_of = [&] {
    return key(load(scale_).space.kernels.at(0).default_configuration);
  };
  Json& parameter = scale_["ConfigurationSpace"]["TuningParameters"][0];
  parameter["Default"] = 48;
  EXPECT_EQ("block_size_x=32,width=1", default_of()) << "48 is none of its values";
  parameter["Default"] = Json::array({128});
  EXPECT_EQ("block_size_x=128,width=1", default_of());
  scale_["ConfigurationSpace"]["Conditions"][0]["Expression"] = "block_size_x * width == 256";
  EXPECT_EQ("block_size_x=64,width=4", default_of());
  // The search for defaults is given up if it would take too long.
  Json& parameters = scale_["ConfigurationSpace"]["TuningParameters"];
  for (const char* name : {"a", "b", "c", "d"}) {
    parameters.push_back({{"Name", name}, {"Type", "int"}, {"Values", "list(range(1000))"}});
  }
  scale_["ConfigurationSpace"]["Conditions"][0]["Expression"] = "a + b + c + d < 0";
  EXPECT_THAT(error(scale_), HasSubstr("fails `python(a + b + c + d < 0)`"));
}

TEST_F(T1, PassesWhatIsInConstantMemoryWhereTheKernelTakesIt) {
  Json& arguments = scale_["KernelSpecification"]["Arguments"];
  arguments.push_back({{"Name", "factors"},
                       {"Type", "float"},
                       {"MemoryType", "Vector"},
                       {"AccessType", "ReadOnly"},
                       {"MemType", "Constant"},
                       {"FillType", "Random"},
                       {"Size", "4"}});
  EXPECT_EQ(4u, load(scale_).space.kernels.at(0).arguments.size());
  write("scale.cu", R"(__constant__ float factors[4];
extern "C" __global__ void scale(float* out, const float* in, int n, const float* passed) {
  out[block_size_x * width + n] = in[0] * passed[0];
})");
  const auto both = load(scale_).space.kernels.at(0).arguments;
  ASSERT_EQ(5u, both.size());
  EXPECT_EQ("factors_passed", both[4].name);
}

TEST_F(T1, TakesAParameterWithoutEffect) {
  scale_["ConfigurationSpace"]["TuningParameters"].push_back(
      {{"Name", "unused"}, {"Type", "int"}, {"Values", "[0, 1]"}});
  EXPECT_THAT(load(scale_).notes, testing::Contains(HasSubstr("unused has no effect")));
}

/// Loading takes time in proportion to the file, not to products of its lists.
TEST_F(T1, ReadsLongListsAndRefusesLongerOnes) {
  Json& parameters = scale_["ConfigurationSpace"]["TuningParameters"];
  parameters[1]["Values"] = "[1 + i for i in range(60000)]";
  EXPECT_EQ(60'000u, load(scale_).space.kernels.at(0).parameters.at(1).values.size());
  parameters[0]["Values"] = "list(range(60000))";
  EXPECT_THAT(error(scale_), HasSubstr("more than 100000 values in all"));
  EXPECT_THROW(python_list("range(60000) + range(60000)"), InputError);
}

/// The sizes are those of the specification's vectors, and a grid counts blocks unless it says
/// otherwise.
TEST_F(T1, OfKttNamesNoProblemSize) {
  Json& kernel = scale_["KernelSpecification"];
  kernel.erase("ProblemSize");
  kernel.erase("GridDivX");
  kernel["GlobalSize"] = {{"X", "4096 // block_size_x // width"}};
  kernel["LocalSize"] = {{"X", "block_size_x"}};
  kernel["CompilerOptions"] = {"", "-std=c++14", "-use_fast_math"};
  kernel["Arguments"][0]["Size"] = 4096;
  kernel["Arguments"][1]["Size"] = 4096;
  kernel["Arguments"][1]["FillType"] = "Generator";
  kernel["Arguments"][1]["DataSource"] = "2 * i + 3";
  const auto grid_of_default = [&] {
    const LoadedSpace loaded = load(scale_);
    EXPECT_EQ("problem_size_x=4096", key(loaded.space.problems.at(0)));
    const KernelTemplate& its = loaded.space.kernels.at(0);
    const Device device = h200_limits();
    const KernelBinding bound(loaded.space, its, loaded.space.problems.at(0), device);
    return bound.instantiate(its.default_configuration).launches.at(0).grid[0];
  };
  EXPECT_EQ(64, grid_of_default());
  kernel["GlobalSizeType"] = "OpenCL";
  EXPECT_EQ(1, grid_of_default());
  kernel["GlobalSize"]["X"] = "no_parameter";
  EXPECT_THAT(error(scale_), HasSubstr("no_parameter"));
}

TEST_F(T1, HasDataSourcesAsPythonReadsThem) {
  const auto init = [](const std::string& source) {
    Json root = Json::parse(R"json({ "ConfigurationSpace": { "TuningParameters": [] },
      "KernelSpecification": { "KernelName": "k", "KernelFile": "k.cu",
        "CompilerOptions": ["-lineinfo", "-use_fast_math"],
        "LocalSize": { "X": "32" }, "GlobalSize": { "X": "1" },
        "Arguments": [{ "Name": "a", "Type": "float", "MemoryType": "Vector", "Size": 64,
                        "AccessType": "ReadOnly", "FillType": "Generator" }] } })json");
    root["KernelSpecification"]["Arguments"][0]["DataSource"] = source;
    const Json space = space_of_t1(root, "");
    EXPECT_EQ(space["kernels"][0]["options"],
              Json::array({"-Dkernel_tuner=1", "-lineinfo", "--use_fast_math"}));
    return space["arguments"][0]["init"].get<std::string>();
  };
  EXPECT_EQ("a[i] = 1+(i//4)*0.1", init("1+(i//4)*0.1"));
  EXPECT_EQ("a[i] = ((i%2 == 0) ? (0.5) : (1.5))", init("0.5 if i%2 == 0 else 1.5"));
  EXPECT_EQ("a[i] = 2 * (((i > 3) ? (sin(i)) : (((i > 1) ? ((i)) : (floor(i / 2))))))",
            init("2 * (math.sin(i) if i > 3 else float(i) if i > 1 else int(i / 2))"));
  EXPECT_EQ("a[i] = max(((i > 2) ? (1) : (0)), i)", init("max(1 if i > 2 else 0, i)"));
  EXPECT_EQ("a[i] = b[((i > 2) ? (i) : (0))]", init("b[i if i > 2 else 0]"));
}

TEST_F(T1, TakesTheBytesOfAFile) {
  Json& in = scale_["KernelSpecification"]["Arguments"][1];
  in["FillType"] = "BinaryRaw";
  in["DataSource"] = "data/in.bin";
  EXPECT_EQ(R"(file("data/in.bin"))",
            space_of_t1(scale_, "")["arguments"][1]["init"].get<std::string>());
}

TEST_F(T1, SaysWhatHasNoCounterpart) {
  Json t1 = scale_;
  t1["KernelSpecification"]["Language"] = "OpenCL";
  EXPECT_THAT(error(t1), HasSubstr("t1.json: /KernelSpecification/Language: 'OpenCL' is not CUDA"));
  t1 = scale_;
  t1["ConfigurationSpace"]["TuningParameters"][0]["Values"] = "exec('1')";
  EXPECT_THAT(error(t1), HasSubstr("not a list of values"));
  t1 = scale_;
  t1["KernelSpecification"]["Arguments"][0]["FillType"] = "Script";
  EXPECT_THAT(error(t1), HasSubstr("'out' is filled by 'Script'"));
  t1 = scale_;
  t1["KernelSpecification"].erase("ProblemSize");
  EXPECT_THAT(error(t1), HasSubstr("/KernelSpecification/ProblemSize"));
}

TEST_F(T1, OfAPlantedBlurHasItsConfigurations) {
  write("blur.cu", R"(
extern "C" __global__ void blur_kernel(float* out, const float* in) {
#if use_padding
  __shared__ float tile[block_size_y * tile_size_y][block_size_x * tile_size_x];
#endif
}
)");
  const LoadedSpace loaded = load(Json::parse(planted_t1()));
  const Device device = h200_limits();
  const KernelBinding bound(loaded.space, loaded.space.kernels.at(0), loaded.space.problems.at(0),
                            device);
  const SearchSpace& space = bound.search_space();
  std::set<Configuration> wanted;
  for (const PlantedPoint& point : planted_points()) {
    Configuration configuration;
    for (std::size_t i = 0; i < kPlantedNames.size(); ++i) {
      configuration[kPlantedNames[i]] = std::int64_t{point.values()[i]};
    }
    wanted.insert(std::move(configuration));
  }
  std::set<Configuration> found;
  for (std::size_t i = 0; i < space.size(); ++i) found.insert(space.configuration(i));
  EXPECT_EQ(wanted, found);
  EXPECT_EQ("planted_blur", loaded.space.name);
}

TEST_F(T1, OfTheSharedConvolutionHasItsConfigurations) {
  const fs::path shared =
      fs::path(SMEMTUNE_SOURCE_DIR) / "../shared/data/convolution/convolution_T1.json";
  if (!fs::exists(shared)) {
    ASSERT_EQ(nullptr, std::getenv("SMEMTUNE_REQUIRE_SHARED")) << shared << " is missing";
    GTEST_SKIP() << shared << " is missing";
  }
  write("convolution_milo.cu", R"(
__constant__ float d_filter[filter_height * filter_width];
extern "C" __global__ void convolution_kernel(float* output_image, const float* input_image) {
#if use_shmem && use_cmem && !use_padding && !read_only
  __shared__ float tile[block_size_y * tile_size_y][block_size_x * tile_size_x];
#endif
}
)");
  std::ifstream stream(shared);
  const LoadedSpace loaded = load(Json::parse(stream));
  const Device device = h200_limits();
  const KernelBinding bound(loaded.space, loaded.space.kernels.at(0), loaded.space.problems.at(0),
                            device);
  EXPECT_EQ(4362u, bound.search_space().size());
  EXPECT_EQ("convolution_milo", loaded.space.name);
}

}  // namespace
}  // namespace smemtune
