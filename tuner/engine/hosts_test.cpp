// Workers on several hosts. Each host is an agent of this executable, and its carrier a program
// that forwards bytes, as ssh and srun do.

#include "tuner/backend/fake/fake_launcher.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/engine/engine_test_kit.h"
#include "tuner/engine/host_agent.h"
#include "tuner/engine/remote_host.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/engine/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
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

constexpr double kSilence_s = 1;
constexpr double kPatience_s = 20;

/// Evaluations take a while, so that there is one on each host when something happens.
struct SlowSpace : FakeSpace {
  explicit SlowSpace(std::int64_t items = 3) {
    add("tiled", "fault pause in load");
    give_items(items);
  }
};

HostAddress address(const std::string& name, std::vector<std::string> carrier) {
  return {.name = name,
          .carrier = std::move(carrier),
          .version = kTestVersion,
          .silence_s = kSilence_s,
          .pause_s = 0.2,
          .welcome = {.name = name, .limits_of = "h200", .purpose = "a test", .waits = true}};
}

/// Polls until the host is up or lost; returns what it told then.
HostEvent wait_for(RemoteHost& host) {
  std::vector<HostEvent> events;
  EXPECT_TRUE(eventually(
      [&] {
        std::vector<pollfd> polled;
        host.add_polled(polled);
        poll(polled.data(), polled.size(), 10);
        host.take(polled, events);
        return !events.empty();
      },
      kPatience_s));
  return events.empty() ? HostEvent{} : events.front();
}

/// Hosts n0, n1, ... with a unit and a compile worker each, and a run over them.
class HostsRun {
 public:
  HostsRun(const FakeSpace& fake, std::size_t hosts) : run(fake) {
    run.workers = fake_workers(1);
    add_units(run.workers, static_cast<int>(hosts));
    for (std::size_t i = 0; i < hosts; ++i) {
      const std::string name = "n" + std::to_string(i);
      const auto host = std::make_shared<RemoteHost>(
          address(name, {executable(), kRelayWord, (folder.path() / name).string()}));
      EXPECT_EQ(wait_for(*host).kind, HostEvent::Kind::up);
      run.workers.hosts.push_back({.name = name, .host = host, .compile_workers = 1});
      run.workers.device_hosts.push_back(i);
      run.workers.known_devices.push_back(fake::fake_device(static_cast<int>(i)));
    }
  }

  /// The agent of a host, or what carries its bytes.
  pid_t process(const std::string& host, const std::string& which) const {
    std::ifstream file(folder.path() / (host + "." + which));
    pid_t id = -1;
    file >> id;
    return id;
  }

  /// Calls `happens` once so many results are there.
  void when(std::size_t results, std::function<void()> happens) {
    run.observer.result = [this, results, happens = std::move(happens)](const Result&, bool) {
      if (++seen_ == results) happens();
    };
  }

  /// Everything was measured once, is right, and is written down.
  void expect_whole(std::size_t configurations, const TuningSummary& summary) const {
    EXPECT_FALSE(summary.first_failure) << summary.first_failure->detail;
    EXPECT_EQ(summary.evaluated, configurations);
    std::map<std::string, int> told;
    for (const Result& record : run.own_log.records) {
      if (record.stage == Stage::screen) ++told[record.kernel + " " + key(record.configuration)];
    }
    EXPECT_EQ(told.size(), configurations);
    for (const auto& [name, times] : told) EXPECT_EQ(times, 1) << name;
    EXPECT_THAT(run.own_log.open, IsEmpty());
    EXPECT_EQ(key(summary.problems.front().best->configuration), "ITEMS=2,TILE=8");
  }

  FakeFolder folder;
  FakeRun run;

 private:
  std::size_t seen_ = 0;
};

