#pragma once

#include "tuner/core/device.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// The units in which a multiprocessor of a compute capability allocates its resources.
struct AllocationUnits {
  /// True if registers are allocated per block, false if per warp.
  bool registers_per_block = false;
  std::int64_t registers = 256;
  /// Number of register files over which warps are spread; a register file serves whole warps.
  std::int64_t register_files = 4;
  /// Multiple to which the launch check rounds up the warps of a block, whatever the register
  /// files.
  std::int64_t checked_warps = 4;
  std::int64_t shared_bytes = 128;
  int max_registers_per_thread = 255;
};

/// Returns the units of a device's compute capability. Sources: CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability"; cuda_occupancy.h.
AllocationUnits allocation_units(const Device& device);

/// How many blocks of a kernel one multiprocessor holds, and what stops it from holding more.
struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  double percent = 0;  ///< Share of the warps that the multiprocessor could hold.
  // Number of blocks that each resource alone would allow.
  int blocks_by_threads = 0;
  int blocks_by_registers = 0;
  int blocks_by_shared = 0;
  int blocks_by_limit = 0;  ///< Limit max_blocks_per_sm.

  /// Returns every resource that sets blocks_per_sm: `threads`, `registers`, `shared`, `blocks`.
  std::vector<std::string> limiters() const;

  bool operator==(const Occupancy&) const = default;
};

/// Computes the occupancy. `shared_bytes`: static and dynamic bytes of one block, without what the
/// system reserves. `carveout_percent`: the share of a multiprocessor's memory for shared memory and
/// L1 cache that the function prefers as shared memory (shared_carveout_bytes()); negative or
/// nullopt: the driver chooses as much as the blocks need. The result has zero blocks if one block
/// does not fit. Everything is allocated in units of allocation_units().
Occupancy occupancy(const Device& device, std::int64_t threads_per_block, int registers_per_thread,
                    std::int64_t shared_bytes,
                    std::optional<std::int64_t> carveout_percent = std::nullopt);

/// Returns the shared memory that a multiprocessor has when a function prefers so many percent of
/// the most: the least amount that its compute capability can be set to and that is as much; all of
/// it where these amounts are not known. Source: CUDA's tuning guides for Volta to Blackwell; an
/// H200 has 8 KiB where 0 % is preferred.
std::int64_t shared_carveout_bytes(const Device& device, std::int64_t percent);

/// Returns the registers that one block takes from its multiprocessor, in whole allocation units.
std::int64_t allocated_registers(const Device& device, std::int64_t threads_per_block,
                                 int registers_per_thread);

/// Returns the shared memory that one block takes from its multiprocessor, in whole allocation
/// units and including what the system reserves.
std::int64_t allocated_shared_bytes(const Device& device, std::int64_t shared_bytes);

/// Resources that a block needs from its multiprocessor.
struct BlockNeeds {
  std::int64_t threads = 0;
  int registers_per_thread = 0;   ///< 0 when not known; registers then impose no limit.
  std::int64_t shared_bytes = 0;  ///< Static and dynamic bytes, without what the system reserves.

  bool operator==(const BlockNeeds&) const = default;
};

Occupancy occupancy(const Device& device, const BlockNeeds& needs);

/// Returns how many threads of a block's last warp do not exist but take room all the same.
std::int64_t idle_threads(const Device& device, std::int64_t threads_per_block);

/// A change that leads to more warps per multiprocessor.
struct OccupancyStep {
  BlockNeeds needs;
  Occupancy reached;
};

/// Returns the nearest changes that lead to a higher occupancy: first of registers and shared
/// memory with the same block (of both if both are exhausted), then of the block size alone (the
/// next smaller and the next larger number of whole warps). Empty at 100 per cent.
std::vector<OccupancyStep> next_steps(const Device& device, const BlockNeeds& needs);

/// The resources that a block may use so that its multiprocessor still reaches an occupancy.
struct OccupancyAllowance {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  double percent = 0;  ///< Occupancy that this many blocks reach: the target or more.
  int registers_per_thread = 0;
  std::int64_t shared_bytes = 0;
  // Quotients of the multiprocessor's resources and its blocks, without allocation units, reserves
  // and limits per thread or block.
  std::int64_t divided_registers = 0;
  std::int64_t divided_shared_bytes = 0;
};

/// Returns what blocks of this many threads may use to reach `target_percent`; nullopt if they
/// never reach it.
std::optional<OccupancyAllowance> allowance(const Device& device, std::int64_t threads_per_block,
                                            double target_percent);

/// Returns the most registers per thread with which `blocks` blocks fit into a multiprocessor's
/// registers; nullopt if they do not fit with any number.
std::optional<int> most_registers(const Device& device, std::int64_t threads_per_block, int blocks);

/// Returns the most shared bytes per block with which `blocks` blocks fit into a multiprocessor's
/// shared memory; nullopt if they do not fit even with 0.
std::optional<std::int64_t> most_shared_bytes(const Device& device, int blocks);

}  // namespace smemtune
