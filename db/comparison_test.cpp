#include "db/comparison.h"

#include "db/import.h"
#include "db/planted_results_test_support.h"
#include "db/recording.h"
#include "db/result_store.h"
#include "tuner/core/planted_recordings_test_support.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

namespace smemtune::db {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Configuration config(std::int64_t tile, std::int64_t unroll) {
  return {{"TILE", tile}, {"UNROLL", unroll}};
}

class ComparisonOf : public testing::Test {
 protected:
  void record(const std::string& device, const std::vector<Result>& results,
              const std::string& hash = "hash", const std::string& strategy = "forest",
              const std::string& outcome = "complete") {
    const std::string id = "run-" + std::to_string(++runs_);
    smemtune::Run run = planted_run(planted_device(device), id);
    run.strategy = strategy;
    const auto log = store_.begin_run(run);
    for (const Result& result : results) log->record(hash, result);
    store_.end_run(id, outcome);
  }

  const Comparison::Guest& guest(const Comparison::Row& row, std::size_t on, std::size_t of) {
    return *std::ranges::find_if(row.guests, [&](const Comparison::Guest& one) {
      return one.on == on && one.best_of == of;
    });
  }

  /// Imports recordings of six GPUs, keyed by file name, and expects their comparison to agree with
  /// a plain search over the files.
  void expect_what_files_say(const std::map<std::string, std::filesystem::path>& files);

  /// Returns the share of its optimum that GPU `on` reaches with the best of GPU `of`, both given
  /// by file name.
  double share(const std::string& on, const std::string& of) {
    return guest(comparison_.rows.at(0), column(on), column(of)).share.value();
  }

  std::size_t column(const std::string& name) const {
    const auto found =
        std::ranges::find(comparison_.columns, devices_.at(name), &Comparison::Column::label);
    EXPECT_TRUE(found != comparison_.columns.end() && found->is_imported) << name;
    return static_cast<std::size_t>(found - comparison_.columns.begin());
  }

