#pragma once

#include "tuner/core/device.h"
#include "tuner/core/occupancy.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace smemtune {

/// What a block asks of its multiprocessor.
struct BlockNeeds {
  std::int64_t threads = 0;
  int registers_per_thread = 0;   ///< 0: not known, and no limit.
  std::int64_t shared_bytes = 0;  ///< Static and dynamic, without what the system reserves.

  bool operator==(const BlockNeeds&) const = default;
};

Occupancy occupancy(const Device& device, const BlockNeeds& needs);

/// Threads of a block's last warp that do not exist and take room all the same.
std::int64_t idle_threads(const Device& device, std::int64_t threads_per_block);

/// A change that leads to more warps per multiprocessor.
struct OccupancyStep {
  BlockNeeds needs;
  Occupancy reached;
};

/// The nearest changes that lead to a higher occupancy: first of registers and shared memory with
/// the same block, which takes both where both are exhausted, then of the block size alone (the
/// next smaller and the next larger number of whole warps). Empty at 100 per cent.
std::vector<OccupancyStep> next_steps(const Device& device, const BlockNeeds& needs);

/// What a block may use so that its multiprocessor still reaches an occupancy.
struct OccupancyAllowance {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  double percent = 0;  ///< What so many blocks reach: the target or more.
  int registers_per_thread = 0;
  std::int64_t shared_bytes = 0;
  // What dividing the multiprocessor's resources by its blocks gives, without allocation units,
  // reserves and limits per thread or block.
  std::int64_t divided_registers = 0;
  std::int64_t divided_shared_bytes = 0;
};

/// nullopt when blocks of so many threads never reach `target_percent`.
std::optional<OccupancyAllowance> allowance(const Device& device, std::int64_t threads_per_block,
                                            double target_percent);

/// The most registers per thread with which `blocks` blocks fit into a multiprocessor's registers;
/// nullopt when they do not with any.
std::optional<int> most_registers(const Device& device, std::int64_t threads_per_block, int blocks);

/// The most shared bytes per block with which `blocks` blocks fit into a multiprocessor's shared
/// memory; nullopt when they do not without any either.
std::optional<std::int64_t> most_shared_bytes(const Device& device, int blocks);

}  // namespace smemtune
