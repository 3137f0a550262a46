#include "tuner/core/occupancy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smemtune {

namespace {

std::int64_t ceil_div(std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit; }

std::int64_t round_up(std::int64_t x, std::int64_t unit) { return ceil_div(x, unit) * unit; }

constexpr int kUnlimited = std::numeric_limits<int>::max();

int blocks_by_threads(const Device& device, std::int64_t warps) {
  return static_cast<int>(device.max_threads_per_sm / device.warp_size / warps);
}

int blocks_by_registers(const Device& device, std::int64_t threads, int registers_per_thread) {
  const AllocationUnits units = allocation_units(device);
  if (registers_per_thread == 0) return kUnlimited;
  const std::int64_t of_block = allocated_registers(device, threads, registers_per_thread);
  if (registers_per_thread > units.max_registers_per_thread ||
      of_block > device.registers_per_block) {
    return 0;
  }
  if (units.registers_per_block) return static_cast<int>(device.registers_per_sm / of_block);
  const std::int64_t of_warp =
      round_up(std::int64_t{registers_per_thread} * device.warp_size, units.registers);
  const std::int64_t warps =
      device.registers_per_sm / units.register_files / of_warp * units.register_files;
  return static_cast<int>(warps / ceil_div(threads, device.warp_size));
}

int blocks_by_shared(const Device& device, std::int64_t shared_bytes,
                     std::optional<std::int64_t> carveout_percent) {
  if (shared_bytes > device.max_shared_bytes_per_block) return 0;
  const std::int64_t of_block = allocated_shared_bytes(device, shared_bytes);
  if (of_block == 0) return kUnlimited;
  std::int64_t bytes = device.shared_bytes_per_sm;
  // One block always has what it needs.
  if (carveout_percent && *carveout_percent >= 0) {
    bytes = std::max(of_block, shared_carveout_bytes(device, *carveout_percent));
  }
  return static_cast<int>(std::min(bytes, device.shared_bytes_per_sm) / of_block);
}

}  // namespace

AllocationUnits allocation_units(const Device& device) {
  switch (device.compute_major) {
    case 1:
      return {.registers_per_block = true,
              .registers = device.compute_minor >= 2 ? 512 : 256,
              .register_files = 1,
              .checked_warps = 2,
              .shared_bytes = 512,
              .max_registers_per_thread = 124};
    case 2:
      return {.registers = 64,
              .register_files = 2,
              .checked_warps = 2,
              .shared_bytes = 128,
              .max_registers_per_thread = 63};
    case 3:
      return {.shared_bytes = 256, .max_registers_per_thread = device.compute_minor < 2 ? 63 : 255};
    case 6:
      // 6.0 has two register files, but refuses blocks that 6.1 could not launch.
      return {.register_files = device.compute_minor == 0 ? 2 : 4, .shared_bytes = 256};
    case 5:
    case 7:
      return {.shared_bytes = 256};
    default:  // 8.0 and later.
      return {};
  }
}

std::vector<std::string> Occupancy::limiters() const {
  std::vector<std::string> names;
  if (blocks_by_threads == blocks_per_sm) names.emplace_back("threads");
  if (blocks_by_registers == blocks_per_sm) names.emplace_back("registers");
  if (blocks_by_shared == blocks_per_sm) names.emplace_back("shared");
  if (blocks_by_limit == blocks_per_sm) names.emplace_back("blocks");
  return names;
}

std::int64_t allocated_registers(const Device& device, std::int64_t threads_per_block,
                                 int registers_per_thread) {
  const AllocationUnits units = allocation_units(device);
  const std::int64_t warps =
      round_up(ceil_div(threads_per_block, device.warp_size), units.checked_warps);
  const std::int64_t of_warp = std::int64_t{registers_per_thread} * device.warp_size;
  if (units.registers_per_block) return round_up(warps * of_warp, units.registers);
  return warps * round_up(of_warp, units.registers);
}

std::int64_t allocated_shared_bytes(const Device& device, std::int64_t shared_bytes) {
  return round_up(shared_bytes + device.reserved_shared_bytes_per_block,
                  allocation_units(device).shared_bytes);
}

std::int64_t shared_carveout_bytes(const Device& device, std::int64_t percent) {
  constexpr std::int64_t kKiB = 1024;
  const std::int64_t most = device.shared_bytes_per_sm;
  if (device.compute_major < 7) return most;
  // Turing has two amounts, the others these up to what they have.
  constexpr std::int64_t kAmounts[] = {8, 16, 32, 64, 100, 132, 164, 196, 228};
  for (const std::int64_t amount : kAmounts) {
    const bool is_turing = device.compute_major == 7 && device.compute_minor == 5;
    if (is_turing && amount < 32) continue;
    if (amount * kKiB * 100 >= percent * most) return std::min(amount * kKiB, most);
  }
  return most;
}

Occupancy occupancy(const Device& device, std::int64_t threads_per_block, int registers_per_thread,
                    std::int64_t shared_bytes, std::optional<std::int64_t> carveout_percent) {
  Occupancy result;
  result.blocks_by_limit = device.max_blocks_per_sm;
  result.blocks_by_shared = blocks_by_shared(device, shared_bytes, carveout_percent);
  if (threads_per_block < 1 || threads_per_block > device.max_threads_per_block) return result;

  const std::int64_t warps = ceil_div(threads_per_block, device.warp_size);
  result.blocks_by_threads = blocks_by_threads(device, warps);
  result.blocks_by_registers = blocks_by_registers(device, threads_per_block, registers_per_thread);
  result.blocks_per_sm = std::min({result.blocks_by_threads, result.blocks_by_registers,
                                   result.blocks_by_shared, result.blocks_by_limit});
  result.warps_per_sm = static_cast<int>(result.blocks_per_sm * warps);
  const int max_warps = device.max_threads_per_sm / device.warp_size;
  result.percent = 100.0 * result.warps_per_sm / max_warps;
  return result;
}

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