TEST(Hosts, ShareTheSearch) {
  std::size_t most_at_once = 0;
  // On a busy machine one host may have done all before another one has answered.
  for (int attempt = 0; attempt < 10 && most_at_once < 3; ++attempt) {
    const SlowSpace fake;
    HostsRun hosts(fake, 3);
    const TuningSummary summary = hosts.run.run();
    hosts.expect_whole(16, summary);
    most_at_once = std::max(most_at_once, summary.evaluated_on.size());
  }
  EXPECT_EQ(most_at_once, 3u);
}

TEST(Hosts, CompileForGpusThatAreOnOthers) {
  const SlowSpace fake;
  HostsRun hosts(fake, 2);
  hosts.run.workers.hosts[0].compile_workers = 0;
  hosts.run.workers.device_hosts[1] = 0;
  hosts.expect_whole(16, hosts.run.run());
}

TEST(Hosts, HoldFinalsOnOneBoard) {
  const SlowSpace fake;
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
                                 "exec \"$0\" __host 1",
                                 executable()}));
  // The second line looks like a greeting of another version.
  EXPECT_THAT(wait_for(host).text, HasSubstr("one version"));
  RemoteHost polite(
      address("n0", {"sh", "-c", "echo Welcome to n0; exec \"$0\" __host 1", executable()}));
  EXPECT_EQ(wait_for(polite).kind, HostEvent::Kind::up);
  EXPECT_EQ(polite.hello()->cores, 4u);
}

TEST(Hosts, OfAnotherVersionAreRefusedWithBothVersions) {
  HostAddress other = address("n0", {executable(), kHostWord, "1"});
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
           {{"sh", "-c", "head -c 100000 /dev/zero"}, "something else than a greeting"}}) {
    HostAddress unreachable = address("n0", carrier);
    unreachable.connect_timeout_s = 1;
    RemoteHost host(std::move(unreachable));
    const HostEvent event = wait_for(host);
    EXPECT_EQ(event.kind, HostEvent::Kind::down);
    EXPECT_THAT(event.text, HasSubstr(why));
    EXPECT_FALSE(host.is_up());
  }
}

TEST(Hosts, ThatAreKilledAreDoneWithoutAndComeBack) {
  const SlowSpace fake(40);
  HostsRun hosts(fake, 2);
  const pid_t first = hosts.process("n1", "agent");
  hosts.when(5, [&] { kill(first, SIGKILL); });
  const TuningSummary summary = hosts.run.run();
  hosts.expect_whole(201, summary);
  EXPECT_THAT(hosts.run.notes, Contains(StartsWith("*** going on without n1")));
  EXPECT_THAT(hosts.run.notes, Contains("n1 is back"));
  EXPECT_NE(hosts.process("n1", "agent"), first);
}

TEST(Hosts, WhoseCarrierIsKilledEndAndComeBack) {
  const SlowSpace fake(40);
  HostsRun hosts(fake, 2);
  const pid_t agent = hosts.process("n1", "agent");
  hosts.when(5, [&] { kill(hosts.process("n1", "carrier"), SIGKILL); });
  hosts.expect_whole(201, hosts.run.run());
  EXPECT_THAT(hosts.run.notes, Contains("n1 is back"));
  EXPECT_TRUE(eventually([&] { return !is_alive(agent); }, kPatience_s));
}

TEST(Hosts, ThatHangAreDoneWithoutAndEndWhenTheyGoOn) {
  const SlowSpace fake(40);
  HostsRun hosts(fake, 2);
  const pid_t agent = hosts.process("n1", "agent");
  hosts.when(5, [&] { kill(agent, SIGSTOP); });
  hosts.expect_whole(201, hosts.run.run());
  EXPECT_THAT(hosts.run.notes, Contains(HasSubstr("not heard of for 1 s")));
  kill(agent, SIGCONT);
  EXPECT_TRUE(eventually([&] { return !is_alive(agent); }, kPatience_s));
}

