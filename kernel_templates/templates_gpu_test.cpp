// What the driver says of the variants of every shipped space, on the GPU that is here: the
// occupancy that tuner/core computes and the resources that ptxas reports must be the driver's.

#include "tuner/backend/cuda/cuda_launcher.h"
#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace smemtune {
namespace {

const std::filesystem::path kRoot = SMEMTUNE_SOURCE_DIR;

// So many configurations of a kernel are looked at on each problem, evenly spaced over the space's
// order, and so many of their launches are compiled, evenly spaced from the smallest block to the
// largest: to compile all of a space takes minutes.
constexpr std::uint64_t kLookedAt = 200;
constexpr std::size_t kCompared = 24;

// Instantiations that are compiled as one program.
constexpr std::size_t kTogether = 4;

/// Launches of one kernel that can be compiled together.
struct Batch {
  std::string kernel;
  CompileRequest request;
  std::vector<LaunchShape> launches;
};

std::vector<std::string> shipped_spaces() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "configs")) {
    const std::string name = entry.path().stem().string();
    if (name != "devices" && name != "schema") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

/// A launch with the compiler options that it needs.
struct Launch {
  std::vector<std::string> options;
  LaunchShape shape;
};

/// Different launches of a kernel on all problems of its space: the smallest, the largest, and what
/// lies between them.
std::vector<Launch> launches_of(const Space& space, const KernelTemplate& kernel,
                                const Device& device) {
  std::vector<Problem> problems = space.problems;
  problems.insert(problems.end(), space.cpu_problems.begin(), space.cpu_problems.end());
  problems.insert(problems.end(), space.verify.also.begin(), space.verify.also.end());
  using Size = std::tuple<std::int64_t, std::int64_t, Dim3, std::string, std::vector<std::string>>;
  std::map<Size, Launch> by_size;
  for (const Problem& problem : problems) {
    const KernelBinding bound(space, kernel, problem, device);
    const std::uint64_t size = bound.search_space().size();
    const std::uint64_t step = std::max<std::uint64_t>(1, size / kLookedAt);
    for (std::uint64_t i = 0; i < size; i += step) {
      const KernelInstance instance = bound.instantiate(bound.search_space().configuration(i));
      if (exceeds_limits(instance, device)) continue;
      for (LaunchShape launch : instance.launches) {
        launch.arguments.clear();  // Nothing is launched.
        const Size of_launch = {launch.threads_per_block(), launch.dynamic_shared_bytes,
                                launch.block, launch.name_expression, instance.options};
        by_size.emplace(of_launch, Launch{instance.options, std::move(launch)});
      }
    }
  }
  std::vector<Launch> launches;
  const std::size_t count = std::min(kCompared, by_size.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * (by_size.size() - 1) / std::max<std::size_t>(1, count - 1);
    launches.push_back(std::next(by_size.begin(), static_cast<std::ptrdiff_t>(at))->second);
  }
  return launches;
}

std::vector<Batch> batches_of(const LoadedSpace& loaded, const KernelTemplate& kernel,
                              const Device& device) {
  std::vector<Launch> launches = launches_of(loaded.space, kernel, device);
  // Launches of one instantiation follow each other, so that it is compiled once.
  std::ranges::stable_sort(launches, {}, [](const Launch& launch) {
    return std::tie(launch.options, launch.shape.name_expression);
  });
  std::vector<Batch> batches;
  for (auto& [options, shape] : launches) {
    const bool fits = !batches.empty() && batches.back().request.options == options;
    const bool known =
        fits && batches.back().request.name_expressions.back() == shape.name_expression;
    if (!fits || (!known && batches.back().request.name_expressions.size() == kTogether)) {
      Batch batch;
      batch.kernel = kernel.name;
      batch.request.architecture = device.architecture + (kernel.architecture_specific ? "a" : "");
      batch.request.source = loaded.sources.at(kernel.name);
      batch.request.options = options;
      batches.push_back(std::move(batch));
    }
    if (!known) batches.back().request.name_expressions.push_back(shape.name_expression);
    batches.back().launches.push_back(std::move(shape));
  }
  return batches;
}

/// Compiles on every core. In the order of the batches.
std::vector<Outcome<CompiledKernel>> compile(const std::vector<Batch>& batches) {
  std::vector<Outcome<CompiledKernel>> compiled(batches.size(), Failure{});
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    cuda::NvrtcCompiler compiler;
    for (std::size_t i = next++; i < batches.size(); i = next++) {
      compiled[i] = compiler.compile(batches[i].request);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back(work);
  }
  threads.clear();  // Waits for them.
  return compiled;
}

class ShippedSpacesOnAGpu : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      launcher_ = std::make_unique<cuda::CudaLauncher>(0, compiler_);
    } catch (const UnavailableError& error) {
      if (std::getenv("SMEMTUNE_REQUIRE_GPU") != nullptr) FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
  }

  /// Returns how many launches were compared.
  std::size_t compare(const Batch& batch, const CompiledKernel& compiled) {
    const Device& device = launcher_->device();
    const auto loaded = launcher_->load(0, compiled, batch.launches, {});
    EXPECT_TRUE(loaded) << batch.launches.front().name_expression;
    if (!loaded) return 0;
    std::size_t compared = 0;
    for (std::size_t i = 0; i < batch.launches.size(); ++i) {
      const LaunchShape& launch = batch.launches[i];
      const Resources& driver = loaded->launches[i].resources;
      const Resources& ptxas = compiled.entry(launch.name_expression)->resources;
      EXPECT_EQ(driver.registers_per_thread, ptxas.registers_per_thread) << launch.name_expression;
      EXPECT_EQ(driver.static_shared_bytes, ptxas.static_shared_bytes) << launch.name_expression;
      EXPECT_EQ(driver.stack_bytes, ptxas.stack_bytes) << launch.name_expression;
      if (launch.threads_per_block() > driver.max_threads_per_block) continue;
      const Occupancy ours = occupancy(
          device, launch.threads_per_block(), ptxas.registers_per_thread,
          ptxas.static_shared_bytes + launch.dynamic_shared_bytes, launch.shared_carveout);
      EXPECT_EQ(ours.blocks_per_sm, loaded->launches[i].blocks_per_sm)
          << launch.name_expression << ", " << launch.threads_per_block() << " threads, "
          << ptxas.registers_per_thread << " registers, " << ptxas.static_shared_bytes << " + "
          << launch.dynamic_shared_bytes << " bytes";
      ++compared;
    }
    return compared;
  }

  std::shared_ptr<cuda::NvrtcCompiler> compiler_ = std::make_shared<cuda::NvrtcCompiler>();
  std::unique_ptr<cuda::CudaLauncher> launcher_;
};

TEST_P(ShippedSpacesOnAGpu, HaveTheDriversOccupancy) {
  const LoadedSpace loaded = load_space(kRoot / "configs" / (GetParam() + ".json"), kRoot);
  std::vector<Batch> batches;
  for (const KernelTemplate& kernel : loaded.space.kernels) {
    std::ranges::move(batches_of(loaded, kernel, launcher_->device()), std::back_inserter(batches));
  }
  const auto compiled = compile(batches);
  std::map<std::string, std::size_t> compared;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    EXPECT_TRUE(compiled[i]) << compiled[i].failure().detail;
    if (compiled[i]) compared[batches[i].kernel] += compare(batches[i], *compiled[i]);
  }
  for (const KernelTemplate& kernel : loaded.space.kernels) {
    EXPECT_GT(compared[kernel.name], 0u) << kernel.name;
    std::printf("%s %s: %zu launches\n", GetParam().c_str(), kernel.name.c_str(),
                compared[kernel.name]);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ShippedSpacesOnAGpu, testing::ValuesIn(shipped_spaces()),
                         [](const auto& space) { return space.param; });

}  // namespace
}  // namespace smemtune
