#include "tuner/core/occupancy.h"

#include <algorithm>
#include <limits>

namespace smemtune {

namespace {

/// In what units a multiprocessor hands out its resources.
struct Granularity {
  bool registers_per_block = false;  ///< Else per warp.
  std::int64_t register_unit = 256;
  /// Warps are spread over so many register files; a register file serves whole warps.
  std::int64_t register_files = 4;
  /// To what the launch check rounds the warps of a block, whatever the register files are.
  std::int64_t checked_warps = 4;
  std::int64_t shared_unit = 128;
  int max_registers_per_thread = 255;
};

Granularity granularity(int major, int minor) {
  switch (major) {
    case 1:
      return {.registers_per_block = true,
              .register_unit = minor >= 2 ? 512 : 256,
              .register_files = 1,
              .checked_warps = 2,
              .shared_unit = 512,
              .max_registers_per_thread = 124};
    case 2:
      return {.register_unit = 64,
              .register_files = 2,
              .checked_warps = 2,
              .shared_unit = 128,
              .max_registers_per_thread = 63};
    case 3:
      return {.shared_unit = 256, .max_registers_per_thread = minor < 2 ? 63 : 255};
    case 6:
      // 6.0 has two register files, but refuses what 6.1 could not launch.
      return {.register_files = minor == 0 ? 2 : 4, .shared_unit = 256};
    case 5:
    case 7:
      return {.shared_unit = 256};
    default:  // 8.0 and later.
      return {};
  }
}

Granularity granularity(const Device& device) {
  return granularity(device.compute_major, device.compute_minor);
}

std::int64_t ceil_div(std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit; }

std::int64_t round_up(std::int64_t x, std::int64_t unit) { return ceil_div(x, unit) * unit; }

constexpr int kUnlimited = std::numeric_limits<int>::max();

int blocks_by_threads(const Device& device, std::int64_t warps) {
  return static_cast<int>(device.max_threads_per_sm / device.warp_size / warps);
}

int blocks_by_registers(const Device& device, std::int64_t threads, int registers_per_thread) {
  const Granularity unit = granularity(device);
  if (registers_per_thread == 0) return kUnlimited;
  const std::int64_t of_block = allocated_registers(device, threads, registers_per_thread);
  if (registers_per_thread > unit.max_registers_per_thread ||
      of_block > device.registers_per_block) {
    return 0;
  }
  if (unit.registers_per_block) return static_cast<int>(device.registers_per_sm / of_block);
  const std::int64_t of_warp =
      round_up(std::int64_t{registers_per_thread} * device.warp_size, unit.register_unit);
  const std::int64_t warps =
      device.registers_per_sm / unit.register_files / of_warp * unit.register_files;
  return static_cast<int>(warps / ceil_div(threads, device.warp_size));
}

int blocks_by_shared(const Device& device, std::int64_t shared_bytes) {
  if (shared_bytes > device.max_shared_bytes_per_block) return 0;
  const std::int64_t of_block = round_up(shared_bytes + device.reserved_shared_bytes_per_block,
                                         granularity(device).shared_unit);
  if (of_block == 0) return kUnlimited;
  return static_cast<int>(device.shared_bytes_per_sm / of_block);
}

}  // namespace

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
  const Granularity unit = granularity(device);
  const std::int64_t warps =
      round_up(ceil_div(threads_per_block, device.warp_size), unit.checked_warps);
  const std::int64_t of_warp = std::int64_t{registers_per_thread} * device.warp_size;
  if (unit.registers_per_block) return round_up(warps * of_warp, unit.register_unit);
  return warps * round_up(of_warp, unit.register_unit);
}

Occupancy occupancy(const Device& device, std::int64_t threads_per_block, int registers_per_thread,
                    std::int64_t shared_bytes) {
  Occupancy result;
  result.blocks_by_limit = device.max_blocks_per_sm;
  result.blocks_by_shared = blocks_by_shared(device, shared_bytes);
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
