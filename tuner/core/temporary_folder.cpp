#include "tuner/core/temporary_folder.h"

#include "tuner/core/error.h"
#include "tuner/core/machine_fault.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace smemtune {

namespace {

constexpr std::string_view kFolderPrefix = "smemtune-tmp-";

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
      const long pid = std::strtol(name.c_str() + kFolderPrefix.size(), nullptr, 10);
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

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  std::filesystem::path root = std::filesystem::temp_directory_path(error);
  if (!error) root = std::filesystem::canonical(root, error);
  if (error) {
    throw UnavailableError("no folder for temporary files ($TMPDIR, else /tmp): " +
                           error.message());
  }
  for (;;) {
    std::string name = root / (std::string(kFolderPrefix) + std::to_string(getpid()) + "-XXXXXX");
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

void TemporaryFolder::write(const std::filesystem::path& name, std::string_view text) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) throw MachineError("cannot write " + file.string());
}

void remove_abandoned_folders() {
  // Processes that a killed process has started end a moment after it.
  for (int i = 0; i < 20 && !remove_unlocked_folders(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace smemtune
