#pragma once

#include "tuner/core/device.h"
#include "tuner/engine/worker_process.h"

#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

namespace smemtune {

/// Who has a device, as it wrote down itself.
struct LockHolder {
  pid_t process_id = 0;
  std::string purpose;    ///< `tuning gemm`.
  std::time_t since = 0;  ///< Seconds since 1970, UTC.
};

/// "process 4242, tuning gemm since 14:02:11".
std::string to_text(const LockHolder& holder);

/// Where the locks of this user lie: `$XDG_RUNTIME_DIR/smemtune`, `/run/user/<id>/smemtune` where
/// that is not set, or `/tmp/smemtune-<id>` where neither exists.
std::filesystem::path lock_folder();

/// What the lock of a device is called: its UUID; `cpu` for the CPU device, whose cores all share,
/// `cpu-node2` for that of another host.
std::string lock_name(const Device& device);

/// Keeps two tunings of one user off one device, where they would spoil each other's times. Held by
/// this process, not by its workers, which come and go; the system takes it back when the process
/// ends, however it ends. The file stays: removing it would let two hold two locks of one name.
class DeviceLock {
 public:
  /// Opens the file, and makes it and its folder (0700) where they are not there. Throws
  /// UnavailableError for what is not this user's alone: someone else's folder, a link, no file.
  DeviceLock(const std::filesystem::path& folder, const std::string& name);

  /// Takes the lock for `holder` unless another process has it. Never waits.
  bool try_lock(const LockHolder& holder);

  /// Who has it; nullopt while that has not been written down.
  std::optional<LockHolder> holder() const;

 private:
  std::filesystem::path file_;
  Descriptor descriptor_;
};

}  // namespace smemtune
