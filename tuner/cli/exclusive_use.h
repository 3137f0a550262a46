#pragma once

#include "tuner/backend/device_use.h"
#include "tuner/core/device.h"
#include "tuner/engine/device_lock.h"

#include <atomic>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace smemtune::cli {

/// `NVIDIA H200 (GPU-...)`; `the CPU device`.
std::string device_text(const Device& device);

/// Locks the devices for this process. Where another smemtune has one, says so through `say` and
/// waits, or throws UnavailableError when not to `wait`. Ends early, and incomplete, when `stop` is
/// set.
std::vector<DeviceLock> lock_devices(std::vector<Device> devices, const std::string& purpose,
                                     bool wait, const std::atomic<bool>& stop,
                                     const std::function<void(const std::string&)>& say);

/// Notices who else computes on a device while we measure there.
class Neighbors {
 public:
  /// A warning, or nothing: all that `use` has is someone else's. Before our workers start.
  std::string before_us(const Device& device, const DeviceUse& use);

  /// The same while our workers `ours` run. Where the driver counts processes otherwise than we
  /// (in a container), one that was not there before is taken for ours.
  std::string beside_us(const Device& device, const DeviceUse& use,
                        const std::vector<pid_t>& ours) const;

 private:
  std::vector<DeviceProcess> before_;
};

}  // namespace smemtune::cli
