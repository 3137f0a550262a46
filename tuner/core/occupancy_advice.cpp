#include "tuner/core/occupancy_advice.h"

#include <algorithm>
#include <cmath>

namespace smemtune {

namespace {

// Percentages are multiples of at least 100 / 64; the requested one may be rounded: `66.7`.
constexpr double kPercentSlack = 0.05;

/// Returns how the needs must shrink so that one more block with the same threads fits.
std::optional<OccupancyStep> one_block_more(const Device& device, const BlockNeeds& needs) {
  const int blocks = occupancy(device, needs).blocks_per_sm + 1;
  const Occupancy without = occupancy(device, needs.threads, 0, 0);
  if (without.blocks_by_threads < blocks || without.blocks_by_limit < blocks) return std::nullopt;
  const auto registers = most_registers(device, needs.threads, blocks);
  const auto shared = most_shared_bytes(device, blocks);
  if (!registers || !shared) return std::nullopt;
  OccupancyStep step = {.needs = needs, .reached = {}};
  step.needs.registers_per_thread = std::min(needs.registers_per_thread, *registers);
  step.needs.shared_bytes = std::min(needs.shared_bytes, *shared);
  step.reached = occupancy(device, step.needs);
  return step;
}

/// Returns the nearest other block size that gives more warps per multiprocessor, going by `warps`
/// at a time.
std::optional<OccupancyStep> other_block(const Device& device, const BlockNeeds& needs, int warps) {
  const int now = occupancy(device, needs).warps_per_sm;
  const std::int64_t warp = device.warp_size;
  const std::int64_t whole = (needs.threads + (warps > 0 ? 0 : warp - 1)) / warp * warp;
  for (std::int64_t threads = whole + warps * warp;
       threads > 0 && threads <= device.max_threads_per_block; threads += warps * warp) {
    OccupancyStep step = {.needs = needs, .reached = {}};
    step.needs.threads = threads;
    step.reached = occupancy(device, step.needs);
    if (step.reached.warps_per_sm > now) return step;
  }
  return std::nullopt;
}

}  // namespace

Occupancy occupancy(const Device& device, const BlockNeeds& needs) {
  return occupancy(device, needs.threads, needs.registers_per_thread, needs.shared_bytes);
}

std::int64_t idle_threads(const Device& device, std::int64_t threads_per_block) {
  const std::int64_t beyond = threads_per_block % device.warp_size;
  return beyond == 0 ? 0 : device.warp_size - beyond;
}

std::vector<OccupancyStep> next_steps(const Device& device, const BlockNeeds& needs) {
  std::vector<OccupancyStep> steps;
  if (occupancy(device, needs).percent >= 100) return steps;
  for (const auto& step : {one_block_more(device, needs), other_block(device, needs, -1),
                           other_block(device, needs, 1)}) {
    if (step) steps.push_back(*step);
  }
  return steps;
}

std::optional<OccupancyAllowance> allowance(const Device& device, std::int64_t threads_per_block,
                                            double target_percent) {
  const Occupancy most = occupancy(device, threads_per_block, 0, 0);
  if (most.blocks_per_sm == 0 || most.percent < target_percent - kPercentSlack) return std::nullopt;
  const double percent_of_block = most.percent / most.blocks_per_sm;
  const double blocks = std::ceil((target_percent - kPercentSlack) / percent_of_block);
  OccupancyAllowance result;
  result.blocks_per_sm = std::clamp(static_cast<int>(blocks), 1, most.blocks_per_sm);
  const auto registers = most_registers(device, threads_per_block, result.blocks_per_sm);
  const auto shared = most_shared_bytes(device, result.blocks_per_sm);
  if (!registers || !shared) return std::nullopt;
  result.warps_per_sm = most.warps_per_sm / most.blocks_per_sm * result.blocks_per_sm;
  result.percent = percent_of_block * result.blocks_per_sm;
  result.registers_per_thread = *registers;
  result.shared_bytes = *shared;
  result.divided_registers = device.registers_per_sm / (result.blocks_per_sm * threads_per_block);
  result.divided_shared_bytes = device.shared_bytes_per_sm / result.blocks_per_sm;
  return result;
}

std::optional<int> most_registers(const Device& device, std::int64_t threads_per_block,
                                  int blocks) {
  for (int registers = allocation_units(device).max_registers_per_thread; registers > 0;
       --registers) {
    if (occupancy(device, threads_per_block, registers, 0).blocks_by_registers >= blocks) {
      return registers;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> most_shared_bytes(const Device& device, int blocks) {
  const auto fit = [&](std::int64_t bytes) {
    return occupancy(device, device.warp_size, 0, bytes).blocks_by_shared >= blocks;
  };
  if (!fit(0)) return std::nullopt;
  std::int64_t least = 0;
  std::int64_t beyond = device.max_shared_bytes_per_block + 1;
  while (beyond - least > 1) {
    const std::int64_t middle = least + (beyond - least) / 2;
    (fit(middle) ? least : beyond) = middle;
  }
  return least;
}

}  // namespace smemtune
