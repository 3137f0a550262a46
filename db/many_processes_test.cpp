// Two to eight processes write one database and are killed at random moments. Checks the
// guarantees: every acknowledged result is there, and `best` agrees with README.md's rule over all
// stored results. SMEMTUNE_STRESS_SECONDS=300 runs the long form; SMEMTUNE_STRESS_SEED sets the
// first seed.

#include "db/database_file.h"
#include "db/folder_test_support.h"
#include "db/plain_model_test_support.h"
#include "db/result_store.h"
#include "db/sqlite.h"
#include "tuner/core/device.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <set>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace smemtune::db {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRoundSeconds = 5;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Result random_result(std::mt19937_64& random, std::int64_t marker) {
  Result result;
  result.kernel = random() % 3 == 0 ? "naive" : "tiled";
  result.problem = {{"N", std::int64_t{4096}}};
  result.configuration = {{"TILE", static_cast<std::int64_t>(random() % 5)}};
  result.detail = std::to_string(marker);
  const auto kind = random() % 10;
  if (kind < 2) {
    result.status = kind == 0 ? Status::correctness : Status::runtime;
    result.reason = kind == 0 ? "mismatch" : "crash";
    return result;
  }
  result.stage = kind < 7 ? Stage::screen : Stage::final;
  result.chosen = kind == 9;
  // All times differ, because the rule does not say which of two equal ones comes first.
  result.measurement =
      summarize(std::vector<double>{1 + static_cast<double>(random() % 1'000'000) * 1e-6});
  return result;
}

/// Runs until it is killed; writes the marker of each result to `channel` once the result is
/// stored.
[[noreturn]] void write_results(const std::filesystem::path& file, std::int64_t id, int channel) {
  std::mt19937_64 random(static_cast<std::uint64_t>(id));
  std::int64_t marker = id * 1'000'000;
  try {
    for (int number = 0;; ++number) {
      ResultStore store(file, ResultStore::Mode::read_write_create, 60000);
      Run run;
      run.id = "run-" + std::to_string(id) + "-" + std::to_string(number);
      run.space = "gemm";
      run.space_json = "{}";
      run.device = h200_limits();
      run.device.uuid = "GPU-1";
      const auto log = store.begin_run(run);
      for (auto left = random() % 12; left > 0; --left) {
        std::vector<Result> results;
        for (auto together = 1 + random() % 3; together > 0; --together) {
          results.push_back(random_result(random, ++marker));
        }
        log->begin_attempt(key_of("hash", results[0]));
        log->in_transaction([&] {
          for (const Result& result : results) log->record("hash", result);
        });
        for (const Result& result : results) {
          const std::int64_t said = std::stoll(result.detail);
          if (write(channel, &said, sizeof said) != sizeof said) _exit(1);
        }
      }
      store.end_run(run.id, "complete");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "a writer: %s\n", error.what());
    _exit(4);
  }
}

class Writer {
 public:
  Writer(const std::filesystem::path& file, std::int64_t id) {
    int channel[2];
    if (pipe2(channel, O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
    fcntl(channel[1], F_SETFL, 0);
    process_ = fork();
    if (process_ == 0) write_results(file, id, channel[1]);
    close(channel[1]);
    channel_ = channel[0];
  }

  void listen(std::set<std::int64_t>& acknowledged) const {
    std::int64_t said = 0;
    while (read(channel_, &said, sizeof said) == sizeof said) acknowledged.insert(said);
  }

  /// Acknowledgements that the process wrote before it died count as well.
  void kill_it(std::set<std::int64_t>& acknowledged) const {
    EXPECT_EQ(kill(process_, SIGKILL), 0);
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a writer ended by itself";
    listen(acknowledged);
    close(channel_);
  }

 private:
  pid_t process_ = -1;
  int channel_ = -1;
};

class ManyProcesses : public TestFolder {
 protected:
  /// Returns how many processes were killed.
  int play(const std::filesystem::path& file, std::mt19937_64& random, std::int64_t first_id,
           std::set<std::int64_t>& acknowledged) {
    std::int64_t id = first_id;
    int killed = 0;
    std::vector<Writer> writers;
    const std::size_t count = 2 + random() % 7;
    const auto end = Clock::now() + std::chrono::seconds(kRoundSeconds);
    while (Clock::now() < end) {
      while (writers.size() < count) writers.emplace_back(file, ++id);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 150'000));
      for (const Writer& writer : writers) writer.listen(acknowledged);
      const std::size_t victim = random() % writers.size();
      writers[victim].kill_it(acknowledged);
      ++killed;
      writers.erase(writers.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    for (const Writer& writer : writers) writer.kill_it(acknowledged);
    return killed + static_cast<int>(writers.size());
  }

  void check(const std::filesystem::path& file, const std::set<std::int64_t>& acknowledged,
             int killed) {
    const ResultStore store(file, ResultStore::Mode::read_only);
    std::set<std::int64_t> stored;
    PlainModel model;
    std::map<std::string, int> runs;
    for (const StoredResult& one : store.results({})) {
      ASSERT_TRUE(stored.insert(std::stoll(one.result.detail)).second);
      const int run = runs.try_emplace(one.run_id, static_cast<int>(runs.size())).first->second;
      model.record(run, one.result);
    }
    ASSERT_TRUE(
        std::includes(stored.begin(), stored.end(), acknowledged.begin(), acknowledged.end()));
    // Each killed process may have stored a last few results that it could not acknowledge.
    ASSERT_LE(stored.size(), acknowledged.size() + 3 * static_cast<std::size_t>(killed));
    for (const char* kernel : {"tiled", "naive"}) {
      const auto best = store.best({.kernel = kernel}, true);
      const auto expected = model.best_ms(kernel);
      ASSERT_EQ(best.size(), expected ? 1u : 0u);
      if (expected) {
        ASSERT_EQ(best[0].result.measurement.median_ms, *expected);
      }
    }
    const auto best = store.best({}, false);
    const auto expected = model.best_ms_of_all();
    ASSERT_EQ(best.size(), expected ? 1u : 0u);
    if (expected) {
      ASSERT_EQ(best[0].result.measurement.median_ms, *expected);
    }

    const Connection connection = open_database(file, OpenMode::read_write, 0);
    ASSERT_EQ(connection.text("PRAGMA integrity_check"), "ok");
    ASSERT_FALSE(Statement(connection, "PRAGMA foreign_key_check").step());
  }
};

TEST_F(ManyProcesses, ThatAreKilledLoseNothingAndAgreeOnTheBest) {
  const auto seconds = from_environment("SMEMTUNE_STRESS_SECONDS", 2 * kRoundSeconds);
  const std::uint64_t first_seed = from_environment("SMEMTUNE_STRESS_SEED", 1);
  const std::uint64_t rounds = std::max<std::uint64_t>(1, seconds / kRoundSeconds);
  std::size_t results = 0;
  int killed = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto file = folder() / ("results-" + std::to_string(seed) + ".sqlite");
    std::set<std::int64_t> acknowledged;
    const int in_round = play(file, random, static_cast<std::int64_t>(seed) * 1000, acknowledged);
    check(file, acknowledged, in_round);
    if (HasFatalFailure()) return;
    results += acknowledged.size();
    killed += in_round;
  }
  EXPECT_GT(results, 0u);
  std::printf("%d processes killed, %zu acknowledged results, none lost\n", killed, results);
}

}  // namespace
}  // namespace smemtune::db
