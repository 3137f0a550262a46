#include "tuner/core/launch_cost.h"

#include "tuner/core/device.h"
#include "tuner/core/stencil_space_test_support.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smemtune {
namespace {

double cost(const KernelTemplate& kernel, std::int64_t threads, std::int64_t items,
            int registers = 32) {
  const Space space = stencil(kernel);
  Problem problem = space.problems.front();
  problem["N"] = std::int64_t{1} << 24;
  const KernelBinding bound(space, space.kernels.front(), problem, h200_limits());
  return launch_cost(bound, {{"THREADS", threads}, {"ITEMS", items}}, h200_limits(), registers);
}

KernelTemplate wide_kernel() {
  KernelTemplate kernel = shared_kernel();
  kernel.constraints.clear();
  return kernel;
}

TEST(LaunchCost, IsMoreWhereLanesIdleOrHaveOneResultEach) {
  EXPECT_GT(cost(wide_kernel(), 33, 4), 1.5 * cost(wide_kernel(), 64, 4));
  EXPECT_GT(cost(wide_kernel(), 256, 1), cost(wide_kernel(), 256, 4));
}

TEST(LaunchCost, IsMoreWhereRegistersOrSharedMemoryLeaveTooFewWarps) {
  EXPECT_GT(cost(wide_kernel(), 128, 1, 255), cost(wide_kernel(), 128, 1, 32));
  KernelTemplate hungry = wide_kernel();
  hungry.launches.front().static_shared_bytes.reset();
  hungry.launches.front().dynamic_shared_bytes = ExpressionText{"200000", "/dynamic_shared_bytes"};
  EXPECT_GT(cost(hungry, 128, 1), cost(wide_kernel(), 128, 1));
}

TEST(LaunchCost, IsInfiniteForWhatCannotRun) {
  EXPECT_TRUE(std::isinf(cost(wide_kernel(), 2048, 1)));
  EXPECT_TRUE(std::isinf(cost(wide_kernel(), 1024, 1, 255)));
  EXPECT_TRUE(std::isinf(cost(wide_kernel(), 0, 1)));
}

}  // namespace
}  // namespace smemtune
