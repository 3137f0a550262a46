#pragma once

#include "tuner/core/device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune {

/// How many blocks of a kernel one multiprocessor holds, and what stops it from holding more.
struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  double percent = 0;  ///< Of the warps that the multiprocessor could hold.
  // Blocks that each resource alone would allow.
  int blocks_by_threads = 0;
  int blocks_by_registers = 0;
  int blocks_by_shared = 0;
  int blocks_by_limit = 0;  ///< max_blocks_per_sm.

  /// Every resource that sets blocks_per_sm: `threads`, `registers`, `shared`, `blocks`.
  std::vector<std::string> limiters() const;

  bool operator==(const Occupancy&) const = default;
};

/// `shared_bytes`: static and dynamic of one block, without what the system reserves. Zero blocks
/// when one block does not fit. Allocation granularities are those of the compute capability (CUDA
/// C++ Programming Guide, "Technical Specifications per Compute Capability"; cuda_occupancy.h).
Occupancy occupancy(const Device& device, std::int64_t threads_per_block, int registers_per_thread,
                    std::int64_t shared_bytes);

/// Registers that one block takes from its multiprocessor, in whole allocation units.
std::int64_t allocated_registers(const Device& device, std::int64_t threads_per_block,
                                 int registers_per_thread);

}  // namespace smemtune
