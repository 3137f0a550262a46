// Compares the results that come with smemtune with their kernels and the maximum performance of
// their GPUs.

#include "db/layered_store.h"
#include "tuner/config/space_file.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/core/least_time.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace smemtune {
namespace {

const std::filesystem::path kSource = SMEMTUNE_SOURCE_DIR;

std::vector<db::StoredResult> shipped_results() {
  const db::LayeredStore store(std::nullopt, db::files_in(kSource / "db/shipped", "shipped"),
                               [](const std::string& warning) { ADD_FAILURE() << warning; });
  return store.results({.source = "shared"});
}

// There are 33 problems of gemm on an H200 alone, including tensor cores, FP8 and int8.
TEST(ShippedTimes, AreAllPossible) {
  std::map<std::string, LoadedSpace> spaces;
  std::size_t judged = 0;
  for (const db::StoredResult& stored : shipped_results()) {
    const Result& result = stored.result;
    const auto [space, is_new] = spaces.try_emplace(stored.space);
    if (is_new) {
      space->second = load_space(kSource / "configs" / (stored.space + ".json"), kSource);
    }
    const KernelTemplate* const kernel = space->second.space.kernel(result.kernel);
    ASSERT_NE(nullptr, kernel) << stored.space << "/" << result.kernel;
    const KernelBinding bound(space->second.space, *kernel, result.problem, stored.device);
    const Measurement& time = result.measurement;
    for (const LeastTime& least :
         least_times(bound.instantiate(result.configuration), bound.metrics(result.configuration),
                     stored.device, time.sm_clock_mhz)) {
      EXPECT_FALSE(least.rules_out(time.median_ms))
          << stored.space << "/" << result.kernel << " on " << stored.device.name << ", "
          << key(result.problem) << ": " << least.text(time.median_ms);
      ++judged;
    }
  }
  EXPECT_GT(judged, 100U);
}

// Editing a kernel, or the reference that its results were compared with, makes them stale.
TEST(ShippedResults, AreOfTheKernelsAsTheyAreNow) {
  std::map<std::string, LoadedSpace> spaces;
  std::set<std::string> stale;
  for (const db::StoredResult& stored : shipped_results()) {
    const auto [found, is_new] = spaces.try_emplace(stored.space);
    LoadedSpace& loaded = found->second;
    if (is_new) loaded = load_space(kSource / "configs" / (stored.space + ".json"), kSource);
    const KernelTemplate* const kernel = loaded.space.kernel(stored.result.kernel);
    ASSERT_NE(nullptr, kernel) << stored.space << "/" << stored.result.kernel;
    const std::string hash = kernel_hash(loaded.space, *kernel, loaded.sources.at(kernel->name),
                                         loaded.sources.at(loaded.space.verify.reference));
    if (hash != stored.kernel_hash) stale.insert(stored.space + "/" + kernel->name);
  }
  EXPECT_EQ(stale, std::set<std::string>());
}

}  // namespace
}  // namespace smemtune
