#pragma once

#include "tuner/core/device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune {

/// In what units a multiprocessor of a compute capability hands out its resources.
struct AllocationUnits {
  bool registers_per_block = false;  ///< Else per warp.
  std::int64_t registers = 256;
  /// Warps are spread over so many register files; a register file serves whole warps.
  std::int64_t register_files = 4;
  /// To what the launch check rounds the warps of a block, whatever the register files are.
  std::int64_t checked_warps = 4;
  std::int64_t shared_bytes = 128;
  int max_registers_per_thread = 255;
};

/// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability";
/// cuda_occupancy.h.
AllocationUnits allocation_units(const Device& device);

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
/// when one block does not fit. Everything is allocated in units of allocation_units().
Occupancy occupancy(const Device& device, std::int64_t threads_per_block, int registers_per_thread,
                    std::int64_t shared_bytes);

/// Registers that one block takes from its multiprocessor, in whole allocation units.
std::int64_t allocated_registers(const Device& device, std::int64_t threads_per_block,
                                 int registers_per_thread);

/// Shared memory that one block takes from its multiprocessor, in whole allocation units and with
/// what the system reserves.
std::int64_t allocated_shared_bytes(const Device& device, std::int64_t shared_bytes);

}  // namespace smemtune