  ResultStore store_{":memory:"};
  int runs_ = 0;
  Comparison comparison_;
  /// Number of repairs in the advice that expect_what_files_say() checked.
  std::size_t repairs_ = 0;
  std::map<std::string, std::string> devices_;  ///< Devices, by file name.
};

TEST_F(ComparisonOf, SaysWhichShareOfItsOptimumAGpuKeeps) {
  record("A", {planted(config(1, 1), 1), planted(config(2, 1), 4), planted_failure(config(3, 1))});
  record("B", {planted(config(1, 1), 5), planted(config(2, 1), 2)});
  record("C", {planted(config(3, 1), 3)});
  const Comparison comparison = store_.compare({});
  ASSERT_THAT(comparison.columns, SizeIs(3));
  ASSERT_THAT(comparison.rows, SizeIs(1));
  const Comparison::Row& row = comparison.rows[0];
  EXPECT_THAT(row.gpus, ElementsAre(0, 1, 2));
  EXPECT_DOUBLE_EQ(guest(row, 0, 1).share.value(), 0.25);
  EXPECT_DOUBLE_EQ(guest(row, 1, 0).share.value(), 0.4);
  EXPECT_DOUBLE_EQ(guest(row, 1, 0).slower.value().percent, 150);
  EXPECT_EQ(verdict_of(guest(row, 1, 0).slower, kSameBetweenSessions_percent), Verdict::slower);
  EXPECT_EQ(guest(row, 0, 2).share, 0);
  EXPECT_EQ(guest(row, 0, 2).failure, "constraints (shared_bytes)");
  EXPECT_FALSE(guest(row, 1, 2).share) << "never measured";
  EXPECT_FALSE(guest(row, 2, 0).share);
  EXPECT_FALSE(row.least_worst) << "none runs on all three";
  EXPECT_DOUBLE_EQ(row.slower_than_fastest.at(1).value().percent, 100);
}

TEST_F(ComparisonOf, FindsOneConfigurationForAll) {
  // TILE=3 is the best on no GPU but good on both.
  record("A", {planted(config(1, 1), 1), planted(config(2, 1), 3), planted(config(3, 1), 1.2)});
  record("B", {planted(config(1, 1), 6), planted(config(2, 1), 2), planted(config(3, 1), 2.5)});
  const Comparison comparison = store_.compare({});
  const Comparison::Row& row = comparison.rows.at(0);
  ASSERT_TRUE(row.least_worst);
  EXPECT_EQ(key(row.least_worst->configuration), "TILE=3,UNROLL=1");
  EXPECT_NEAR(row.least_worst->worst_share, 0.8, 1e-6);
  EXPECT_NEAR(row.least_worst->portability, 2 / (1.2 + 1.25), 1e-6);
  EXPECT_EQ(row.most_portable->configuration, row.least_worst->configuration);
}

/// On A the large tile is fast, on B the small one; unrolling gains one per cent on both.
std::vector<Result> times_on(bool is_a) {
  std::vector<Result> all;
  for (const std::int64_t tile : {8, 16, 32}) {
    for (const std::int64_t unroll : {1, 2, 3, 4}) {
      const double factor = 1 + 0.01 * static_cast<double>(4 - unroll);
      const auto size = static_cast<double>(tile);
      all.push_back(planted(config(tile, unroll), (is_a ? 32 / size : size) * factor));
    }
  }
  return all;
}

TEST_F(ComparisonOf, SaysWhichParametersMatterAndByHowManyConfigurations) {
  record("A", times_on(true));
  record("B", times_on(false), "hash", "random", "budget");
  const Comparison comparison = store_.compare({});
  const Comparison::Advice& advice = comparison.rows.at(0).advice.at(0);
  ASSERT_THAT(advice.effects, SizeIs(2));
  EXPECT_EQ(advice.effects[0].parameter, "TILE");
  EXPECT_GT(advice.effects[0].explained, 0.95);
  EXPECT_EQ(advice.effects[0].configurations, 12u);
  EXPECT_LT(advice.effects[1].explained, 0.05);
  EXPECT_EQ(advice.chosen_by, ChosenBy::search) << "by forest";
  EXPECT_EQ(comparison.rows.at(0).advice.at(1).chosen_by, ChosenBy::chance);
  EXPECT_EQ(comparison.rows.at(0).on_all, 12u);
}

TEST_F(ComparisonOf, KnowsWhereAllWasTried) {
  record("A", times_on(true), "hash", "exhaustive", "complete");
  record("B", times_on(false), "hash", "exhaustive", "interrupted");
  record("C", times_on(false), "hash", "random", "budget");
  record("C", {planted(config(64, 1), 70)}, "hash", "forest", "complete");
  record("D", times_on(false), "hash", "", "complete");
  const std::vector<Comparison::Advice> advice = store_.compare({}).rows.at(0).advice;
  EXPECT_EQ(advice.at(0).chosen_by, ChosenBy::all);
  EXPECT_EQ(advice.at(1).chosen_by, ChosenBy::search) << "the first in the space's order";
  EXPECT_EQ(advice.at(3).chosen_by, ChosenBy::unknown) << "no strategy is known";
  EXPECT_EQ(advice.at(2).chosen_by, ChosenBy::search) << "one that a search chose is among them";
}

TEST_F(ComparisonOf, AdvisesOnlyRepairsThatWereMeasuredThere) {
  // B's best, TILE=2,UNROLL=2, reaches a quarter on A; one of its repairs is correct there and
  // helps.
  record("A", {planted(config(1, 1), 1), planted(config(2, 2), 4), planted(config(1, 2), 1.25)});
  record("B", {planted(config(2, 2), 1), planted(config(1, 1), 2)});
  const Comparison comparison = store_.compare({});
  const Comparison::Advice& advice = comparison.rows.at(0).advice.at(0);
  ASSERT_TRUE(advice.worst);
  ASSERT_THAT(advice.repairs, SizeIs(1));
  EXPECT_EQ(advice.repairs[0].parameter, "TILE");
  EXPECT_EQ(to_text(advice.repairs[0].value), "1");
  EXPECT_DOUBLE_EQ(advice.repairs[0].share, 0.8);
  EXPECT_FALSE(advice.repairs[0].is_best);
}

TEST_F(ComparisonOf, AdvisesNoRepairThatDoesNotExistFailsOrDoesNotHelp) {
  // TILE=1,UNROLL=2 fails on A, and TILE=2,UNROLL=1 is slower than what it would repair.
  record("A", {planted(config(1, 1), 1), planted(config(2, 2), 4), planted_failure(config(1, 2)),
               planted(config(2, 1), 5)});
  record("B", {planted(config(2, 2), 1), planted(config(1, 1), 2), planted(config(1, 2), 1.1)});
  const Comparison comparison = store_.compare({});
  ASSERT_TRUE(comparison.rows.at(0).advice.at(0).worst);
  EXPECT_THAT(comparison.rows.at(0).advice.at(0).repairs, IsEmpty());
  // A's best on B: the repair TILE=2,UNROLL=1 was never measured there.
  ASSERT_THAT(comparison.rows.at(0).advice.at(1).repairs, SizeIs(1));
  EXPECT_EQ(comparison.rows.at(0).advice.at(1).repairs[0].parameter, "UNROLL");
}

TEST_F(ComparisonOf, HasOneEstimatorForSharesAndSlowdowns) {
  std::mt19937 random(3);
  const auto samples = [&](double ms) {
    std::vector<double> all(3 + random() % 40);
    for (double& one : all) {
      one = ms * std::exp(std::exponential_distribution<double>(20)(random));
      if (random() % 10 == 0) one *= 3;
    }
    return all;
  };
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    record("A" + n, {planted(config(i, 1), samples(1), i), planted(config(i, 2), samples(1.4), i)});
    record("B" + n, {planted(config(i, 1), samples(3), i), planted(config(i, 2), samples(2), i)});
  }
  for (const Comparison::Row& row : store_.compare({}).rows) {
    ASSERT_THAT(row.guests, SizeIs(2));
    for (const Comparison::Guest& one : row.guests) {
      ASSERT_TRUE(one.slower);
      EXPECT_NEAR(one.slower->percent, 100 * (1 / *one.share - 1), 1e-9);
      EXPECT_LE(one.slower->low_percent, one.slower->percent);
      EXPECT_GE(one.slower->high_percent, one.slower->percent);
      EXPECT_GE(one.time.sample_count, 3);
    }
  }
}

