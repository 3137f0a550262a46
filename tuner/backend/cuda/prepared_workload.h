#pragma once

#include "tuner/backend/cuda/device_buffer.h"
#include "tuner/backend/launcher.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// Factor that makes the salts of different buffers differ in all bits, not only in low ones.
constexpr std::uint32_t kSaltStep = 0x9E3779B9u;

/// Returns the bytes that a workload's buffers and the copies of their contents take on the device.
/// Scratch does not belong to the workload.
std::int64_t device_bytes(const Workload& workload);

/// Data drawn for timed launches, and the reference's answers for them.
struct DataSet {
  std::uint64_t key = 0;   ///< Key of each buffer's redraw_for().
  std::uint64_t mask = 0;  ///< Mask under which the answers are kept (apply_mask).
  std::map<std::string, DeviceMemory> answers;  ///< Reference outputs, by name.
};

/// A workload on the device.
struct PreparedWorkload {
  struct Constant {
    Argument argument;
    std::vector<std::uint8_t> contents;
  };

  using Map = std::map<WorkloadId, std::unique_ptr<PreparedWorkload>>;

  /// `number` is 1 or more, and differs from those of the `others`. Contents that one of these has
  /// are copied from it.
  PreparedWorkload(const Workload& workload, std::uint64_t number, const Map& others,
                   ContentsWriter& writer, CUstream stream);

  std::uint64_t number;
  std::map<std::string, DeviceBuffer> buffers;
  std::map<std::string, Constant> constants;
  std::set<std::string> expected;  ///< Names of the buffers that a reference run has filled.
  std::deque<DataSet> data_sets;   ///< Oldest first.
};

}  // namespace smemtune::cuda