TEST(Hosts, BehindALinkThatStallsTellNothingTwice) {
  const SlowSpace fake(40);
  HostsRun hosts(fake, 2);
  const pid_t agent = hosts.process("n1", "agent");
  const pid_t carrier = hosts.process("n1", "carrier");
  hosts.when(5, [&] { kill(carrier, SIGSTOP); });
  hosts.expect_whole(201, hosts.run.run());
  EXPECT_THAT(hosts.run.notes, Contains(HasSubstr("not heard of for 1 s")));
  EXPECT_TRUE(eventually([&] { return !is_alive(agent); }, kPatience_s))
      << "it ends, and its workers with it, when it does not hear of its parent";
}

TEST(Hosts, BehindALinkThatStallsForAMomentAreKept) {
  const SlowSpace fake(40);
  HostsRun hosts(fake, 2);
  const pid_t carrier = hosts.process("n1", "carrier");
  std::thread goes_on;
  hosts.when(5, [&] {
    kill(carrier, SIGSTOP);
    goes_on = std::thread([carrier] {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      kill(carrier, SIGCONT);
    });
  });
  hosts.expect_whole(201, hosts.run.run());
  goes_on.join();
  EXPECT_THAT(hosts.run.notes, Not(Contains(HasSubstr("going on without"))));
}

TEST(Hosts, ThatAreAllLostEndTheRunWhenTheyDoNotComeBack) {
  const SlowSpace fake;
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
  SlowSpace fake;
  fake.add("tiled", "fault crash in run when TILE == 4");
  HostsRun hosts(fake, 2);
  const TuningSummary summary = hosts.run.run();
  const Result& crashed = result_of(summary.problems.front(), "tiled", "TILE=4,ITEMS=1");
  EXPECT_EQ(to_text(crashed.status) + "/" + crashed.reason, "runtime/crash");
  EXPECT_THAT(crashed.detail, AllOf(HasSubstr("signal 6"), HasSubstr("phase")));
  EXPECT_EQ(summary.evaluated, 16u);
}

TEST(Hosts, WhereAnAnswerIsOverdueKillTheWorkerThemselves) {
  SlowSpace fake;
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
  RemoteHost host(address("n0", {executable(), kHostWord, "1"}));
  ASSERT_EQ(wait_for(host).kind, HostEvent::Kind::up);
  host.provide({.path = file, .sha256 = name});
  host.provide({.path = file, .sha256 = std::string(64, '0')});  // It is another one.
  host.start(1, {.words = {"/bin/sh", "-c",
                           "cd $SMEMTUNE_FILES && sha256sum < " + name + " && ls; exit 7"}});
  const HostEvent ended = wait_for(host);
  EXPECT_EQ(ended.kind, HostEvent::Kind::ended);
  EXPECT_EQ(ended.death.exit_status, 7);
  EXPECT_THAT(ended.death.log, HasSubstr(name + "  -\n" + name + "\n"));
  EXPECT_THAT(ended.death.log, Not(HasSubstr("0000")));
}

TEST(Hosts, WhoseDeviceIsInUseWaitOrSaySo) {
  const SlowSpace fake;
  HostsRun first(fake, 1);
  first.run.pool = std::make_shared<WorkerPool>(first.run.workers);
  while (!first.run.pool->device_is_idle(0)) first.run.pool->wait(1);
  HostsRun second(fake, 1);
  second.run.request.options.budget.max_seconds = 1;
  second.run.run();
  EXPECT_THAT(second.run.notes, Contains(AllOf(HasSubstr("n0: waiting: "), HasSubstr("a test"))));
}

TEST(HostAgent, EndsWithItsWorkersWhenItsParentIsSilent) {
  // A carrier that stays and carries nothing: only silence tells.
  const std::string script = "sleep 600 | \"$0\" " + std::string(kHostWord) + " 1";
  WorkerProcess shell({"sh", "-c", script, executable()}, 0, WorkerProcess::Kind::carrier);
  ASSERT_TRUE(eventually(
      [&] {
        shell.read_log();
        return shell.log_tail().find("not heard of") != std::string::npos;
      },
      kPatience_s))
      << shell.log_tail();
}

}  // namespace
}  // namespace smemtune::test
