// Workers on several hosts. Each host is an agent of this executable, and its carrier a program
// that forwards bytes, as ssh and srun do.

#include "tuner/backend/fake/fake_launcher_test_support.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/frame_link.h"
#include "tuner/engine/host_agent.h"
#include "tuner/engine/remote_host.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/engine/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// No machine is so busy that nothing is heard for so long.
constexpr double kSilence_s = 120;
// Used where the other end is silent for good, to keep the wait short.
constexpr double kShortSilence_s = 3;

HostAddress address(const std::string& name, std::vector<std::string> carrier,
                    double silence_s = kSilence_s) {
  return {.name = name,
          .carrier = std::move(carrier),
          .version = kTestVersion,
          .silence_s = silence_s,
          .pause_s = 0.2,
          .welcome = {.name = name, .limits_of = "h200", .purpose = "a test", .waits = true}};
}

/// Returns the command line of a program that starts an agent here and carries its messages.
std::vector<std::string> relay(const FakeFolder& folder, const std::string& name,
                               double silence_s = kSilence_s) {
  return {executable(), kRelayWord, (folder.path() / name).string(), std::to_string(silence_s)};
}

/// Polls until the host is up or lost; returns its event.
HostEvent wait_for(RemoteHost& host) {
  std::vector<HostEvent> events;
  EXPECT_TRUE(eventually([&] {
    std::vector<pollfd> polled;
    host.add_polled(polled);
    poll(polled.data(), polled.size(), 10);
    host.take(polled, events);
    return !events.empty();
  }));
  return events.empty() ? HostEvent{} : events.front();
}

/// Returns the processes that a process has started.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    std::istringstream behind_name(line.substr(line.rfind(") ") + 2));
    std::string state;
    pid_t its_parent = -1;
    behind_name >> state >> its_parent;
    if (its_parent == parent) children.push_back(std::stoi(entry.path().filename()));
  }
  return children;
}

/// Hosts n0, n1, ... with a unit and a compile worker each, and a run over them. `silence_s`: that
/// of the last host.
class HostsRun {
 public:
  HostsRun(const FakeSpace& fake, std::size_t hosts, double silence_s = kSilence_s) : run(fake) {
    run.workers = fake_workers(1);
    run.request.options.min_deadline_s = run.request.options.max_deadline_s = 600;
    add_units(run.workers, static_cast<int>(hosts));
    for (std::size_t i = 0; i < hosts; ++i) {
      const std::string name = "n" + std::to_string(i);
      const double its_s = i + 1 == hosts ? silence_s : kSilence_s;
      const auto host =
          std::make_shared<RemoteHost>(address(name, relay(folder, name, its_s), its_s));
      EXPECT_EQ(wait_for(*host).kind, HostEvent::Kind::up);
      run.workers.hosts.push_back({.name = name, .host = host, .compile_workers = 1});
      run.workers.device_hosts.push_back(i);
      run.workers.known_devices.push_back(fake::fake_device(static_cast<int>(i)));
    }
  }

  /// Returns the process of a host's agent or carrier.
  pid_t process(const std::string& host, const std::string& which) const {
    std::ifstream file(folder.path() / (host + "." + which));
    pid_t id = -1;
    file >> id;
    return id;
  }

  /// Calls `happens` after this many results.
  void when(std::size_t results, std::function<void()> happens) {
    run.observer.result = [this, results, happens = std::move(happens)](const Result&, bool) {
      if (++seen_ == results) happens();
    };
  }

  /// Returns the messages of a type that were sent in a direction: bytes by sequence, one entry for
  /// each time that it was sent.
  std::multimap<std::uint64_t, std::size_t> messages(const std::string& host,
                                                     const std::string& direction,
                                                     MessageType wanted) const {
    std::multimap<std::uint64_t, std::size_t> found;
    std::ifstream file(folder.path() / (host + "." + direction));
    int type = 0;
    std::uint64_t sequence = 0;
    std::size_t bytes = 0;
    while (file >> type >> sequence >> bytes) {
      if (type == static_cast<int>(wanted)) found.emplace(sequence, bytes);
    }
    return found;
  }

