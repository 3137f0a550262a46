#include "tuner/backend/cpu/child_process.h"

#include "tuner/core/machine_fault.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <string_view>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace smemtune::cpu {

namespace {

constexpr std::size_t kMaxOutputBytes = 1 << 20;
constexpr const char* kFolderPrefix = "smemtune-cpu-";

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

/// Returns a descriptor that holds the lock of a folder; -1 if another process has it.
int locked(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    close(descriptor);
    errno = error;
    return -1;
  }
  return descriptor;
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

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::temp_directory_path(error);
  if (error) {
    throw UnavailableError("no folder for temporary files ($TMPDIR, else /tmp): " +
                           error.message());
  }
  for (;;) {
    std::string name = root / (kFolderPrefix + std::to_string(getpid()) + "-XXXXXX");
    if (mkdtemp(name.data()) == nullptr) throw_system_error("creating " + name, errno);
    path_ = name;
    lock_ = locked(path_);
    const bool is_taken = lock_ < 0 && errno == EWOULDBLOCK;
    if (!is_taken && std::filesystem::exists(path_, error)) return;
    // Another process took the folder for abandoned before it was locked.
    if (lock_ >= 0) close(lock_);
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

namespace {

/// Returns false if a folder of a process that is gone is still locked by a process that it
/// started.
bool remove_unlocked_folders() {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  bool all = true;
  if (error) return all;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kFolderPrefix)) continue;
    const int lock = locked(entry->path());
    if (lock < 0) {
      const long pid = std::strtol(name.c_str() + std::strlen(kFolderPrefix), nullptr, 10);
      if (pid > 0 && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) all = false;
      continue;
    }
    std::error_code ignored;
    std::filesystem::remove_all(entry->path(), ignored);
    close(lock);
  }
  return all;
}

}  // namespace

void remove_abandoned_folders() {
  // Processes that a killed process has started end a moment after it.
  for (int i = 0; i < 20 && !remove_unlocked_folders(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace smemtune::cpu
