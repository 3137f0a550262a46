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

/// `NVIDIA H200 (GPU-...)`; `the CPU device`.
std::string device_text(const Device& device);

/// Locks the devices for this process. Where another smemtune has one, says so through `say` and
/// waits, or throws UnavailableError when not to `wait`. Ends early, and incomplete, when `stop` is
/// set.
std::vector<DeviceLock> lock_devices(std::vector<Device> devices, const std::string& purpose,
                                     bool wait, const std::atomic<bool>& stop,
                                     const std::function<void(const std::string&)>& say);

/// Notices who else computes on a device while we measure there.
class OtherProcesses {
 public:
  /// A warning, or nothing: all that `use` has is someone else's. Before our workers start.
  std::string before_run(const Device& device, const DeviceUse& use);

  /// The same while our workers `ours` run. Where the driver counts processes otherwise than we
  /// (in a container), one that was not there before is taken for ours.
  std::string during_run(const Device& device, const DeviceUse& use,
                         const std::vector<pid_t>& ours) const;

 private:
  std::vector<DeviceProcess> before_;
};

/// The look at who is on devices before our workers give them work. What a load is of cannot be
/// seen, and it may be ours of a moment ago: it counts only when it is still there in a newer
/// figure, which nobody waits for who has other things to do.
class StartupCheck {
 public:
  using Clock = std::chrono::steady_clock;
  using Use = std::function<DeviceUse(const Device&)>;
  using Say = std::function<void(const std::string&)>;

  /// Looks at `now`. The figures are read through `use`, warnings go to `say`.
  StartupCheck(const std::vector<Device>& devices, Use use, Say say, Clock::time_point now);

  /// Whether nothing is left to be looked at: until then the devices must not be given work.
  bool done(Clock::time_point now);

  /// Who is on a device while our workers `ours` run (OtherProcesses::during_run).
  std::string during_run(const Device& device, const std::vector<pid_t>& ours);

 private:
  void look(const Device& device, const DeviceUse& use);

  Use use_;
  Say say_;
  Clock::time_point again_at_;
  std::vector<Device> loaded_;                    ///< To be looked at again.
  std::map<std::string, OtherProcesses> others_;  ///< By UUID.
};

}  // namespace smemtune::cli