  /// Ends the wait of waiting_space()'s configuration when a note contains this text.
  void go_on_after(const std::string& note) {
    run.observer.note = [this, note](const std::string& told) {
      run.notes.push_back(told);
      if (told.find(note) != std::string::npos) folder.let_happen();
    };
  }

  /// Checks that everything was measured once, is right, and is recorded.
  void expect_whole(const TuningSummary& summary) const {
    EXPECT_FALSE(summary.first_failure) << summary.first_failure->detail;
    EXPECT_EQ(summary.evaluated, kConfigurations);
    std::map<std::string, int> told;
    for (const Result& record : run.own_log.records) {
      if (record.stage == Stage::screen) ++told[record.kernel + " " + key(record.configuration)];
    }
    EXPECT_EQ(told.size(), kConfigurations);
    for (const auto& [name, times] : told) EXPECT_EQ(times, 1) << name;
    EXPECT_THAT(run.own_log.open, IsEmpty());
    EXPECT_EQ(key(summary.problems.front().best()->configuration), "ITEMS=2,TILE=8");
  }

  FakeFolder folder;
  FakeRun run;

 private:
  std::size_t seen_ = 0;
};

/// Returns a space in which one configuration waits for let_happen(), so that no run ends before.
FakeSpace waiting_space() {
  FakeSpace fake;
  fake.add("tiled", "fault wait in load when TILE == 16 && ITEMS == 4");
  return fake;
}

TEST(Hosts, ShareTheSearch) {
  FakeSpace fake;
  fake.add("tiled", "fault meet3 in load");
  HostsRun hosts(fake, 3);
  const TuningSummary summary = hosts.run.run();
  hosts.expect_whole(summary);
  EXPECT_THAT(summary.evaluated_on, SizeIs(3));
}

TEST(Hosts, CompileForGpusThatAreOnOthers) {
  const FakeSpace fake;
  HostsRun hosts(fake, 2);
  hosts.run.workers.hosts[0].compile_workers = 0;
  hosts.run.workers.device_hosts[1] = 0;
  hosts.expect_whole(hosts.run.run());
}

// The fake compiler's modules hold its source.
TEST(Hosts, GetEachModuleOnceAndNoneThatTheyHaveCompiled) {
  constexpr std::size_t kBytes = 20000;
  FakeSpace fake;
  const std::string nothing = "fault error in compile when TILE == 1111111";
  for (std::size_t i = 0; i < kBytes / nothing.size(); ++i) fake.add("tiled", nothing);
  fake.add("tiled", "fault meet2 in load");
  HostsRun hosts(fake, 2);
  hosts.expect_whole(hosts.run.run());
  hosts.run.pool.reset();
  std::size_t sent = 0;
  for (const char* const host : {"n0", "n1"}) {
    const auto compiled = hosts.messages(host, "back", MessageType::compiled);
    const auto modules = hosts.messages(host, "there", MessageType::module);
    EXPECT_GT(compiled.size() + modules.size(), 0u);
    sent += modules.size();
    for (const auto& [number, unused] : modules) {
      EXPECT_EQ(modules.count(number), 1u) << "sent again to " << host;
      EXPECT_FALSE(compiled.contains(number / module_number(1, 0))) << host << " compiled it";
    }
    for (const MessageType request : {MessageType::evaluate, MessageType::prepare}) {
      for (const auto& [sequence, bytes] : hosts.messages(host, "there", request)) {
        EXPECT_LT(bytes, kBytes) << "a module is in a request";
      }
    }
  }
  EXPECT_GT(sent, 0u) << "the reference was compiled on one of them, and runs on both";
}

