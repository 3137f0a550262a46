#include "tuner/backend/cpu/child_process.h"

#include "tuner/core/machine_fault.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <signal.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smemtune::cpu {

namespace {

constexpr std::size_t kMaxOutputBytes = 1 << 20;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Returns the environment, with messages in English and temporary files in `folder`. Without a
/// PATH a compiler would not find its assembler and linker.
std::vector<std::string> environment(const std::filesystem::path& folder) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("LC_") || text.starts_with("LANG") || text.starts_with("TMPDIR=")) {
      continue;
    }
    variables.emplace_back(text);
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  if (std::getenv("PATH") == nullptr) variables.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
  variables.emplace_back("LC_ALL=C");
  variables.push_back("TMPDIR=" + folder.string());
  return variables;
}

extern "C" void kill_own_group(int) { kill(0, SIGKILL); }

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

/// Runs in the forked child, where only async-signal-safe calls are allowed. A compiler driver
/// starts further processes, which do not inherit the death signal; so this process stays in
/// between as the leader of a process group, which it kills when it dies.
[[noreturn]] void supervise(pid_t parent, const char* folder, char* const* command,
                            char* const* variables) {
  setpgid(0, 0);
  struct sigaction action = {};
  action.sa_handler = kill_own_group;
  sigaction(SIGTERM, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  const pid_t child = fork();
  if (child == 0) {
    action.sa_handler = SIG_DFL;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGPIPE, &action, nullptr);
    if (chdir(folder) == 0) execvpe(command[0], command, variables);
    _exit(kNotFound);
  }
  if (child < 0) _exit(kNoProcess);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  _exit(exit_status(status));
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command,
                      const std::filesystem::path& folder) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = environment(folder);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> variable_pointers = pointers(variables);

  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_system_error("pipe2", errno);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    dup2(nothing, 0);
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    supervise(parent, folder.c_str(), argument_pointers.data(), variable_pointers.data());
  }
  const int fork_error = errno;
  close(ends[1]);
  if (nothing >= 0) close(nothing);
  if (child < 0) {
    close(ends[0]);
    throw_system_error("fork", fork_error);
  }

  ChildResult result;
  std::array<char, 4096> chunk = {};
  for (;;) {
    const ssize_t count = read(ends[0], chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (result.output.size() < kMaxOutputBytes) {
      result.output.append(chunk.data(), static_cast<std::size_t>(count));
    }
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw_system_error("waitpid", errno);
  }
  result.status = exit_status(status);
  return result;
}

}  // namespace smemtune::cpu
