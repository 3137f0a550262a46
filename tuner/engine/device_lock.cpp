#include "tuner/engine/device_lock.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smemtune {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRemedy = "; set XDG_RUNTIME_DIR to a folder of your own";

[[noreturn]] void refuse(const fs::path& place, const std::string& why) {
  throw UnavailableError(place.string() + ": the device cannot be locked: " + why + kRemedy);
}

bool is_own_folder(const fs::path& folder) {
  struct stat found {};
  return lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == geteuid() && access(folder.c_str(), W_OK | X_OK) == 0;
}

/// Opens a folder that nobody but this user can write to.
Descriptor open_folder(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) refuse(folder, std::strerror(errno));
  Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) refuse(folder, std::strerror(errno));
  struct stat found {};
  if (fstat(opened.number(), &found) != 0) refuse(folder, std::strerror(errno));
  if (found.st_uid != geteuid()) refuse(folder, "the folder is another user's");
  if ((found.st_mode & 022) != 0) refuse(folder, "others may write to the folder");
  return opened;
}

Descriptor open_file(const Descriptor& folder, const fs::path& file) {
  // O_NONBLOCK: opening a FIFO must not wait for its other end.
  Descriptor opened(openat(folder.number(), file.filename().c_str(),
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!opened) refuse(file, std::strerror(errno));
  struct stat found {};
  if (fstat(opened.number(), &found) != 0) refuse(file, std::strerror(errno));
  if (!S_ISREG(found.st_mode) || found.st_uid != geteuid()) refuse(file, "not a file of yours");
  return opened;
}

}  // namespace

std::string to_text(const LockHolder& holder) {
  std::tm local{};
  std::array<char, 32> clock{};
  if (localtime_r(&holder.since, &local) != nullptr) {
    std::strftime(clock.data(), clock.size(), "%H:%M:%S", &local);
  }
  return "process " + std::to_string(holder.process_id) + ", " + holder.purpose + " since " +
         clock.data();
}

fs::path lock_folder() {
  const std::string user = std::to_string(geteuid());
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  const fs::path folder = runtime != nullptr ? runtime : "/run/user/" + user;
  if (is_own_folder(folder)) return folder / "smemtune";
  return "/tmp/smemtune-" + user;
}

std::string lock_name(const Device& device) {
  std::string name = device.uuid;
  if (device.kind == DeviceKind::cpu) name = name.empty() ? "cpu" : "cpu-" + name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  }
  return name;
}

DeviceLock::DeviceLock(const fs::path& folder, const std::string& name)
    : file_(folder / (name + ".lock")), descriptor_(open_file(open_folder(folder), file_)) {}

bool DeviceLock::try_lock(const LockHolder& holder) {
  if (flock(descriptor_.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    refuse(file_, std::strerror(errno));
  }
  // The text is for people only: a full disk costs the text, not the lock.
  std::array<char, 512> text{};
  const int size = std::snprintf(text.data(), text.size(), "%d %lld %.400s\n", holder.process_id,
                                 static_cast<long long>(holder.since), holder.purpose.c_str());
  if (ftruncate(descriptor_.number(), 0) == 0) {
    [[maybe_unused]] const ssize_t written =
        pwrite(descriptor_.number(), text.data(), static_cast<std::size_t>(size), 0);
  }
  return true;
}

std::optional<LockHolder> DeviceLock::holder() const {
  std::array<char, 512> text{};
  if (pread(descriptor_.number(), text.data(), text.size() - 1, 0) <= 0) return std::nullopt;
  LockHolder holder;
  long long since = 0;
  int purpose_at = 0;
  const int read = std::sscanf(text.data(), "%d %lld %n", &holder.process_id, &since, &purpose_at);
  if (read != 2 || purpose_at == 0) return std::nullopt;
  holder.since = since;
  holder.purpose = first_line(text.data() + purpose_at);
  if (holder.purpose.empty()) return std::nullopt;  // The text is half written.
  return holder;
}

}  // namespace smemtune