// The fault holds each request until a second one has arrived.
TEST(Hosts, GetTheNextRequestWhileTheyAreAtOne) {
  for (const auto& [place, asked, answered] :
       {std::tuple("compile", MessageType::compile, MessageType::compiled),
        std::tuple("load", MessageType::evaluate, MessageType::evaluated)}) {
    FakeSpace fake;
    fake.add("tiled", std::string("fault wait in ") + place);
    HostsRun hosts(fake, 1);
    hosts.run.observer.progress = [&, asked = asked, answered = answered](const Progress&) {
      const std::size_t there = hosts.messages("n0", "there", asked).size();
      if (there >= hosts.messages("n0", "back", answered).size() + 2) hosts.folder.let_happen();
    };
    hosts.expect_whole(hosts.run.run());
  }
}

class FaultOnHost : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(FaultOnHost, IsNotThatOfTheNextRequest) {
  const auto& [fault, reason] = GetParam();
  const Configuration faulty = {{"TILE", std::int64_t{4}}, {"ITEMS", std::int64_t{2}}};
  const std::string when = " when TILE == 4 && ITEMS == 2";
  FakeSpace fake;
  fake.add("tiled", "fault wait in load" + when);
  fake.add("tiled", "fault " + fault + when);
  HostsRun hosts(fake, 1);
  hosts.run.request.options.strategy = "exhaustive";  // So that the next configuration is known.
  hosts.run.observer.progress = [&](const Progress&) {
    const std::vector<MemoryLog::Attempt>& attempts = hosts.run.own_log.attempts;
    const bool is_next_there =
        attempts.size() > 1 && attempts[attempts.size() - 2].configuration == faulty;
    if (is_next_there) hosts.folder.let_happen();
  };
  const TuningSummary summary = hosts.run.run();
  EXPECT_EQ(summary.evaluated, kConfigurations);
  for (const Result& result : summary.problems.front().results) {
    const bool is_faulty = result.kernel == "tiled" && result.configuration == faulty;
    EXPECT_EQ(result.reason, is_faulty ? reason : "")
        << key(result.configuration) << ": " << result.detail;
  }
  EXPECT_THAT(hosts.run.own_log.attempts, SizeIs(kConfigurations));
  EXPECT_THAT(hosts.run.own_log.open, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(EachOf, FaultOnHost,
                         testing::Values(std::pair("crash in run", "crash"),
                                         std::pair("killed in run", "crash"),
                                         std::pair("garbage in run", "crash"),
                                         std::pair("torn in run", "crash"),
                                         std::pair("context_lost in run", "illegal_address")));

TEST(Hosts, HoldFinalsOnOneBoard) {
  FakeSpace fake;
  fake.add("tiled", "fault meet3 in load");
  HostsRun hosts(fake, 3);
  const TuningSummary summary = hosts.run.run();
  std::set<std::string> boards;
  for (const Result& result : summary.problems.front().results) {
    if (result.stage == Stage::final) boards.insert(result.unit);
  }
  EXPECT_THAT(boards, SizeIs(1));
}

TEST(Hosts, ThatPrintSomethingAtLoginAreUnderstood) {
  RemoteHost host(address("n0", {"sh", "-c",
                                 "echo Welcome to n0; echo smemtune-host is not at line begin; "
                                 "exec \"$0\" __host 120",
                                 executable()}));
  // The second line looks like a greeting of another version.
  EXPECT_THAT(wait_for(host).text, HasSubstr("versions must be the same"));
  RemoteHost polite(
      address("n0", {"sh", "-c", "echo Welcome to n0; exec \"$0\" __host 120", executable()}));
  EXPECT_EQ(wait_for(polite).kind, HostEvent::Kind::up);
  EXPECT_EQ(polite.hello()->cores, 4u);
}

TEST(Hosts, OfAnotherVersionAreRefusedWithBothVersions) {
  HostAddress other = address("n0", {executable(), kHostWord, "120"});
  other.version = "0.0.9";
  RemoteHost host(std::move(other));
  const HostEvent event = wait_for(host);
  EXPECT_EQ(event.kind, HostEvent::Kind::down);
  EXPECT_THAT(event.text, AllOf(HasSubstr("0.0.9"), HasSubstr(kTestVersion)));
  EXPECT_TRUE(host.is_given_up()) << "it is not tried again";
}

TEST(Hosts, ThatCannotBeReachedSayWhy) {
  for (const auto& [carrier, why] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"sh", "-c", "echo srun: error: Unable to create step >&2; exit 1"}, "create step"},
           {{"no-such-program-at-all"}, "No such file"},
           {{"cat"}, "no answer after"},
           {{"sh", "-c", "head -c 100000 /dev/zero"}, "something other than a greeting"}}) {
    HostAddress unreachable = address("n0", carrier);
    if (why == "no answer after") unreachable.connect_timeout_s = 1;
    RemoteHost host(std::move(unreachable));
    const HostEvent event = wait_for(host);
    EXPECT_EQ(event.kind, HostEvent::Kind::down);
    EXPECT_THAT(event.text, HasSubstr(why));
    EXPECT_FALSE(host.is_up());
  }
}

