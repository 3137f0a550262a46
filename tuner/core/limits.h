#pragma once

#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/occupancy.h"
#include "tuner/core/outcome.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace smemtune {

/// Resources of one compiled entry, from ptxas's report and, on a GPU, the driver's attributes.
struct Resources {
  int registers_per_thread = 0;
  std::int64_t static_shared_bytes = 0;  ///< Bytes without the system's reserve.
  std::int64_t stack_bytes = 0;          ///< Frame in local memory, per thread.
  std::int64_t spill_store_bytes = 0;
  std::int64_t spill_load_bytes = 0;
  std::int64_t constant_bytes = 0;  ///< Bytes of the module's __constant__ variables.
  int barriers = 0;
  int max_threads_per_block = 0;  ///< Limit from __launch_bounds__; 0 when not known.
  bool wgmma_serialized = false;  ///< True if ptxas found no way to overlap the wgmma instructions.

  /// Returns whether ptxas reported them. For the CPU device's kernels only the static shared
  /// memory is known.
  bool known() const { return registers_per_thread > 0; }

  bool operator==(const Resources&) const = default;
};

/// Returns the words for what a kernel may require of a device beyond its limits, as used in space
/// files: `inline_ptx` (any GPU), `tensor_cores` (from 7.0), `clusters` and `tma` (from 9.0),
/// `wgmma` (9.0 alone). The CPU device has none of these features.
const std::vector<std::string>& feature_words();

/// Performs the checks that need no compiler: required features, threads, block, grid and cluster
/// dimensions, declared registers of warpgroups, declared static and dynamic shared memory,
/// constant memory and tensor maps of the arguments. The failure's status is `constraints`; its
/// detail names the limit, the need and the allowance.
std::optional<Failure> exceeds_limits(const KernelInstance& instance, const Device& device);

/// Options of the checks after compiling.
struct ResourceLimits {
  double min_occupancy_percent = 0;
};

/// Checks the compiled kernel: registers of a block, and whether they suffice for those that its
/// warpgroups set (otherwise the warpgroups would wait forever); static + dynamic + reserved shared
/// memory, launch bounds, occupancy, and that the declared static shared bytes are those of ptxas.
/// `resources[i]` belongs to launch i.
std::optional<Failure> exceeds_resources(const KernelInstance& instance,
                                         const std::vector<Resources>& resources,
                                         const Device& device, const ResourceLimits& limits);

/// Checks whether the copy engine (TMA) accepts an argument's tensor and box: their number of
/// dimensions, the extents of the box, the bytes in its rows and the bytes between rows of the
/// tensor. A failure has the status `constraints`. Returns nullopt for an argument that is not a
/// tensor map.
std::optional<Failure> exceeds_tensor_map(const Argument& argument);

}  // namespace smemtune
