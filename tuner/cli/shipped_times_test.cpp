// Compares the results that come with smemtune with their kernels and the maximum performance of
// their GPUs.

#include "db/layered_store.h"
#include "tuner/config/space_file.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/core/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace smemtune {
namespace {

const std::filesystem::path kSource = SMEMTUNE_SOURCE_DIR;

/// Returns the shipped results, or those of the tables of times as well.
std::vector<db::StoredResult> shipped_results(bool with_times = false) {
  std::vector<db::SharedFile> files = db::files_in(kSource / "db/shipped", "shipped");
  if (with_times) {
    std::ranges::move(db::files_in(kSource / "db/shipped/times", "times"),
                      std::back_inserter(files));
  }
  const db::LayeredStore store(std::nullopt, files,
                               [](const std::string& warning) { ADD_FAILURE() << warning; });
  return store.results({.source = "shared"});
}

// There are 33 problems of gemm on an H200 alone, including tensor cores, FP8 and int8.
TEST(ShippedTimes, AreAllPossible) {
  std::map<std::string, LoadedSpace> spaces;
  std::size_t judged = 0;
  for (const db::StoredResult& stored : shipped_results(/*with_times=*/true)) {
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
  for (const db::StoredResult& stored : shipped_results(/*with_times=*/true)) {
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

// A run that finds such facts of its whole space confirms them instead of searching.
TEST(ShippedResults, SayOfASearchOnlyWhatHoldsOfTheWholeSpace) {
  std::map<std::string, LoadedSpace> spaces;
  std::map<std::string, std::uint64_t> counted;
  for (const db::StoredResult& stored : shipped_results()) {
    const auto& searched = stored.result.finals.searched;
    if (!searched) continue;
    const Problem& problem = stored.result.problem;
    const auto [found, is_new] = spaces.try_emplace(stored.space);
    const Space& space = found->second.space;
    if (is_new) {
      found->second = load_space(kSource / "configs" / (stored.space + ".json"), kSource);
    }
    const std::string name = stored.space + ", " + key(problem) + " on " + stored.device.name;
    const auto [valid, is_first] = counted.try_emplace(name, 0);
    for (const KernelTemplate& kernel : space.kernels) {
      if (!is_first) break;
      valid->second += KernelBinding(space, kernel, problem, stored.device).search_space().size();
    }
    EXPECT_EQ(searched->valid, valid->second) << name;
  }
  EXPECT_GT(counted.size(), 100U);
}

// A run that begins with them takes the latest that was chosen for the answer of a search.
TEST(ShippedResults, HaveOneThatWasChosenOfEachProblem) {
  std::set<std::string> chosen;
  for (const db::StoredResult& stored : shipped_results()) {
    if (!stored.result.chosen) continue;
    const std::string name =
        stored.space + ", " + key(stored.result.problem) + " on " + stored.device.name;
    EXPECT_TRUE(chosen.insert(name).second) << name;
  }
  EXPECT_GT(chosen.size(), 100U);
}

// A selection takes them for what is right at sizes that were not measured.
TEST(ShippedDefaults, HaveTheConditionsOfTheSpacesAsTheyAreNow) {
  std::map<std::string, LoadedSpace> spaces;
  std::set<std::string> with_conditions;
  const auto texts_of = [](const std::vector<ExpressionText>& conditions) {
    std::vector<std::string> texts;
    for (const ExpressionText& one : conditions) texts.push_back(one.text);
    return texts;
  };
  const auto files = db::files_in(kSource / "db/shipped", "shipped");
  ASSERT_FALSE(files.empty());
  for (const db::SharedFile& file : files) {
    const db::LayeredStore store(std::nullopt, {file},
                                 [](const std::string& warning) { ADD_FAILURE() << warning; });
    for (const db::KernelDefaults& defaults : store.defaults({.source = "shared"})) {
      const std::string name = defaults.space + "/" + defaults.kernel + " of " + file.name;
      const auto [found, is_new] = spaces.try_emplace(defaults.space);
      LoadedSpace& loaded = found->second;
      if (is_new) {
        loaded = load_space(kSource / "configs" / (defaults.space + ".json"), kSource);
      }
      const KernelTemplate* const kernel = loaded.space.kernel(defaults.kernel);
      ASSERT_NE(nullptr, kernel) << name;
      EXPECT_EQ(defaults.constraints, texts_of(kernel->constraints)) << name;
      EXPECT_EQ(defaults.promising, texts_of(kernel->promising)) << name;
      EXPECT_EQ(defaults.launches.blocks.size(), kernel->launches.size()) << name;
      for (const auto& [metric, text] : defaults.launches.metrics) {
        EXPECT_EQ(text, kernel->metrics.at(metric).text) << name;
      }
      if (!defaults.constraints.empty()) with_conditions.insert(name);
    }
  }
  EXPECT_GT(with_conditions.size(), 50U);
}

}  // namespace
}  // namespace smemtune