TEST(Hosts, ThatAreKilledAreDoneWithoutAndComeBack) {
  const FakeSpace fake = waiting_space();
  HostsRun hosts(fake, 2);
  const pid_t first = hosts.process("n1", "agent");
  hosts.when(3, [&] { kill(first, SIGKILL); });
  hosts.go_on_after("n1 is back");
  hosts.expect_whole(hosts.run.run());
  EXPECT_THAT(hosts.run.notes, Contains(StartsWith("*** going on without n1")));
  EXPECT_NE(hosts.process("n1", "agent"), first);
}

TEST(Hosts, WhoseCarrierIsKilledEndAndComeBack) {
  const FakeSpace fake = waiting_space();
  HostsRun hosts(fake, 2);
  const pid_t agent = hosts.process("n1", "agent");
  hosts.when(3, [&] { kill(hosts.process("n1", "carrier"), SIGKILL); });
  hosts.go_on_after("n1 is back");
  hosts.expect_whole(hosts.run.run());
  EXPECT_TRUE(eventually([&] { return !is_alive(agent); }));
}

TEST(Hosts, ThatHangAreDoneWithoutAndEndWhenTheyGoOn) {
  const FakeSpace fake = waiting_space();
  HostsRun hosts(fake, 2, kShortSilence_s);
  const pid_t agent = hosts.process("n1", "agent");
  hosts.when(3, [&] { kill(agent, SIGSTOP); });
  hosts.go_on_after("n1: not heard from for 3 s");
  hosts.expect_whole(hosts.run.run());
  kill(agent, SIGCONT);
  EXPECT_TRUE(eventually([&] { return !is_alive(agent); }));
}

TEST(Hosts, BehindALinkThatStallsTellNothingTwice) {
  const FakeSpace fake = waiting_space();
  HostsRun hosts(fake, 2, kShortSilence_s);
  const pid_t agent = hosts.process("n1", "agent");
  const pid_t carrier = hosts.process("n1", "carrier");
  hosts.when(3, [&] { kill(carrier, SIGSTOP); });
  hosts.go_on_after("n1: not heard from for 3 s");
  hosts.expect_whole(hosts.run.run());
  EXPECT_TRUE(eventually([&] { return !is_alive(agent); }))
      << "it ends, and its workers with it, when it does not hear of its parent";
}

TEST(Hosts, BehindALinkThatStallsForAMomentAreKept) {
  const FakeSpace fake = waiting_space();
  HostsRun hosts(fake, 2);
  const pid_t carrier = hosts.process("n1", "carrier");
  std::thread goes_on;
  hosts.when(3, [&] {
    kill(carrier, SIGSTOP);
    goes_on = std::thread([&hosts, carrier] {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      kill(carrier, SIGCONT);
      hosts.folder.let_happen();
    });
  });
  hosts.expect_whole(hosts.run.run());
  goes_on.join();
  EXPECT_THAT(hosts.run.notes, Not(Contains(HasSubstr("going on without"))));
}

