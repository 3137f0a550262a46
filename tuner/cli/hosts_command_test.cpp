// Tests `smemtune --hosts` as its users see it: runs the built executable, with a script in place
// of ssh that starts locally what ssh would start on another host.

#include "tuner/core/in_shell_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace smemtune {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HostsCommand : public testing::Test {
 protected:
  HostsCommand() {
    std::ofstream(folder_ / "ssh")
        << "#!/bin/sh\n"
           "[ \"$1 $2 $3\" = '-T -o BatchMode=yes' ] || exit 254\n"
           "if [ $4 = away ]; then\n"
           "  echo ssh: connect to host away: No route to host >&2\n"
           "  exit 255\n"
           "fi\n"
           "case $4 in late*) if mkdir \"${0%/*}/called\" 2>/dev/null; then exit 255; fi; esac\n"
           "case $4 in *other) export SMEMTUNE_SHARE=\"${0%/*}/share\"; esac\n"
           "echo Welcome to $4\n"
           "case $4 in board)\n"
           "  export CUDA_VISIBLE_DEVICES=\n"
           "  exec unshare --user --map-root-user --mount sh -c \"mount -t tmpfs none /proc/driver "
           "&&\n"
           "    mkdir -p /proc/driver/nvidia/gpus/0 && $5\"\n"
           "esac\n"
           "exec sh -c \"$5\"\n";
    std::filesystem::permissions(folder_ / "ssh", std::filesystem::perms::owner_all);
  }

  /// Returns a command with a database, a cache and an ssh of its own.
  std::string command(const std::string& words) const {
    const std::string folder = "'" + folder_.string() + "'";
    return "PATH=" + folder + ":$PATH SMEMTUNE_DB=" + folder +
           "/db.sqlite SMEMTUNE_CACHE=" + folder + "/cache XDG_RUNTIME_DIR=" + folder +
           " SMEMTUNE_SHIPPED=off SMEMTUNE_HOST_SILENCE=120 exec '" SMEMTUNE_EXECUTABLE "' " +
           words;
  }

  Ended run(const std::string& words) const { return in_shell(command(words)); }

  /// Starts a command in the background, with its messages in `log`.
  pid_t start(const std::string& words) const {
    const pid_t child = fork();
    if (child == 0) {
      const std::string line = command(words + " >/dev/null 2>'" + log().string() + "'");
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    return child;
  }
  std::filesystem::path log() const { return folder_ / "log"; }
  std::string logged() const {
    std::ifstream file(log());
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  /// Asks the process to end and returns its status; -1 if it did not exit.
  static int stop(pid_t child) {
    kill(child, SIGTERM);
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// Waits up to three minutes for the condition.
  static bool eventually(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    while (std::chrono::steady_clock::now() < until) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  /// Returns options for a space with more configurations than a test can tune, each of which
  /// compiles as quickly as any.
  std::string much() const {
    Json many = Json::parse(std::ifstream(SMEMTUNE_SOURCE_DIR "/configs/add_one.json"));
    Json& threads = many["kernels"][0]["parameters"]["THREADS"] = Json::array();
    for (int count = 1; count <= 512; ++count) threads.push_back(count);
    std::ofstream(folder_ / "many.json") << many;
    return "--space '" + (folder_ / "many.json").string() +
           "' --problem N=100000,T=int --strategy random --jobs 1 ";
  }

  /// Gives hosts called `other` another device model: their cores borrow the limits of an H200 with
  /// one multiprocessor less.
  void make_other_model() const {
    const std::filesystem::path share = folder_ / "share";
    std::filesystem::create_directories(share / "configs");
    std::filesystem::create_directories(share / "kernel_templates");
    std::ifstream known(SMEMTUNE_SOURCE_DIR "/configs/devices.json");
    std::string devices(std::istreambuf_iterator<char>(known), {});
    const std::string count = "\"sm_count\": 132";
    ASSERT_NE(devices.find(count), std::string::npos);
    for (std::size_t at = 0; (at = devices.find(count, at)) != std::string::npos; ++at) {
      devices.replace(at, count.size(), "\"sm_count\": 131");
    }
    std::ofstream(share / "configs" / "devices.json") << devices;
  }

  /// Returns the runs that `smemtune list` shows; empty if there is no database yet.
  Json runs() const {
    const Ended listed = run("list --json");
    return listed.status == 0 ? Json::parse(listed.out).at("runs") : Json::array();
  }

  TemporaryFolder own_folder_;
  std::filesystem::path folder_ = own_folder_.path();
};

constexpr const char* kTune = "--space add_one --problem N=100000,T=int --strategy random ";

TEST_F(HostsCommand, TunesOnAllThatAnswer) {
  const Ended ended =
      run(std::string(kTune) + "--hosts a,away,b,localhost --jobs 1 --max-evaluations 9 --json");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("a: "), HasSubstr("going on without away: "),
                               HasSubstr("No route to host")));
  const Json summary = Json::parse(ended.out);
  // All three hosts, unless one of them does all the work.
  EXPECT_FALSE(summary.at("evaluated_on").empty());
  const Ended listed = run("list --json");
  EXPECT_EQ(Json::parse(listed.out).at("runs").at(0).at("host"), "a,b,localhost");
}

TEST_F(HostsCommand, TunesDifferentModelsBesideEachOther) {
  make_other_model();
  const Ended ended = run(std::string(kTune) + "--hosts a,other --jobs 2 --max-evaluations 4");
  ASSERT_EQ(ended.status, 0) << ended.err;
  const std::size_t first = ended.out.find("best: add_one");
  ASSERT_NE(first, std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("best: add_one", first + 1), std::string::npos) << ended.out;
  const Json listed = runs();
  ASSERT_EQ(listed.size(), 2u);
  for (const Json& one : listed) EXPECT_EQ(one.at("outcome"), "budget");
  EXPECT_EQ(run("db check").status, 0);
}

TEST_F(HostsCommand, SaysWhyNoHostCanBeUsed) {
  const Ended ended = run(std::string(kTune) + "--hosts away");
  EXPECT_EQ(ended.status, 5);
  EXPECT_THAT(ended.err, HasSubstr("no host can be used: away: it does not answer"));
}

// The host called `board` has a GPU that was not assigned to it.
TEST_F(HostsCommand, CompileForOthersWhereNoGpuIsVisible) {
  if (!SMEMTUNE_CUDA_BUILD) GTEST_SKIP() << "no host knows of GPUs";
  if (in_shell("unshare --user --map-root-user --mount mount -t tmpfs none /proc/driver").status !=
      0) {
    GTEST_SKIP() << "a host cannot be given the look of one with a GPU";
  }
  const Ended alone = run(std::string(kTune) + "--hosts board");
  EXPECT_EQ(alone.status, 5);
  EXPECT_THAT(alone.err, AllOf(HasSubstr("no host has a GPU that can be used: board: "),
                               HasSubstr("--device cpu"), Not(HasSubstr("going on without"))));
  const Ended ended =
      run(std::string(kTune) + "--hosts a,board --device cpu --jobs 1 --max-evaluations 9 --json");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("board: "), Not(HasSubstr("going on without"))));
  EXPECT_EQ(runs().at(0).at("host"), "a,board");
}

