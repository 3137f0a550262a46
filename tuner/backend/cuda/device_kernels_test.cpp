#include "tuner/backend/cuda/device_kernels.h"

#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/backend/cuda/stopwatch.h"
#include "tuner/core/error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace smemtune::cuda {
namespace {

TEST(DeviceKernels, CompileForEveryArchitectureWithoutSpills) {
  try {
    NvrtcCompiler compiler;
    for (const char* architecture : {"sm_75", "sm_80", "sm_90"}) {
      for (const CompileRequest& request : device_kernels_requests(architecture)) {
        const auto compiled = compiler.compile(request);
        ASSERT_TRUE(compiled) << compiled.failure().detail;
        for (const CompiledEntry& entry : compiled->entries) {
          EXPECT_EQ(entry.resources.spill_store_bytes, 0) << entry.name_expression;
          EXPECT_EQ(entry.resources.spill_load_bytes, 0) << entry.name_expression;
          // Findings are in memory, all else is in registers.
          const bool finds = entry.name_expression == "compare";
          EXPECT_LE(entry.resources.stack_bytes, finds ? 128 : 0) << entry.name_expression;
        }
      }
    }
  } catch (const UnavailableError& error) {
    if (std::getenv("SMEMTUNE_REQUIRE_CUDA") != nullptr) FAIL() << error.what();
    GTEST_SKIP() << error.what();
  }
}

TEST(DeviceKernels, ThatDoNotCompileAreAnErrorWhenTheyAreNeeded) {
  try {
    auto compiled = compile_device_kernels(std::make_shared<NvrtcCompiler>(), "sm_1");
    for (auto& program : compiled) EXPECT_THROW(program.get(), UnavailableError);
    compiled = compile_device_kernels(std::make_shared<NvrtcCompiler>(), "sm_90");
    for (auto& program : compiled) EXPECT_FALSE(program.get().entries.empty());
  } catch (const UnavailableError& error) {
    if (std::getenv("SMEMTUNE_REQUIRE_CUDA") != nullptr) FAIL() << error.what();
    GTEST_SKIP() << error.what();
  }
}

TEST(ClockMhz, IsTheMeanOverTheMultiprocessorsThatHaveBothStamps) {
  const std::vector<ClockStamp> before = {{1000, 5000}, {0, 0}, {100, 5000}, {7, 5000}};
  const std::vector<ClockStamp> after = {{2980, 6000}, {500, 6000}, {1900, 6000}, {0, 0}};
  EXPECT_DOUBLE_EQ(clock_mhz(before, after), (1980.0 + 1800.0) / 2);
  EXPECT_EQ(clock_mhz({}, {}), 0);
}

}  // namespace
}  // namespace smemtune::cuda
