#pragma once

#include "tuner/core/device.h"
#include "tuner/core/occupancy.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace smemtune {

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
