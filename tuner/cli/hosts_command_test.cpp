// `smemtune --hosts` as its users see it: the built executable is run, and a script in the place of
// ssh starts what ssh would start on another host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

struct Ended {
  int status = -1;
  std::string output;
  std::string errors;
};

class HostsCommand : public testing::Test {
 protected:
  HostsCommand() {
    std::string pattern = testing::TempDir() + "smemtune-hosts-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ / "ssh")
        << "#!/bin/sh\n"
           "[ \"$1 $2 $3\" = '-T -o BatchMode=yes' ] || exit 254\n"
           "if [ $4 = away ]; then\n"
           "  echo ssh: connect to host away: No route to host >&2\n"
           "  exit 255\n"
           "fi\n"
           "if [ $4 = late ] && mkdir \"${0%/*}/called\" 2>/dev/null; then exit 255; fi\n"
           "if [ $4 = other ]; then export SMEMTUNE_SHARE=\"${0%/*}/share\"; fi\n"
           "echo Welcome to $4\n"
           "exec sh -c \"$5\"\n";
    std::filesystem::permissions(folder_ / "ssh", std::filesystem::perms::owner_all);
  }
  ~HostsCommand() override { std::filesystem::remove_all(folder_); }

  /// With a database, a cache and an ssh of its own.
  std::string command(const std::string& words) const {
    const std::string folder = "'" + folder_.string() + "'";
    return "PATH=" + folder + ":$PATH SMEMTUNE_DB=" + folder +
           "/db.sqlite SMEMTUNE_CACHE=" + folder + "/cache XDG_RUNTIME_DIR=" + folder +
           " SMEMTUNE_HOST_SILENCE=120 exec '" SMEMTUNE_EXECUTABLE "' " + words;
  }

  Ended run(const std::string& words) const {
    const std::filesystem::path errors = folder_ / "errors";
    FILE* const stream =
        popen(("{ " + command(words) + "; } 2>'" + errors.string() + "'").c_str(), "r");
    Ended ended;
    std::array<char, 4096> buffer{};
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), stream)) {
      ended.output.append(buffer.data(), count);
    }
    const int status = pclose(stream);
    if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
    std::ifstream file(errors);
    ended.errors.assign(std::istreambuf_iterator<char>(file), {});
    return ended;
  }

  std::filesystem::path folder_;
};

constexpr const char* kTune = "--space add_one --problem N=100000,T=int --strategy random ";

TEST_F(HostsCommand, TunesOnAllThatAnswer) {
  const Ended ended =
      run(std::string(kTune) + "--hosts a,away,b,localhost --jobs 1 --max-evaluations 9 --json");
  ASSERT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("a: "), HasSubstr("going on without away: "),
                                  HasSubstr("No route to host")));
  const Json summary = Json::parse(ended.output);
  EXPECT_FALSE(summary.at("evaluated_on").empty());  // All three, unless one is quick.
  const Ended listed = run("list --json");
  EXPECT_EQ(Json::parse(listed.output).at("runs").at(0).at("host"), "a,b,localhost");
}

// The cores of `other` borrow the limits of an H200 that has one multiprocessor less.
TEST_F(HostsCommand, TunesDifferentModelsBesideEachOther) {
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
  const Ended ended = run(std::string(kTune) + "--hosts a,other --jobs 2 --max-evaluations 4");
  ASSERT_EQ(ended.status, 0) << ended.errors;
  const std::size_t first = ended.output.find("best: add_one");
  ASSERT_NE(first, std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("best: add_one", first + 1), std::string::npos) << ended.output;
  const Json runs = Json::parse(run("list --json").output).at("runs");
  ASSERT_EQ(runs.size(), 2u);
  for (const Json& one : runs) EXPECT_EQ(one.at("outcome"), "budget");
  EXPECT_EQ(run("db check").status, 0);
}

TEST_F(HostsCommand, SaysWhyNoHostCanBeUsed) {
  const Ended ended = run(std::string(kTune) + "--hosts away");
  EXPECT_EQ(ended.status, 5);
  EXPECT_THAT(ended.errors, HasSubstr("no host can be used: away: it does not answer"));
}