TEST_F(HostsCommand, SaysThatNoHostHasTheNvrtcThatIsNamed) {
  const Ended ended = run(std::string(kTune) + "--hosts a --nvrtc /no/such/nvrtc");
  EXPECT_EQ(ended.status, 5);
  EXPECT_THAT(ended.err, HasSubstr("--nvrtc: no host has the NVRTC that is named"));
}

TEST_F(HostsCommand, TakesInAHostThatIsAwayAtFirst) {
  const pid_t child = start(much() + "--hosts a,late");
  EXPECT_TRUE(eventually([&] { return logged().find("late has joined: ") != std::string::npos; }));
  EXPECT_EQ(stop(child), 130);
  EXPECT_THAT(logged(), AllOf(HasSubstr("*** going on without late: "),
                              HasSubstr("; it is tried again"), HasSubstr("late has joined: ")));
}

TEST_F(HostsCommand, TunesAnotherModelOfAHostThatIsAwayAtFirst) {
  make_other_model();
  const pid_t child = start(much() + "--hosts a,late_other");
  const auto both_measure = [this] {
    const Json listed = runs();
    return listed.size() == 2 && std::ranges::all_of(listed, [](const Json& one) {
             return one.at("results").get<int>() > 0;
           });
  };
  EXPECT_TRUE(eventually(both_measure)) << logged();
  EXPECT_EQ(stop(child), 130);
  EXPECT_THAT(logged(), HasSubstr("is another model, which is tuned separately"));
  for (const Json& one : runs()) EXPECT_EQ(one.at("outcome"), "interrupted");
  EXPECT_EQ(run("db check").status, 0);
}

TEST_F(HostsCommand, RefusesAProgramThatIsNotThereOrNotSmemtune) {
  const Ended missing = run(std::string(kTune) + "--hosts a --host-program /no/such/program");
  EXPECT_EQ(missing.status, 5);
  EXPECT_THAT(missing.err, HasSubstr("/no/such/program: not found"));
  const std::filesystem::path old = folder_ / "old";
  std::ofstream(old) << "#!/bin/sh\necho smemtune-host 0.0.1 1\ncat >/dev/null\n";
  std::filesystem::permissions(old, std::filesystem::perms::owner_all);
  const Ended other = run(std::string(kTune) + "--hosts a --host-program '" + old.string() + "'");
  EXPECT_EQ(other.status, 5);
  EXPECT_THAT(other.err, AllOf(HasSubstr("0.0.1"), HasSubstr("the versions must be the same")));
}

TEST_F(HostsCommand, RefusesWhatIsNoHostAndWhatDoesNotGoTogether) {
  for (const char* const words :
       {"--hosts a,a", "--hosts a,,b", "--hosts=-oProxyCommand=x", "--hosts 'a b'", "--hosts slurm",
        "--hosts a --dry-run", "--hosts a --devices 0", "--hosts a --device 1",
        "--host-program /bin/true"}) {
    const Ended ended = run(std::string(kTune) + words);
    EXPECT_EQ(ended.status, 2) << words << ": " << ended.err;
  }
}

TEST_F(HostsCommand, EndsCleanlyWhenTheQueueSaysSoAndGoesOnLater) {
  const std::string words = much() + "--hosts a,b ";
  const auto measured = [this] {
    const Ended listed = run("list --results --json --source own");
    return listed.status == 0 ? Json::parse(listed.out).at("results").size() : 0;
  };
  const pid_t child = start(words);
  EXPECT_TRUE(eventually([&] { return measured() >= 3; }));
  EXPECT_EQ(stop(child), 130);
  const std::size_t kept = measured();
  EXPECT_GE(kept, 3u);
  const Ended again = run(words + "--max-evaluations 5 --json");
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_GE(Json::parse(again.out).at("problems").at(0).at("known"), 3);
  EXPECT_EQ(run("db check").status, 0);
}

}  // namespace
}  // namespace smemtune
