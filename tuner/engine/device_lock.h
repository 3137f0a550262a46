#pragma once

#include "tuner/core/device.h"
#include "tuner/engine/worker_process.h"

#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

namespace smemtune {

/// The process that holds a device's lock, as written in the lock file by that process.
struct LockHolder {
  pid_t process_id = 0;
  std::string purpose;    ///< For example `tuning gemm`.
  std::time_t since = 0;  ///< Seconds since 1970, UTC.
};

/// Returns, for example, "process 4242, tuning gemm since 14:02:11".
std::string to_text(const LockHolder& holder);

/// Returns the folder of this user's locks: `$XDG_RUNTIME_DIR/smemtune`, `/run/user/<id>/smemtune`
/// when that is not set, or `/tmp/smemtune-<id>` when neither exists.
std::filesystem::path lock_folder();

/// Returns the name of a device's lock: its UUID; `cpu` for the CPU device, because all processes
/// share its cores; `cpu-node2` for the CPU device of another host.
std::string lock_name(const Device& device);

/// Keeps two tunings of one user off one device, where they would spoil each other's times. The
/// lock is held by this process, not by its workers, which come and go; the system releases it when
/// the process ends, in whatever way. The file stays: if it were removed, two processes could hold
/// two locks of one name.
class DeviceLock {
 public:
  /// Opens the file, and creates it and its folder (mode 0700) when missing. Throws
  /// UnavailableError when the folder or file is not this user's alone, is a link, or is not a
  /// regular file.
  DeviceLock(const std::filesystem::path& folder, const std::string& name);

  /// Takes the lock for `holder` unless another process has it. Never waits.
  bool try_lock(const LockHolder& holder);

  /// Returns the process that has the lock; nullopt while that has not been written down.
  std::optional<LockHolder> holder() const;

 private:
  std::filesystem::path file_;
  Descriptor descriptor_;
};

}  // namespace smemtune