TEST(Hosts, ThatAreAllLostEndTheRunWhenTheyDoNotComeBack) {
  const FakeSpace fake = waiting_space();
  HostsRun hosts(fake, 1);
  hosts.when(3, [&] {
    std::ofstream(hosts.folder.path() / "n0.refuses");
    kill(hosts.process("n0", "agent"), SIGKILL);
  });
  try {
    hosts.run.run();
    FAIL();
  } catch (const UnavailableError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("is left: n0"), HasSubstr("step refused")));
  }
  EXPECT_GE(hosts.run.own_log.records.size(), 3u) << "what was told stays";
}

TEST(Hosts, WhereAWorkerIsKilledReplaceItAndSayHowItEnded) {
  FakeSpace fake;
  fake.add("tiled", "fault crash in run when TILE == 4");
  HostsRun hosts(fake, 2);
  const TuningSummary summary = hosts.run.run();
  const Result& crashed = result_of(summary.problems.front(), "tiled", "TILE=4,ITEMS=1");
  EXPECT_EQ(to_text(crashed.status) + "/" + crashed.reason, "runtime/crash");
  EXPECT_THAT(crashed.detail, AllOf(HasSubstr("signal 6"), HasSubstr("phase")));
  EXPECT_EQ(summary.evaluated, 16u);
}

TEST(Hosts, WhereAnAnswerIsOverdueKillTheWorkerThemselves) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in run when TILE == 4 && ITEMS == 2");
  HostsRun hosts(fake, 2);
  hosts.run.request.options.min_deadline_s = 0.3;
  hosts.run.request.options.max_deadline_s = 0.6;
  const TuningSummary summary = hosts.run.run();
  const Result& hung = result_of(summary.problems.front(), "tiled", "TILE=4,ITEMS=2");
  EXPECT_EQ(to_text(hung.status) + "/" + hung.reason, "timeout/hang");
}

TEST(Hosts, GetTheFilesThatTheirWorkersRead) {
  const FakeFolder folder;
  const std::filesystem::path file = folder.path() / "data.npy";
  const std::string contents(9 << 20, 'x');  // Three pieces.
  std::ofstream(file) << contents;
  const std::string name = sha256(contents);
  RemoteHost host(address("n0", {executable(), kHostWord, "120"}));
  ASSERT_EQ(wait_for(host).kind, HostEvent::Kind::up);
  host.provide({.path = file, .sha256 = name});
  host.provide({.path = file, .sha256 = std::string(64, '0')});  // The hash is another file's.
  host.start(1, {.words = {"/bin/sh", "-c",
                           "cd $SMEMTUNE_FILES && sha256sum < " + name + " && ls; exit 7"}});
  const HostEvent ended = wait_for(host);
  EXPECT_EQ(ended.kind, HostEvent::Kind::ended);
  EXPECT_EQ(ended.death.exit_status, 7);
  EXPECT_THAT(ended.death.log, HasSubstr(name + "  -\n" + name + "\n"));
  EXPECT_THAT(ended.death.log, Not(HasSubstr("0000")));
}

TEST(Hosts, WhoseDeviceIsInUseWaitOrSaySo) {
  const FakeSpace fake;
  HostsRun first(fake, 1);
  first.run.pool = std::make_shared<WorkerPool>(first.run.workers);
  while (!first.run.pool->device_is_idle(0)) first.run.pool->wait(1);
  HostsRun second(fake, 1);
  second.run.observer.note = [&](const std::string& note) {
    EXPECT_THAT(note, AllOf(HasSubstr("n0: waiting: "), HasSubstr("a test")));
    second.run.stop = true;
  };
  EXPECT_TRUE(second.run.run().interrupted);
}

