#include "tuner/engine/worker_process.h"

#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/worker_channel.h"
#include "tuner/engine/worker_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smemtune::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Returns a shell as a worker: it never greets, but it prints and ends.
WorkerProcess shell(const std::string& command) {
  return WorkerProcess({"/bin/sh", "-c", command}, 0);
}

std::string printed(WorkerProcess& worker, const std::string& end) {
  EXPECT_TRUE(eventually([&] {
    worker.read_log();
    return worker.log_tail().find(end) != std::string::npos;
  }));
  return worker.log_tail();
}

TEST(WorkerProcess, SaysHowItEnded) {
  WorkerProcess exits = shell("echo out; echo err >&2; exit 7");
  const WorkerDeath exited = exits.end(5);
  EXPECT_EQ(exited.exit_status, 7);
  EXPECT_EQ(exited.signal, 0);
  EXPECT_THAT(exited.log, HasSubstr("out\nerr"));
  EXPECT_FALSE(exited.from_outside());

  WorkerProcess crashes = shell("kill -SEGV $$");
  const WorkerDeath crashed = crashes.end(5);
  EXPECT_EQ(crashed.signal, SIGSEGV);
  EXPECT_THAT(crashed.text(), HasSubstr("signal 11"));

  WorkerProcess killed = shell("kill -KILL $$");
  EXPECT_TRUE(killed.end(5).from_outside());
}

TEST(WorkerProcess, KillsItsWholeGroup) {
  WorkerProcess worker = shell("sleep 100 & echo child $!; wait");
  const std::string text = printed(worker, "\n");
  const int child = std::stoi(text.substr(text.find("child ") + 6));
  EXPECT_TRUE(is_alive(child));
  worker.end(0);
  EXPECT_TRUE(eventually([&] { return !is_alive(child); }));
}

// A device worker notices only when its context is there that nobody needs it.
TEST(LocalHost, KillsAWorkerThatHasNotGreeted) {
  const TemporaryFolder folder;
  const std::string noticed = folder.path() / "noticed";
  {
    LocalHost host;
    host.start(
        0, {.words = {"/bin/sh", "-c", "cat <&3; touch '" + noticed + "'"}, .ends_in_order = true});
  }
  EXPECT_FALSE(std::filesystem::exists(noticed));
}

TEST(WorkerProcess, EndsWithItsOwner) {
  int id = 0;
  {
    WorkerProcess worker = shell("sleep 100");
    id = worker.pid();
    EXPECT_TRUE(is_alive(id));
  }
  EXPECT_FALSE(is_alive(id));
}

TEST(WorkerProcess, TakesAlongWhatItHasStartedAlsoWhenItEndsByItself) {
  WorkerProcess worker = shell("sleep 100 & echo $!.; exec cat <&3 >/dev/null");
  const int child = std::stoi(printed(worker, "."));
  EXPECT_TRUE(is_alive(child));
  worker.end_gently(5);
  EXPECT_TRUE(eventually([&] { return !is_alive(child); }));
}

TEST(WorkerProcess, LeavesNoCoreAndHasNoInput) {
  WorkerProcess worker = shell("ulimit -c; cat; echo done");
  EXPECT_THAT(printed(worker, "done"), StartsWith("0\ndone"));
}

TEST(WorkerProcess, LimitsTheAddressSpace) {
  WorkerProcess worker({"/bin/sh", "-c", "ulimit -v; echo done"}, 4096ull * 1024 * 1024);
  EXPECT_THAT(printed(worker, "done"), StartsWith("4194304\n"));
}

TEST(WorkerProcess, DoesNotInheritIgnoredSignals) {
  std::signal(SIGPIPE, SIG_IGN);
  WorkerProcess worker = shell("kill -PIPE $$; echo survived");
  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(worker.end(5).signal, SIGPIPE);
}

TEST(WorkerProcess, ThatIsNoProgramIsUnavailable) {
  EXPECT_THROW(WorkerProcess({"/dev/null"}, 0), UnavailableError);
  EXPECT_THROW(WorkerProcess({}, 0), UnavailableError);
}

TEST(WorkerProcess, HasSeenTheEndOfItsSocketWhenItEnds) {
  WorkerProcess worker = shell("exit 0");
  std::vector<Frame> frames;
  EXPECT_TRUE(eventually([&] { return !worker.read(frames); }));
  EXPECT_TRUE(frames.empty());
}

TEST(LogRing, KeepsTheLastPrintable64KB) {
  LogRing ring;
  for (int i = 0; i < 3000; ++i)
    ring.append("line " + std::to_string(i) + " " + std::string(90, 'x') + "\n");
  ring.append("\x1b[2Jend");
  EXPECT_EQ(ring.tail(LogRing::kBytes).size(), LogRing::kBytes);
  EXPECT_THAT(ring.tail(LogRing::kBytes), HasSubstr("line 2999 "));
  EXPECT_THAT(ring.tail(LogRing::kBytes), Not(HasSubstr("line 100 ")));
  EXPECT_EQ(ring.tail(7), "?[2Jend");
  ring.append("one\r\ntwo");
  EXPECT_EQ(ring.tail(8), "one\ntwo");
  ring.append(std::string(1 << 20, 'y'));
  EXPECT_EQ(ring.tail(LogRing::kBytes), std::string(LogRing::kBytes, 'y'));
}

TEST(LogRing, TakesNoMoreMemoryHoweverMuchIsPrinted) {
  LogRing ring;
  const auto most_kb = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const std::string text(LogRing::kBytes, 'x');
  const auto before_kb = most_kb();
  for (int i = 0; i < 4096; ++i) ring.append(text);  // 256 MB.
  EXPECT_LT(most_kb() - before_kb, 64 * 1024);
}

TEST(WorkerEnvironment, IsAnAllowList) {
  const char* const environment[] = {
      "PATH=/bin",           "NVRTC_APPEND_FLAGS=-G",        "SMEMTUNE_DB=/x",
      "LD_PRELOAD=/evil.so", "LC_ALL=de_DE.UTF-8",           "CUDA_VISIBLE_DEVICES=1",
      "CUDA_CACHE_PATH=/c",  "SMEMTUNE_WORKER_DESCRIPTOR=9", nullptr};
  EXPECT_THAT(worker_environment(environment),
              testing::UnorderedElementsAre("LC_ALL=C", "PATH=/bin", "SMEMTUNE_DB=/x",
                                            "CUDA_VISIBLE_DEVICES=1"));
}

TEST(WorkerChannel, LowersThePriorityOfItsProcess) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int before = getpriority(PRIO_PROCESS, 0);
    lower_priority(2);
    _exit(getpriority(PRIO_PROCESS, 0) == std::min(19, before + 2) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace smemtune::test
