#pragma once

#include "tuner/backend/cuda/device_buffer.h"
#include "tuner/backend/launcher.h"

#include <cstdint>
#include <deque>
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

/// Data that were drawn for timed launches, and what the reference gives for them.
struct DataSet {
  std::uint64_t key = 0;                        ///< redraw_for() of each buffer.
  std::uint64_t mask = 0;                       ///< The answers are kept under it (apply_mask).
  std::map<std::string, DeviceMemory> answers;  ///< By output.
};

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
  std::deque<DataSet> data_sets;   ///< The oldest one first.
};

}  // namespace smemtune::cuda
