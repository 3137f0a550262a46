#pragma once

#include "tuner/backend/device_use.h"
#include "tuner/core/device.h"
#include "tuner/engine/device_lock.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace smemtune::cli {

/// Returns `NVIDIA H200 (GPU-...)`, or `the CPU device`.
std::string device_text(const Device& device);

/// Locks the devices for this process. If another smemtune holds one, reports it through `say` and
/// waits, or throws UnavailableError if `wait` is false. Returns early, with fewer locks, if `stop`
/// is set.
std::vector<DeviceLock> lock_devices(std::vector<Device> devices, const std::string& purpose,
                                     bool wait, const std::atomic<bool>& stop,
                                     const std::function<void(const std::string&)>& say);

/// Detects other processes that compute on a device while we measure there.
class OtherProcesses {
 public:
  /// Returns a warning, or nothing, before our workers start: all use of the device is someone
  /// else's.
  std::string before_run(const Device& device, const DeviceUse& use);

  /// Does the same while our workers `ours` run. If the driver numbers processes differently than
  /// we do (in a container), one process that was not there before counts as ours.
  std::string during_run(const Device& device, const DeviceUse& use,
                         const std::vector<pid_t>& ours) const;

 private:
  std::vector<DeviceProcess> before_;
};

/// Checks for other users of the devices before our workers give them work. The origin of a load
/// cannot be seen, and it may come from our own work a moment ago: it counts only if a later
/// measurement still shows it, and until then the caller can do other things.
class StartupCheck {
 public:
  using Clock = std::chrono::steady_clock;
  using Use = std::function<DeviceUse(const Device&)>;
  using Say = std::function<void(const std::string&)>;

  /// Checks the devices at time `now`. `use` returns a device's current use; warnings go to `say`.
  StartupCheck(const std::vector<Device>& devices, Use use, Say say, Clock::time_point now);

  /// Returns true if all checks are complete; until then the devices must not be given work.
  bool done(Clock::time_point now);

  /// Returns a warning about other users of a device while our workers `ours` run
  /// (OtherProcesses::during_run).
  std::string during_run(const Device& device, const std::vector<pid_t>& ours);

 private:
  void look(const Device& device, const DeviceUse& use);

  Use use_;
  Say say_;
  Clock::time_point again_at_;
  std::vector<Device> loaded_;                    ///< Devices to check again.
  std::map<std::string, OtherProcesses> others_;  ///< Keyed by UUID.
};

}  // namespace smemtune::cli
