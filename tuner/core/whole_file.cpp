#include "tuner/core/whole_file.h"

#include "tuner/core/error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace smemtune {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& file, const std::string& why) {
  throw InputError(file.string() + ": cannot be written: " + why);
}

/// A temporary file, which the destructor closes and, unless it was renamed, removes.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) {
    // The name contains the process id; O_EXCL skips files that a dead process of the same id left.
    for (int number = 0; descriptor_ < 0; ++number) {
      std::string name = target.string();
      name.append(".").append(std::to_string(getpid()));
      name.append("-").append(std::to_string(number)).append(".tmp");
      path_ = name;
      descriptor_ = open(path_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0644);
      if (descriptor_ < 0 && (errno != EEXIST || number == 100)) {
        cannot_write(target, std::strerror(errno));
      }
    }
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!renamed_) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  int descriptor() const { return descriptor_; }

  void rename_to(const std::filesystem::path& target) {
    const int closed = close(std::exchange(descriptor_, -1));
    if (closed != 0) cannot_write(target, std::strerror(errno));
    if (rename(path_.c_str(), target.c_str()) != 0) cannot_write(target, std::strerror(errno));
    renamed_ = true;
  }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

void write_part(int descriptor, std::string_view text, const std::filesystem::path& file) {
  if (!write_all(descriptor, text.data(), text.size())) cannot_write(file, std::strerror(errno));
}

/// Returns the status of the file; nullopt if there is none. Throws InputError if what is there
/// cannot be written.
std::optional<struct stat> writable(const std::filesystem::path& file) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) {
    if (errno == ENOENT) return std::nullopt;
    cannot_write(file, std::strerror(errno));
  }
  if (S_ISDIR(found.st_mode)) cannot_write(file, "it is a folder");
  return found;
}

bool is_standard_output(const std::filesystem::path& named) {
  return named == "-" || named == "/dev/stdout";
}

/// Returns true for a device, a pipe or a socket, which are written as they are.
bool is_stream(const std::optional<struct stat>& found) {
  return found && !S_ISREG(found->st_mode);
}

void write_stream(const std::filesystem::path& stream,
                  const std::function<void(const TextSink&)>& write) {
  const int descriptor = open(stream.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) cannot_write(stream, std::strerror(errno));
  try {
    write([&](std::string_view part) { write_part(descriptor, part, stream); });
  } catch (...) {
    close(descriptor);
    throw;
  }
  if (close(descriptor) != 0) cannot_write(stream, std::strerror(errno));
}

/// Returns the file that a chain of symbolic links leads to, even if that does not exist yet.
/// REQUIRES: writable(), which rejects links that must not be followed.
std::filesystem::path behind_links(std::filesystem::path file) {
  constexpr int kMostLinks = 40;  // Linux's own limit.
  std::error_code no_link;
  for (int links = 0; links < kMostLinks; ++links) {
    const std::filesystem::path target = std::filesystem::read_symlink(file, no_link);
    if (no_link) return file;
    file = file.parent_path() / target;
  }
  cannot_write(file, std::strerror(ELOOP));
}

}  // namespace

bool write_all(int descriptor, const void* data, std::size_t bytes) {
  const char* const begin = static_cast<const char*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t count = write(descriptor, begin + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

void write_whole_file(const std::filesystem::path& named, const std::string& text) {
  write_whole_file(named, [&](const TextSink& out) { out(text); });
}

void write_whole_file(const std::filesystem::path& named,
                      const std::function<void(const TextSink&)>& write) {
  if (is_standard_output(named)) {
    const auto check = [](bool done) {
      if (!done) cannot_write("standard output", std::strerror(errno));
    };
    write([&](std::string_view part) {
      check(std::fwrite(part.data(), 1, part.size(), stdout) == part.size());
    });
    check(std::fflush(stdout) == 0);
    return;
  }
  const auto found = writable(named);
  if (is_stream(found)) return write_stream(named, write);
  const std::filesystem::path file = behind_links(named);
  TemporaryFile temporary(file);
  struct stat made {};
  // `made` has the mode that the umask leaves; until the file is complete only its owner may read
  // it.
  if (fstat(temporary.descriptor(), &made) != 0 || fchmod(temporary.descriptor(), 0600) != 0) {
    cannot_write(file, std::strerror(errno));
  }
  write([&](std::string_view part) { write_part(temporary.descriptor(), part, file); });
  const mode_t mode = (found ? found->st_mode : made.st_mode) & 0777;
  if (fchmod(temporary.descriptor(), mode) != 0 || fsync(temporary.descriptor()) != 0) {
    cannot_write(file, std::strerror(errno));
  }
  temporary.rename_to(file);
  sync_folder_of(file);
}

void check_writable(const std::filesystem::path& file) {
  if (is_standard_output(file)) return;
  if (is_stream(writable(file))) {
    if (access(file.c_str(), W_OK) != 0) cannot_write(file, std::strerror(errno));
    return;
  }
  const TemporaryFile temporary(behind_links(file));
}

void sync_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);  // Some file systems cannot do this; the file itself is safe.
  close(descriptor);
}

}  // namespace smemtune
