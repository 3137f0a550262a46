#pragma once

#include "tuner/core/value.h"

#include <array>
#include <cstdint>
#include <string>

namespace smemtune {

using Dim3 = std::array<std::int64_t, 3>;  ///< x, y, z.

/// Their product: the blocks of a grid, the threads of a block.
constexpr std::int64_t volume(const Dim3& extents) { return extents[0] * extents[1] * extents[2]; }

enum class DeviceKind { gpu, cpu };

/// The words are stored: never rename one.
std::string to_text(DeviceKind kind);
DeviceKind parse_device_kind(const std::string& word);  ///< Throws InputError.

/// What a device is and allows. The limits come from cudaGetDeviceProperties and
/// cudaDeviceGetAttribute, from configs/devices.json for a GPU that is not here, or, for the CPU
/// device, from the GPU whose limits it borrows.
struct Device {
  DeviceKind kind = DeviceKind::gpu;
  std::string name;          ///< `NVIDIA H200`; the model, so equal for two boards of one model.
  std::string uuid;          ///< Of this one board: `GPU-...`. Empty when the device is not here.
  std::string architecture;  ///< What NVRTC compiles for: `sm_90`. `host` for the CPU device.
  int compute_major = 0;
  int compute_minor = 0;

  int sm_count = 0;
  int warp_size = 32;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  std::int64_t registers_per_block = 0;
  std::int64_t registers_per_sm = 0;
  std::int64_t shared_bytes_per_block = 0;      ///< Without opting in: 49152.
  std::int64_t max_shared_bytes_per_block = 0;  ///< With the opt-in attribute: 232448 on sm_90.
  std::int64_t shared_bytes_per_sm = 0;
  std::int64_t reserved_shared_bytes_per_block = 0;  ///< Taken by the system from every block.
  std::int64_t constant_bytes = 65536;
  Dim3 max_block_dim = {1024, 1024, 64};
  Dim3 max_grid_dim = {2147483647, 65535, 65535};

  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  int memory_bus_bits = 0;
  int memory_clock_khz = 0;
  int sm_clock_khz = 0;
  bool ecc = false;

  std::string driver_version;   ///< `13.0`; what produced results here, kept beside them.
  std::string runtime_version;  ///< cudart's, `13.0`.
  std::string limits_of;        ///< The CPU device: the name of the GPU whose limits it borrows.

  bool operator==(const Device&) const = default;
};

/// `9.0`
std::string capability_text(const Device& device);

/// The names that expressions may use, with this device's values: compute_capability (90),
/// sm_count, warp_size, max_threads_per_block, max_threads_per_sm, max_blocks_per_sm,
/// registers_per_block, registers_per_sm, shared_bytes_per_block, max_shared_bytes_per_block,
/// shared_bytes_per_sm, reserved_shared_bytes_per_block, l2_bytes, memory_bytes,
/// memory_bytes_per_cycle (what the memory sends at most in a cycle of the multiprocessors; 0 where
/// the clocks are not known), is_cpu (1 or 0).
Bindings device_names(const Device& device);

}  // namespace smemtune
