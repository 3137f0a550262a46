#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cpu {

/// The child could not be started: the machine has no room for it.
constexpr int kNoProcess = 126;
constexpr int kNotFound = 127;
constexpr int kSignalled = 128;  ///< Plus the number of the signal.

struct ChildResult {
  int status = 0;      ///< Exit status, or one of the above.
  std::string output;  ///< Standard output and error together; at most 1 MB.
};

/// Runs `command` in `folder`, which is also its TMPDIR, and waits. If the calling thread or its
/// process dies meanwhile, the child and everything that it has started die too. Throws
/// UnavailableError if no process can be started.
ChildResult run_child(const std::vector<std::string>& command, const std::filesystem::path& folder);

/// A new folder for temporary files, removed with its contents by the destructor. A lock on the
/// folder shows that its process lives.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

/// Removes temporary folders whose processes were killed before they could do so.
void remove_abandoned_folders();

}  // namespace smemtune::cpu
