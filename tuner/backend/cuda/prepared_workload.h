#pragma once

#include "tuner/backend/cuda/device_buffer.h"
#include "tuner/backend/launcher.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// Salts of different buffers differ in all bits, not in low ones only.
constexpr std::uint32_t kSaltStep = 0x9E3779B9u;

/// Bytes that the buffers of a workload take on the device, with their copies. Scratch is not the
/// workload's.
std::int64_t device_bytes(const Workload& workload);

/// A workload on the device.
struct PreparedWorkload {
  struct Constant {
    Argument argument;
    std::vector<std::uint8_t> contents;
  };

  /// `number` is 1 or more, and differs from those of all other workloads.
  PreparedWorkload(const Workload& workload, std::uint64_t number, CUstream stream);

  std::uint64_t number;
  std::map<std::string, DeviceBuffer> buffers;
  std::map<std::string, Constant> constants;
  std::set<std::string> expected;  ///< Names of the buffers that a reference run has filled.
};

}  // namespace smemtune::cuda
