// The tests' executable is its own worker, as smemtune is.

#include "tuner/backend/fake/fake_compiler_test_support.h"
#include "tuner/backend/fake/fake_launcher_test_support.h"
#include "tuner/backend/fake/script_test_support.h"
#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/host_agent.h"
#include "tuner/engine/wire.h"
#include "tuner/engine/worker_channel.h"
#include "tuner/engine/workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <poll.h>
#include <span>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smemtune::test {

namespace {

/// Runs a worker. `argument`, for a device worker: the number of its unit, `broken`, or `late` (it
/// greets when FakeFolder::let_happen() is called).
int run_worker(const std::string& word, const std::string& argument, int descriptor) {
  if (word == kCompileWord) {
    return compile_worker_main([&] { return std::make_unique<fake::FakeCompiler>(descriptor); },
                               descriptor);
  }
  return device_worker_main(
      [&] {
        if (argument == "broken") throw UnavailableError("the fake driver is missing");
        if (argument == "late") fake::commit("wait", descriptor);
        const int unit = argument.empty() || argument == "late" ? 0 : std::stoi(argument);
        return std::make_unique<fake::FakeLauncher>(1, descriptor, unit);
      },
      descriptor);
}

/// Tunes something that hangs, after writing the workers' process ids to a file in `folder`.
int run_parent(const std::string& folder) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in run");
  FakeRun run(fake);
  run.pool = std::make_shared<WorkerPool>(run.workers);
  run.observer.progress = [&](const Progress& progress) {
    if (progress.phase != "search" || progress.waiting_for == "compiler") return;
    std::ofstream file(folder + "/ids.new");
    for (const int id : run.pool->process_ids()) file << id << "\n";
    file.close();
    std::filesystem::rename(folder + "/ids.new", folder + "/ids");
  };
  run.run();
  return 0;
}

int run_agent(const std::string& silence_s) {
  const int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const auto describe = [](const HostWelcome&) {
    HostHello hello;
    hello.cores = 4;
    return hello;
  };
  const TemporaryFolder files;
  return host_agent_main(kTestVersion, std::stod(silence_s), describe, files.path(), STDIN_FILENO,
                         out);
}

void write_id(const std::string& file, pid_t id) {
  std::ofstream(file + ".new") << id;
  std::filesystem::rename(file + ".new", file);
}

/// Logs the messages that pass a relay.
class MessageLog {
 public:
  /// `first_line`: whether a text line precedes the messages.
  MessageLog(const std::string& file, bool first_line) : file_(file), in_line_(first_line) {}

  void add(std::span<const std::uint8_t> bytes) {
    if (in_line_) {
      const auto end = std::ranges::find(bytes, '\n');
      if (end == bytes.end()) return;
      in_line_ = false;
      bytes = {end + 1, bytes.end()};
    }
    decoder_.append(bytes);
    while (const auto frame = decoder_.next()) {
      file_ << static_cast<int>(frame->type) << " " << frame->sequence << " "
            << frame->payload.size() << std::endl;
    }
  }

 private:
  std::ofstream file_;
  bool in_line_;
  FrameDecoder decoder_;
};

/// Returns false at the end of the input.
bool forward(int from, int to, MessageLog& log) {
  std::array<std::uint8_t, 65536> buffer{};
  const ssize_t size = read(from, buffer.data(), buffer.size());
  if (size > 0) log.add(std::span(buffer).first(static_cast<std::size_t>(size)));
  for (ssize_t sent = 0; sent < size;) {
    const ssize_t written = write(to, buffer.data() + sent, static_cast<std::size_t>(size - sent));
    if (written < 0) return false;
    sent += written;
  }
  return size > 0;
}

int run_relay(const std::string& file, const std::string& silence_s) {
  if (std::filesystem::exists(file + ".refuses")) {
    std::fputs("step refused\n", stderr);
    return 1;
  }
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  if (pipe2(there.data(), O_CLOEXEC) != 0 || pipe2(back.data(), O_CLOEXEC) != 0) return 2;
  const pid_t agent = fork();
  if (agent == 0) {
    dup2(there[0], STDIN_FILENO);
    dup2(back[1], STDOUT_FILENO);
    setsid();  // Leaves the session, as if it were on another host.
    const std::string self = executable();
    execl(self.c_str(), self.c_str(), kHostWord, silence_s.c_str(), nullptr);
    _exit(127);
  }
  close(there[0]);
  close(back[1]);
  write_id(file + ".agent", agent);
  write_id(file + ".carrier", getpid());
  const bool is_deaf = std::filesystem::exists(file + ".deaf");
  if (is_deaf) prctl(PR_SET_PDEATHSIG, 0);
  MessageLog messages_there(file + ".there", false);
  MessageLog messages_back(file + ".back", true);
  std::array<pollfd, 2> polled = {{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                   {.fd = back[0], .events = POLLIN, .revents = 0}}};
  while (poll(polled.data(), polled.size(), -1) > 0) {
    if (polled[0].revents != 0 && !forward(STDIN_FILENO, there[1], messages_there)) break;
    if (polled[1].revents != 0 && !forward(back[0], STDOUT_FILENO, messages_back)) break;
  }
  if (is_deaf) waitpid(agent, nullptr, 0);
  return 0;
}

}  // namespace

}  // namespace smemtune::test

int main(int argc, char** argv) {
  namespace test = smemtune::test;
  const std::string word = argc > 1 ? argv[1] : "";
  if (const auto descriptor = smemtune::worker_descriptor()) {
    return test::run_worker(word, argc > 2 ? argv[2] : "", *descriptor);
  }
  if (word == test::kHostWord && argc > 2) return test::run_agent(argv[2]);
  if (word == test::kRelayWord && argc > 3) return test::run_relay(argv[2], argv[3]);
  if (word == test::kParentWord && argc > 2) return test::run_parent(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  // Devices are locked here, so that test programs that run at the same time share none.
  const smemtune::TemporaryFolder locks;
  setenv("XDG_RUNTIME_DIR", locks.path().c_str(), 1);
  return RUN_ALL_TESTS();
}