TEST(Hosts, EndWithTheirWorkersWhenNothingIsHeardOfAParentThatWasKilled) {
  const FakeFolder folder;
  const std::string file = (folder.path() / "far").string();
  std::ofstream(file + ".deaf");  // The agent is not told that the link has ended.
  const pid_t parent = fork();
  if (parent == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    RemoteHost host(address("n0", relay(folder, "far", kShortSilence_s), kShortSilence_s));
    wait_for(host);
    host.start(1, {.words = {executable(), kDeviceWord}});
    host.start(2, {.words = {executable(), kCompileWord}});
    for (;;) wait_for(host);
  }
  pid_t agent = -1;
  std::vector<pid_t> workers;
  EXPECT_TRUE(eventually([&] {
    if (agent < 0) std::ifstream(file + ".agent") >> agent;
    if (agent > 0) workers = children_of(agent);
    return workers.size() == 2;
  }));
  kill(parent, SIGKILL);
  ASSERT_EQ(waitpid(parent, nullptr, 0), parent);
  for (const pid_t worker : workers) {
    EXPECT_TRUE(eventually([&] { return !is_alive(worker); }));
  }
  EXPECT_TRUE(eventually([&] { return !is_alive(agent); }));
}

TEST(Hosts, ThatAreAwayAtFirstAreTakenInWhenTheyCome) {
  FakeSpace fake;
  fake.add("tiled", "fault meet2 in load");
  HostsRun hosts(fake, 1);
  std::ofstream(hosts.folder.path() / "n1.refuses");
  const auto late = std::make_shared<RemoteHost>(address("n1", relay(hosts.folder, "n1")));
  EXPECT_EQ(wait_for(*late).kind, HostEvent::Kind::down);
  std::filesystem::remove(hosts.folder.path() / "n1.refuses");
  const auto join = [&late] {
    EXPECT_EQ(late->hello()->cores, 4u);
    return HostJoin{.compile_workers = 1,
                    .devices = {{executable(), kDeviceWord, "1"}},
                    .known_devices = {fake::fake_device(1)},
                    .note = "4 cores"};
  };
  hosts.run.workers.hosts.push_back({.name = "n1", .host = late, .join = join});
  const TuningSummary summary = hosts.run.run();
  hosts.expect_whole(summary);
  EXPECT_THAT(summary.evaluated_on, SizeIs(2)) << "the first one waited for the other";
  EXPECT_THAT(hosts.run.notes, Contains("n1 has joined: 4 cores"));
}

TEST(FrameLink, AnswersTheBeginningOfAMessageAndNotAWholeOne) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  {
    FrameLink link(ends[0], ends[0], kSilence_s);
    const std::vector<std::uint8_t> bytes =
        encode({.type = MessageType::module, .sequence = 1, .payload = {1, 2, 3}});
    const auto answer_to = [&](std::span<const std::uint8_t> part) {
      EXPECT_EQ(write(ends[1], part.data(), part.size()), static_cast<ssize_t>(part.size()));
      std::vector<Frame> frames;
      EXPECT_TRUE(link.read(frames));
      std::array<std::uint8_t, 1000> answer = {};
      return read(ends[1], answer.data(), answer.size());
    };
    EXPECT_GT(answer_to(std::span(bytes).first(5)), 0);
    EXPECT_LT(answer_to(std::span(bytes).subspan(5)), 0);
  }
  for (const int end : ends) close(end);
}

TEST(HostAgent, EndsWithItsWorkersWhenItsParentIsSilent) {
  // The carrier stays but carries nothing: only silence shows that the parent is gone.
  const std::string script = "sleep 600 | \"$0\" " + std::string(kHostWord) + " 1";
  WorkerProcess shell({"sh", "-c", script, executable()}, 0, WorkerProcess::Kind::carrier);
  ASSERT_TRUE(eventually([&] {
    shell.read_log();
    return shell.log_tail().find("heard from the parent") != std::string::npos;
  })) << shell.log_tail();
}

}  // namespace
}  // namespace smemtune::test
