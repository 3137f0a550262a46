#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace smemtune {

/// A process that computes on a device. Inside a container, the id may be the one that the host
/// uses.
struct DeviceProcess {
  pid_t id = 0;
  std::optional<std::int64_t> memory_bytes =
      std::nullopt;  ///< Memory on the device; nullopt where the driver hides it.

  bool operator==(const DeviceProcess&) const = default;
};

/// The current use of a device, as far as it is known.
struct DeviceUse {
  std::vector<DeviceProcess> processes = {};
  std::optional<int> busy_percent = std::nullopt;  ///< Over the last second or so.
};

}  // namespace smemtune
