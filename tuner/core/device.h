#pragma once

#include "tuner/core/value.h"

#include <array>
#include <cstdint>
#include <string>

namespace smemtune {

using Dim3 = std::array<std::int64_t, 3>;  ///< Extents in x, y and z.

/// Returns the product of the extents: the blocks of a grid, the threads of a block.
constexpr std::int64_t volume(const Dim3& extents) { return extents[0] * extents[1] * extents[2]; }

/// `32x8x1`.
std::string extents_text(const Dim3& extents);

enum class DeviceKind { gpu, cpu };

/// Returns the word of a kind. The words are stored: never rename one.
std::string to_text(DeviceKind kind);
DeviceKind parse_device_kind(const std::string& word);  ///< Throws InputError.

/// A device and its limits. The limits come from cudaGetDeviceProperties and
/// cudaDeviceGetAttribute, from configs/devices.json for a GPU that is not here, or, for the CPU
/// device, from the GPU whose limits it borrows.
struct Device {
  DeviceKind kind = DeviceKind::gpu;
  std::string name;  ///< Name of the model, the same for all of its boards: `NVIDIA H200`.
  std::string uuid;  ///< Identifies one board: `GPU-...`. Empty if the device is not here.
  /// Target that NVRTC compiles for: `sm_90`; `host` for the CPU device.
  std::string architecture;
  int compute_major = 0;
  int compute_minor = 0;
  /// Returns 90 for a device of compute capability 9.0.
  int compute_capability() const { return 10 * compute_major + compute_minor; }

  int sm_count = 0;
  int warp_size = 32;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  std::int64_t registers_per_block = 0;
  std::int64_t registers_per_sm = 0;
  std::int64_t shared_bytes_per_block = 0;  ///< Limit without opting in: 49152.
  /// Limit with the opt-in attribute: 232448 on sm_90.
  std::int64_t max_shared_bytes_per_block = 0;
  std::int64_t shared_bytes_per_sm = 0;
  /// Bytes that the system takes from every block.
  std::int64_t reserved_shared_bytes_per_block = 0;
  std::int64_t constant_bytes = 65536;
  Dim3 max_block_dim = {1024, 1024, 64};
  Dim3 max_grid_dim = {2147483647, 65535, 65535};

  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  int memory_bus_bits = 0;
  int memory_clock_khz = 0;
  int sm_clock_khz = 0;
  bool ecc = false;

  std::string driver_version;   ///< CUDA version of the driver: `13.0`. Stored with the results.
  std::string runtime_version;  ///< Version of the CUDA runtime: `13.0`.
  /// For the CPU device: the name of the GPU whose limits it borrows.
  std::string limits_of;

  bool operator==(const Device&) const = default;
};

/// Formats the compute capability: `9.0`.
std::string capability_text(const Device& device);

/// Returns the names that expressions may use, with this device's values: compute_capability (90),
/// sm_count, warp_size, max_threads_per_block, max_threads_per_sm, max_blocks_per_sm,
/// registers_per_block, registers_per_sm, shared_bytes_per_block, max_shared_bytes_per_block,
/// shared_bytes_per_sm, reserved_shared_bytes_per_block, l2_bytes, memory_bytes,
/// memory_bytes_per_cycle (the most that the memory sends in a cycle of the multiprocessors; 0 if
/// the clocks are not known), is_cpu (1 or 0).
Bindings device_names(const Device& device);

/// Returns an H200 with only its name and published limits. It stands for a GPU where there is
/// none: when expressions are tried out, and in tests.
Device h200_limits();

}  // namespace smemtune
