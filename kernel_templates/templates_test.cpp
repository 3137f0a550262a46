#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/config/devices_file.h"
#include "tuner/config/space_file.h"
#include "tuner/core/bound_kernel.h"
#include "tuner/core/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace smemtune {
namespace {

const std::filesystem::path kRoot = SMEMTUNE_SOURCE_DIR;

LoadedSpace load(const std::string& name) {
  return load_space(kRoot / "configs" / (name + ".json"), kRoot);
}

cuda::NvrtcCompiler& compiler() {
  static cuda::NvrtcCompiler compiler;
  return compiler;
}

/// Entries of one kernel with what the space declares of them, each instantiation once.
using Declared = std::map<std::string, std::int64_t>;  ///< Static shared bytes by name expression.

/// Of each problem at most `count` configurations that are as far apart as possible and that the
/// device's limits let through.
Declared declared(const Space& space, const KernelTemplate& kernel, const Device& device,
                  std::size_t count) {
  std::vector<Problem> problems = space.problems;
  problems.insert(problems.end(), space.cpu_problems.begin(), space.cpu_problems.end());
  problems.insert(problems.end(), space.verify.also.begin(), space.verify.also.end());
  Declared result;
  for (const Problem& problem : problems) {
    const BoundKernel bound(space, kernel, problem, device);
    const std::uint64_t size = bound.search_space().size();
    const std::uint64_t step = std::max<std::uint64_t>(1, (size + count - 1) / count);
    for (std::uint64_t i = 0; i < size; i += step) {
      const KernelInstance instance = bound.instantiate(bound.search_space().configuration(i));
      if (exceeds_limits(instance, device)) continue;
      for (const LaunchShape& launch : instance.launches) {
        EXPECT_TRUE(launch.static_shared_bytes) << kernel.name << " declares no static memory";
        result.emplace(launch.name_expression, launch.static_shared_bytes.value_or(-1));
      }
    }
  }
  return result;
}

CompileRequest request(const LoadedSpace& loaded, const KernelTemplate& kernel,
                       const std::string& architecture, std::vector<std::string> entries) {
  return {.architecture = architecture,
          .source = loaded.sources.at(kernel.name),
          .name_expressions = std::move(entries),
          .symbol_expressions = {},
          .options = kernel.options};
}

struct Sample {
  std::string space;
  std::string architecture;
  std::size_t count;  ///< Configurations per kernel and problem.
};

class ShippedTemplates : public testing::TestWithParam<Sample> {};

// No accepted configuration trips a static_assert, and the space declares the static shared memory
// that ptxas reports.
TEST_P(ShippedTemplates, CompileAsTheirSpaceDeclares) {
  const auto& [space, architecture, count] = GetParam();
  const int nvrtc = 10 * compiler().nvrtc().major + compiler().nvrtc().minor;
  if (architecture == "sm_120" && nvrtc < 128) GTEST_SKIP() << "sm_120 came with CUDA 12.8";
  const LoadedSpace loaded = load(space);
  const Device device = find_device(load_devices(kRoot / "configs/devices.json"), architecture);
  for (const KernelTemplate& kernel : loaded.space.kernels) {
    const Declared entries = declared(loaded.space, kernel, device, count);
    ASSERT_FALSE(entries.empty()) << kernel.name;
    std::vector<std::string> names;
    for (const auto& [name, bytes] : entries) names.push_back(name);
    // One program for all: much less work than one for each.
    const auto compiled = compiler().compile(request(loaded, kernel, architecture, names));
    ASSERT_TRUE(compiled) << kernel.name << ": " << compiled.failure().detail;
    for (const CompiledEntry& entry : compiled->entries) {
      EXPECT_EQ(entries.at(entry.name_expression), entry.resources.static_shared_bytes)
          << entry.name_expression;
    }
  }
}

/// Every shipped space for the oldest, the usual and the newest architecture.
std::vector<Sample> samples() {
  std::vector<Sample> samples;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "configs")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".json" || name == "schema" || name == "devices") continue;
    samples.push_back({name, "sm_80", 3});
    samples.push_back({name, "sm_90", 8});
    samples.push_back({name, "sm_120", 3});
  }
  std::ranges::sort(samples, {}, [](const Sample& s) { return s.space + s.architecture; });
  return samples;
}

INSTANTIATE_TEST_SUITE_P(Shipped, ShippedTemplates, testing::ValuesIn(samples()),
                         [](const auto& sample) {
                           return sample.param.space + "_" + sample.param.architecture;
                         });

/// The message of the compiler for one instantiation.
std::string refusal(const std::string& space, const std::string& kernel, const std::string& entry) {
  const LoadedSpace loaded = load(space);
  const auto compiled =
      compiler().compile(request(loaded, *loaded.space.kernel(kernel), "sm_90", {entry}));
  return compiled ? "" : compiled.failure().detail;
}

TEST(Templates, RefuseWhatWouldBeWrong) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("add_one", "add_one", "add_one<double, 128, 1, 4>"),
              HasSubstr("at most 16 bytes"));
  EXPECT_THAT(refusal("convolution", "naive", "convolution_naive<32, 8, 33, 32>"),
              HasSubstr("at most 1024 coefficients"));
  EXPECT_THAT(refusal("convolution", "tiled", "convolution_tiled<32, 4, 1, 1, 0, 1, 1, 3, 3>"),
              HasSubstr("read by half warps"));
  EXPECT_THAT(refusal("convolution", "tiled", "convolution_tiled<256, 4, 4, 4, 0, 0, 1, 15, 15>"),
              HasSubstr("ends at 48 KB"));
  EXPECT_THAT(refusal("gemm", "naive", "gemm_naive<float, 64, 32>"), HasSubstr("1 to 1024"));
  EXPECT_THAT(refusal("gemm", "tiled", "gemm_tiled<float, 32, 8, 3, 1, 0>"),
              HasSubstr("whole number of rows"));
  EXPECT_THAT(refusal("gemm", "tiled", "gemm_tiled<double, 128, 32, 8, 8, 0>"),
              HasSubstr("ends at 48 KB"));
  EXPECT_THAT(refusal("gemm", "buffered", "gemm_buffered<float, 32, 8, 1, 1, 0>"),
              HasSubstr("same number of elements"));
  EXPECT_THAT(
      refusal("gemm", "register_tiled", "gemm_register_tiled<float, 4, 64, 32, 8, 8, 8, 0, 1>"),
      HasSubstr("whole warps"));
  EXPECT_THAT(
      refusal("gemm", "register_tiled", "gemm_register_tiled<float, 4, 128, 128, 8, 8, 8, 1, 1>"),
      HasSubstr("whole pieces"));
  EXPECT_THAT(refusal("stencil1d", "shared", "stencil1d_shared<float, 5000, 1024, 8, 0, 1>"),
              HasSubstr("ends at 48 KB"));
}

}  // namespace
}  // namespace smemtune
