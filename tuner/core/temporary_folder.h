#pragma once

#include <filesystem>
#include <string_view>

namespace smemtune {

/// A new folder for temporary files, accessible only to this user and removed with its contents by
/// the destructor. A lock on the folder shows that its process lives.
class TemporaryFolder {
 public:
  /// Throws UnavailableError if there is no folder for temporary files, MachineError if the machine
  /// has no room for it.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes a file and creates the folders that it lies in. Throws MachineError if it cannot.
  void write(const std::filesystem::path& name, std::string_view text) const;

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

/// Removes temporary folders whose processes were killed before they could do so.
void remove_abandoned_folders();

}  // namespace smemtune
