#include "tuner/core/occupancy.h"

#include <algorithm>
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

}  // namespace smemtune
