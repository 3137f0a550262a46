#include "tuner/engine/private_files.h"

#include "tuner/core/whole_file.h"
#include "tuner/engine/worker_process.h"

#include <cerrno>
#include <fcntl.h>
#include <random>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace smemtune {

namespace fs = std::filesystem;

namespace {

constexpr off_t kMaxFileBytes = off_t{1} << 30;

bool is_private(const struct stat& found) {
  return found.st_uid == geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_private_folder(const fs::path& folder) {
  struct stat found = {};
  return stat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && is_private(found);
}

}  // namespace

bool is_private_file(const fs::path& file) {
  struct stat found = {};
  return is_private_folder(file.parent_path()) && lstat(file.c_str(), &found) == 0 &&
         S_ISREG(found.st_mode) && is_private(found);
}

std::optional<std::vector<std::uint8_t>> read_private(const fs::path& file) {
  if (!is_private_folder(file.parent_path())) return std::nullopt;
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found = {};
  if (!descriptor || fstat(descriptor.number(), &found) != 0 || !S_ISREG(found.st_mode) ||
      !is_private(found) || found.st_size > kMaxFileBytes) {
    return std::nullopt;
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(found.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::read(descriptor.number(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

void write_private(const std::vector<fs::path>& files, std::string_view contents) {
  const fs::path folder = files.front().parent_path();
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  // The mode holds whatever the umask is; a folder that others may write to is not used.
  if (mkdir(folder.c_str(), 0700) != 0 && !is_private_folder(folder)) return;
  // Process ids are reused, and other machines or containers that share the folder have the same
  // ids.
  const std::string writer =
      std::to_string(getpid()) + "." + std::to_string(std::random_device{}());
  const fs::path temporary = folder / ("writing." + writer);
  const Descriptor created(
      open(temporary.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0600));
  if (!created) return;
  if (!write_all(created.number(), contents.data(), contents.size())) {
    fs::remove(temporary, error);
    return;
  }
  const fs::path link = folder / ("linking." + writer);
  for (const fs::path& file : files) {
    fs::create_hard_link(temporary, link, error);
    if (error) fs::copy_file(temporary, link, error);
    if (!error) fs::rename(link, file, error);
    if (error) fs::remove(link, error);
  }
  fs::remove(temporary, error);
}

}  // namespace smemtune
