#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace smemtune {

/// A process that computes on a device. In a container its id may be that of the host's counting.
struct DeviceProcess {
  pid_t id = 0;
  std::optional<std::int64_t> memory_bytes =
      std::nullopt;  ///< Of the device; nullopt where the driver hides it.

  bool operator==(const DeviceProcess&) const = default;
};

/// Who uses a device now, as far as that can be known.
struct DeviceUse {
  std::vector<DeviceProcess> processes = {};
  std::optional<int> busy_percent = std::nullopt;  ///< Of the last second or so.
};

}  // namespace smemtune
