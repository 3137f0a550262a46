#include "smemtune/smemtune.h"
#include "tuner/core/temporary_folder.h"

#include <cuda_runtime.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace smemtune {
namespace {

TEST(TunedKernel, CompilesLaunchesAndIsRight) {
  std::vector<Gpu> here;
  try {
    here = gpus();
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << error.what();
  }
  ASSERT_FALSE(here.empty());
  const Gpu& gpu = here.front();
  Selection selection;
  selection.match = Match::defaults;
  selection.space = selection.kernel = "scale";
  selection.problem = {{"N", std::int64_t{1000}}, {"T", "float"}};
  selection.parameters = {{"ITEMS", std::int64_t{2}}, {"THREADS", std::int64_t{64}}};
  const TemporaryFolder cache;
  for (int round = 0; round < 2; ++round) {  // Compiled first, then from the cache.
    const TunedKernel kernel(std::string(SMEMTUNE_SOURCE_DIR) + "/examples/scale.json", selection,
                             gpu, {.share = SMEMTUNE_SOURCE_DIR, .cache = cache.path()});
    std::vector<float> host(1000, 3.0f);
    float* in = nullptr;
    float* out = nullptr;
    ASSERT_EQ(cudaMalloc(&in, 4000), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&out, 4000), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(in, host.data(), 4000, cudaMemcpyHostToDevice), cudaSuccess);
    kernel.launch({{"in", in}, {"out", out}});  // With the space file's factor, 2.5.
    ASSERT_EQ(cudaMemcpy(host.data(), out, 4000, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(host, std::vector<float>(1000, 7.5f));
    kernel.launch({{"in", in}, {"out", out}, {"factor", 2.0f}});
    ASSERT_EQ(cudaMemcpy(host.data(), out, 4000, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(host, std::vector<float>(1000, 6.0f));
    EXPECT_THROW(kernel.launch({{"in", in}}), std::runtime_error);
    EXPECT_THROW(kernel.launch({{"in", in}, {"out", out}, {"factor", 2.0}}), std::runtime_error);
    EXPECT_THROW(kernel.launch({{"in", in}, {"out", out}, {"facto", 2.0f}}), std::runtime_error);
    EXPECT_EQ(cudaFree(in), cudaSuccess);
    EXPECT_EQ(cudaFree(out), cudaSuccess);
  }
  EXPECT_FALSE(std::filesystem::is_empty(cache.path()));
}

}  // namespace
}  // namespace smemtune
