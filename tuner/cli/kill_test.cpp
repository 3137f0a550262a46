// Kills a tuning process that uses a real database: its recorded results stay, and repeating the
// command ends in the same state as an undisturbed run.

#include "db/result_store.h"
#include "tuner/backend/fake/fake_compiler_test_support.h"
#include "tuner/backend/fake/fake_launcher_test_support.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/worker_channel.h"
#include "tuner/engine/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace smemtune::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBest = "tiled ITEMS=2,TILE=8";

/// Kills its own process at the n-th of the moments before and after each write; 0: never.
class FatalLog final : public ResultLog {
 public:
  FatalLog(ResultLog& log, int moment) : log_(log), moment_(moment) {}

  void begin_attempt(const ResultKey& of) override {
    pass();
    log_.begin_attempt(of);
    pass();
  }
  void record(const std::string& kernel_hash, const Result& result) override {
    pass();
    log_.record(kernel_hash, result);
    pass();
  }
  int lost_attempts(const ResultKey& of) override { return log_.lost_attempts(of); }
  void close_attempts(const ResultKey& of) override {
    pass();
    log_.close_attempts(of);
    pass();
  }
  void in_transaction(const std::function<void()>& writes) override {
    pass();
    log_.in_transaction(writes);
    pass();
  }
  std::optional<Result> find(const ResultKey& of) override { return log_.find(of); }
  std::vector<Configuration> known(const ResultKey& of) override { return log_.known(of); }
  Bests bests(const Problem& problem, const std::map<std::string, std::string>& hashes) override {
    return log_.bests(problem, hashes);
  }

 private:
  void pass() {
    if (++passed_ == moment_) kill(getpid(), SIGKILL);
  }

  ResultLog& log_;
  int moment_;
  int passed_ = 0;
};

/// Runs in the parent process: tunes into `folder`, and writes how much it evaluated.
int run_parent(const fs::path& folder, int moment) {
  FakeSpace fake;
  fake.add("tiled", "noise_percent 0.3");
  FakeRun fake_run(fake);
  fake_run.pool = std::make_shared<WorkerPool>(fake_run.workers);
  Run run;
  run.id = std::to_string(getpid());
  run.space = "fake";
  run.device = fake_run.pool->greeting().devices.front();
  db::ResultStore store(folder / "results.sqlite");
  const auto log = store.begin_run(run);
  FatalLog fatal(*log, moment);
  const TuningSummary summary =
      tune(fake_run.request, *fake_run.pool, fatal, fake_run.observer, fake_run.stop);
  store.end_run(run.id, "complete");
  const ProblemSummary& problem = summary.problems.front();
  std::ofstream(folder / "summary") << summary.evaluated << " " << problem.best()->kernel << " "
                                    << key(problem.best()->configuration);
  return 0;
}

pid_t start_parent(const fs::path& folder, int moment) {
  std::vector<std::string> words = {executable(), kParentWord, folder.string(),
                                    std::to_string(moment)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ), 0);
  return child;
}

/// Returns the status from waitpid.
int wait_for(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

class Killed : public testing::Test {
 protected:
  /// Returns the number of configurations that have a result.
  std::size_t recorded() const {
    if (!fs::exists(folder_ / "results.sqlite")) return 0;
    const db::ResultStore store(folder_ / "results.sqlite");
    std::set<std::string> configurations;
    for (const db::StoredResult& stored : store.results({})) {
      configurations.insert(stored.result.kernel + key(stored.result.configuration));
    }
    return configurations.size();
  }

  /// Repeats the command without disturbance.
  void expect_to_end_as_if_nothing_had_been(const std::string& where) {
    const std::size_t before = recorded();
    ASSERT_EQ(wait_for(start_parent(folder_, 0)), 0) << where;
    std::ifstream summary(folder_ / "summary");
    std::size_t evaluated = 0;
    std::string kernel;
    std::string configuration;
    summary >> evaluated >> kernel >> configuration;
    EXPECT_EQ(evaluated, kConfigurations - before) << "only what was not recorded, " << where;
    EXPECT_EQ(kernel + " " + configuration, kBest) << where;
    EXPECT_EQ(recorded(), kConfigurations) << where;
    const db::ResultStore store(folder_ / "results.sqlite", db::ResultStore::Mode::read_only);
    const auto best = store.best({}, false);
    ASSERT_EQ(best.size(), 1u) << where;
    EXPECT_EQ(best[0].result.kernel + " " + key(best[0].result.configuration), kBest) << where;
    EXPECT_EQ(best[0].result.stage, Stage::final) << where;
  }

  TemporaryFolder own_folder_;
  fs::path folder_ = own_folder_.path();
};

TEST_F(Killed, NeverTheRunEndsWithTheBest) {
  expect_to_end_as_if_nothing_had_been("from the beginning");
}

// There are two moments at each attempt, record and transaction, in the search and in the finals.
TEST_F(Killed, AtAnyWriteItLosesAtMostTheAttemptInFlight) {
  for (int moment = 1; moment <= 121; moment += 4) {
    const std::string where = "killed at moment " + std::to_string(moment);
    const int status = wait_for(start_parent(folder_, moment));
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << where;
    // There are four moments until the first attempt is stored. From then on, a result and the next
    // attempt take six in one transaction, or eight in two if the next one was not compiled yet.
    const auto acknowledged = static_cast<std::size_t>(std::max(0, moment - 4) / 8);
    EXPECT_GE(recorded(), std::min(kConfigurations, acknowledged)) << where;
    expect_to_end_as_if_nothing_had_been(where);
    // The folder itself stays, and with it the lock that shows others that it is in use.
    const std::vector<fs::path> kept{fs::directory_iterator(folder_), fs::directory_iterator{}};
    for (const fs::path& entry : kept) fs::remove_all(entry);
  }
}

TEST_F(Killed, AtAnyTimeAndOftenItGoesOn) {
  std::size_t before = 0;
  int kills = 0;
  // Each kill comes later, so that each run gets further than the previous one.
  for (int milliseconds = 10; milliseconds <= 200; milliseconds += 10) {
    const pid_t child = start_parent(folder_, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kill(child, SIGKILL);
    const int status = wait_for(child);
    kills += WIFSIGNALED(status) ? 1 : 0;
    EXPECT_GE(recorded(), before) << "nothing that was recorded is lost";
    before = recorded();
  }
  EXPECT_GT(kills, 0);
  expect_to_end_as_if_nothing_had_been("killed often");
}

// This includes the finals, in which many configurations take part: none of them is to blame.
TEST_F(Killed, AtTheSameMomentsAgainAndAgainNobodyIsQuarantined) {
  for (const int moment : {5, 5, 5, 121, 1, 2, 3, 4, 1, 2, 3, 4}) {
    const int status = wait_for(start_parent(folder_, moment));
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << moment;
  }
  expect_to_end_as_if_nothing_had_been("killed at the same moments");
}

int run_worker(const std::string& word, int descriptor) {
  if (word == kCompileWord) {
    return compile_worker_main([&] { return std::make_unique<fake::FakeCompiler>(descriptor); },
                               descriptor);
  }
  return device_worker_main([&] { return std::make_unique<fake::FakeLauncher>(1, descriptor); },
                            descriptor);
}

}  // namespace
}  // namespace smemtune::test

int main(int argc, char** argv) {
  namespace test = smemtune::test;
  const std::string word = argc > 1 ? argv[1] : "";
  if (const auto descriptor = smemtune::worker_descriptor()) {
    return test::run_worker(word, *descriptor);
  }
  if (word == test::kParentWord && argc > 3) return test::run_parent(argv[2], std::atoi(argv[3]));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