TEST_F(ComparisonOf, TakesOtherVersionsOfAKernelForOtherKernels) {
  record("A", {planted(config(1, 1), 1)});
  record("B", {planted(config(2, 1), 2)});
  record("B", {planted(config(1, 1), 9)}, "another hash");
  record("B", {planted(config(2, 1), 2)});
  const Comparison comparison = store_.compare({});
  EXPECT_FALSE(guest(comparison.rows.at(0), 1, 0).share);
}

TEST_F(ComparisonOf, TellsModelsOfOneNameApartAndLeavesCpusAlone) {
  record("A", {planted(config(1, 1), 1)});
  Device larger = planted_device("A");
  larger.sm_count = 7;
  store_.begin_run(planted_run(larger, "larger"))->record("hash", planted(config(1, 1), 2));
  store_.begin_run(planted_run(planted_device("Some", DeviceKind::cpu), "cpu"))
      ->record("hash", planted(config(1, 1), 900));
  const Comparison comparison = store_.compare({});
  ASSERT_THAT(comparison.columns, SizeIs(3));
  EXPECT_EQ(comparison.columns[0].label, "A");
  EXPECT_EQ(comparison.columns[1].label, "A #2");
  EXPECT_EQ(comparison.columns[2].label, "Some");
  const Comparison::Row& row = comparison.rows.at(0);
  EXPECT_THAT(row.gpus, ElementsAre(0, 1));
  EXPECT_THAT(row.best, SizeIs(3));
  EXPECT_THAT(row.guests, SizeIs(2));
}

TEST_F(ComparisonOf, OfSomeDevicesLeavesOutTheOthers) {
  record("A", {planted(config(1, 1), 1), planted(config(2, 1), 2)});
  record("B", {planted(config(1, 1), 9), planted(config(2, 1), 3)});
  record("C", {planted(config(3, 1), 1)});
  EXPECT_FALSE(store_.compare({}).rows.at(0).least_worst);
  const Comparison two = store_.compare({.compared_devices = {"A", "B"}});
  EXPECT_THAT(two.columns, SizeIs(2));
  EXPECT_EQ(two.rows.at(0).least_worst->configuration, config(2, 1));
}

TEST_F(ComparisonOf, ARunIsOfItsResultsAlone) {
  record("A", {planted(config(1, 1), 1), planted(config(2, 1), 2)});
  record("B", {planted(config(2, 1), 3)});
  record("B", {planted(config(1, 1), 9)});
  const Comparison all = store_.compare({});
  EXPECT_TRUE(guest(all.rows.at(0), 1, 0).share);
  const Comparison one = store_.compare({.run = "run-2"});
  EXPECT_THAT(one.columns, SizeIs(1));
  EXPECT_EQ(one.rows.at(0).looked, 2u);
  EXPECT_THAT(one.rows.at(0).guests, IsEmpty());
}

TEST_F(ComparisonOf, IsEmptyWithoutResults) { EXPECT_THAT(store_.compare({}).rows, IsEmpty()); }