TEST_F(HostsCommand, SaysThatNoHostHasTheNvrtcThatIsNamed) {
  const Ended ended = run(std::string(kTune) + "--hosts a --nvrtc /no/such/nvrtc");
  EXPECT_EQ(ended.status, 5);
  EXPECT_THAT(ended.errors, HasSubstr("--nvrtc: no host has what is named"));
}

// There is more to tune than anyone waits for: only the signal ends it.
TEST_F(HostsCommand, TakesInAHostThatIsAwayAtFirst) {
  const std::filesystem::path log = folder_ / "late.log";
  const pid_t child = fork();
  if (child == 0) {
    const std::string line =
        command("--space gemm --strategy random --jobs 1 --hosts a,late >/dev/null 2>'" +
                log.string() + "'");
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  const auto text = [&log] {
    std::ifstream file(log);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (text().find("late has come: ") == std::string::npos &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_THAT(text(), AllOf(HasSubstr("*** going on without late: "),
                            HasSubstr("; it is tried again"), HasSubstr("late has come: ")));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << text();
}

TEST_F(HostsCommand, RefusesAProgramThatIsNotThereOrNotSmemtune) {
  const Ended missing = run(std::string(kTune) + "--hosts a --host-program /no/such/program");
  EXPECT_EQ(missing.status, 5);
  EXPECT_THAT(missing.errors, HasSubstr("/no/such/program: not found"));
  const std::filesystem::path old = folder_ / "old";
  std::ofstream(old) << "#!/bin/sh\necho smemtune-host 0.0.1 1\ncat >/dev/null\n";
  std::filesystem::permissions(old, std::filesystem::perms::owner_all);
  const Ended other = run(std::string(kTune) + "--hosts a --host-program '" + old.string() + "'");
  EXPECT_EQ(other.status, 5);
  EXPECT_THAT(other.errors, AllOf(HasSubstr("0.0.1"), HasSubstr("must be of one version")));
}

TEST_F(HostsCommand, RefusesWhatIsNoHostAndWhatDoesNotGoTogether) {
  for (const char* const words :
       {"--hosts a,a", "--hosts a,,b", "--hosts=-oProxyCommand=x", "--hosts 'a b'", "--hosts slurm",
        "--hosts a --dry-run", "--hosts a --with-host", "--hosts a --devices 0",
        "--hosts a --device 1", "--host-program /bin/true"}) {
    const Ended ended = run(std::string(kTune) + words);
    EXPECT_EQ(ended.status, 2) << words << ": " << ended.errors;
  }
}

TEST_F(HostsCommand, EndsCleanlyWhenTheQueueSaysSoAndGoesOnLater) {
  // Thousands of configurations: it cannot be over before the signal comes.
  Json many = Json::parse(std::ifstream(SMEMTUNE_SOURCE_DIR "/configs/add_one.json"));
  Json& items = many["kernels"][0]["parameters"]["ITEMS"] = Json::array();
  for (int count = 1; count <= 500; ++count) items.push_back(count);
  std::ofstream(folder_ / "many.json") << many;
  const std::string words = "--space '" + (folder_ / "many.json").string() +
                            "' --problem N=100000,T=int --strategy random --hosts a,b --jobs 1 ";
  const pid_t child = fork();
  if (child == 0) {
    const std::string line = command(words + ">/dev/null 2>&1");
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  const auto measured = [this] {
    const Ended listed = run("list --results --json");
    return listed.status == 0 ? Json::parse(listed.output).at("results").size() : 0;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (measured() < 3 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  const std::size_t kept = measured();
  EXPECT_GE(kept, 3u);
  const Ended again = run(words + "--max-evaluations 5 --json");
  ASSERT_EQ(again.status, 0) << again.errors;
  EXPECT_GE(Json::parse(again.output).at("problems").at(0).at("known"), 3);
  EXPECT_EQ(run("db check").status, 0);
}

}  // namespace
}  // namespace smemtune