void ComparisonOf::expect_what_files_say(
    const std::map<std::string, std::filesystem::path>& files) {
  std::map<std::string, double> best_ms;  // Keyed by device name.
  std::map<std::string, std::map<std::string, double>> ms;
  for (const auto& [name, file] : files) {
    read_runs(file, {.device = name, .space = "convolution", .kernel = {}}, Runs::imported,
              [&, &name = name](RunRecord&& record) {
                devices_[name] = record.run.device.name;
                store_.add(record);
              });
    const Recording recording = read_recordings(file).at(0);
    for (const Recording::Evaluation& one : recording.evaluations) {
      if (!one.result.timed()) continue;
      const std::string device = devices_.at(name);
      const double median_ms = one.result.measurement.median_ms;
      ms[device][key(one.result.configuration)] = median_ms;
      const auto [place, is_first] = best_ms.try_emplace(device, median_ms);
      place->second = std::min(place->second, median_ms);
    }
  }
  comparison_ = store_.compare({.source = "all"});
  ASSERT_THAT(comparison_.columns, SizeIs(6));
  const Comparison::Row& row = comparison_.rows.at(0);
  for (const auto& [number, stored] : row.best) {
    EXPECT_EQ(stored.result.measurement.median_ms, best_ms.at(stored.device.name));
  }
  for (const Comparison::Guest& one : row.guests) {
    const StoredResult& best = row.best.at(one.best_of);
    const std::string on = comparison_.columns[one.on].device.name;
    const auto found = ms.at(on).find(key(best.result.configuration));
    if (found == ms.at(on).end()) {
      EXPECT_LE(one.share.value_or(0), 0) << on;
    } else {
      EXPECT_DOUBLE_EQ(one.share.value(), best_ms.at(on) / found->second) << on;
      if (!one.slower) continue;  // There are too few samples.
      EXPECT_NEAR(one.slower->percent, 100 * (1 / *one.share - 1), 1e-9) << on;
      EXPECT_LE(one.slower->low_percent, one.slower->percent) << on;
      EXPECT_GE(one.slower->high_percent, one.slower->percent) << on;
    }
  }
  for (const Comparison::Advice& advice : row.advice) {
    if (!advice.worst) continue;
    const Comparison::Guest& worst = row.guests.at(advice.worst.value());
    const std::string on = comparison_.columns[advice.on].device.name;
    for (const Comparison::Repair& repair : advice.repairs) {
      Configuration repaired = row.best.at(worst.best_of).result.configuration;
      repaired.at(repair.parameter) = repair.value;
      EXPECT_EQ(repair.value, row.best.at(advice.on).result.configuration.at(repair.parameter));
      EXPECT_DOUBLE_EQ(repair.share, best_ms.at(on) / ms.at(on).at(key(repaired))) << on;
      EXPECT_GT(repair.share, worst.share.value()) << on;
      ++repairs_;
    }
  }
  // A plain search over all configurations that run on all six GPUs.
  double best_worst = 0;
  for (const auto& [configuration, time] : ms.begin()->second) {
    double worst = 1;
    for (const auto& [name, times] : ms) {
      const auto found = times.find(configuration);
      worst = std::min(worst, found == times.end() ? 0 : best_ms.at(name) / found->second);
    }
    best_worst = std::max(best_worst, worst);
  }
  EXPECT_DOUBLE_EQ(row.least_worst.value().worst_share, best_worst);
  EXPECT_GE(row.most_portable->portability, row.least_worst->portability);
}

/// Uses files of six GPUs that Kernel Tuner wrote.
TEST_F(ComparisonOf, SixGpusIsWhatTheirFilesSay) {
  const std::filesystem::path folder =
      std::filesystem::path(SMEMTUNE_SOURCE_DIR) / "../shared/data/convolution";
  if (!std::filesystem::exists(folder)) {
    ASSERT_EQ(nullptr, std::getenv("SMEMTUNE_REQUIRE_SHARED")) << folder << " is missing";
    GTEST_SKIP() << folder << " is missing";
  }
  std::map<std::string, std::filesystem::path> files;
  for (const std::string name : {"A100", "A4000", "A6000", "MI250X", "W6600", "W7800"}) {
    files[name] = folder / (name + ".json.gz");
  }
  expect_what_files_say(files);
  EXPECT_GT(repairs_, 0u);
  EXPECT_NEAR(share("A4000", "A100"), 0.63, 0.005);
  EXPECT_NEAR(share("A6000", "A100"), 0.53, 0.005);
  EXPECT_NEAR(share("A100", "A4000"), 0.67, 0.005);
  EXPECT_NEAR(share("A100", "A6000"), 0.67, 0.005);
}

TEST_F(ComparisonOf, SixPlantedGpusIsWhatTheirFilesSay) {
  const TemporaryFolder folder;
  write_planted_recordings(folder.path());
  std::map<std::string, std::filesystem::path> files;
  for (const PlantedGpu& gpu : kPlantedGpus) {
    files[gpu.file] = folder.path() / (gpu.file + ".json");
  }
  expect_what_files_say(files);
  EXPECT_LT(share("one", "six"), 0.9);
}

}  // namespace
}  // namespace smemtune::db
