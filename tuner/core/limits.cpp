#include "tuner/core/limits.h"

#include "tuner/core/reasons.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

namespace smemtune {

namespace {

// Limits of cuTensorMapEncodeTiled, from the CUDA driver API.
constexpr std::size_t kMaxDimensions = 5;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 32;
constexpr std::int64_t kMaxBox = 256;
constexpr std::int64_t kMaxElementStride = 8;
// Alignment in bytes of rows in shared and in global memory.
constexpr std::int64_t kAlignment = 16;
constexpr std::int64_t kMaxStride = std::int64_t{1} << 40;

std::string of_dimension(std::size_t dimension) {
  return " in dimension " + std::to_string(dimension + 1);
}

/// Returns what is wrong with the extents; empty if nothing is.
std::string fault_of_extents(const Argument& argument) {
  for (std::size_t i = 0; i < argument.shape.size(); ++i) {
    if (argument.shape[i] > kMaxExtent) {
      return std::to_string(argument.shape[i]) + " elements" + of_dimension(i) + ", at most " +
             std::to_string(kMaxExtent) + " are possible";
    }
    if (argument.box[i] < 1 || argument.box[i] > kMaxBox) {
      return "a box of " + std::to_string(argument.box[i]) + " elements" + of_dimension(i) +
             ", 1 to " + std::to_string(kMaxBox) + " are possible";
    }
    if (argument.element_strides.empty()) continue;
    const std::int64_t stride = argument.element_strides[i];
    if (stride < 1 || stride > kMaxElementStride) {
      return "every " + std::to_string(stride) + "th element" + of_dimension(i) +
             ", strides of 1 to " + std::to_string(kMaxElementStride) + " are possible";
    }
  }
  return "";
}

std::string fault_of_rows(const Argument& argument) {
  const auto size = static_cast<std::int64_t>(size_of(argument.type));
  std::int64_t stride = size;
  for (std::size_t i = argument.shape.size() - 1; i > 0; --i) {
    stride *= argument.shape[i];
    if (stride % kAlignment != 0) {
      return std::to_string(stride) + " bytes from one to the next" + of_dimension(i - 1) +
             ", a multiple of " + std::to_string(kAlignment) + " is needed";
    }
    if (stride >= kMaxStride) {
      return std::to_string(stride) + " bytes from one to the next" + of_dimension(i - 1) +
             ", less than 2^40 are possible";
    }
  }
  const std::int64_t swizzle = argument.swizzle;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) {
    return "a swizzle of " + std::to_string(swizzle) + " bytes, 0, 32, 64 and 128 are possible";
  }
  const std::int64_t row = argument.box.back() * size;
  if (row % kAlignment != 0) {
    return "rows of a box of " + std::to_string(row) + " bytes, a multiple of " +
           std::to_string(kAlignment) + " is needed";
  }
  if (swizzle != 0 && row > swizzle) {
    return "rows of a box of " + std::to_string(row) + " bytes, a swizzle of " +
           std::to_string(swizzle) + " bytes allows at most " + std::to_string(swizzle);
  }
  return "";
}

constexpr std::array<const char*, 3> kAxes = {"x", "y", "z"};

/// Formats a percentage: `62.5`, `100`.
std::string percent_text(double percent) {
  const auto tenths = static_cast<std::int64_t>(std::llround(percent * 10));
  const std::string whole = std::to_string(tenths / 10);
  return tenths % 10 == 0 ? whole : whole + "." + std::to_string(tenths % 10);
}

/// Returns the product of the dimensions, or the largest integer if it overflows. REQUIRES: all are
/// at least 1.
std::int64_t saturating_volume(const Dim3& dimensions) {
  std::int64_t volume = 1;
  for (const std::int64_t n : dimensions) {
    if (n > std::numeric_limits<std::int64_t>::max() / volume) {
      return std::numeric_limits<std::int64_t>::max();
    }
    volume *= n;
  }
  return volume;
}

std::string dimensions_text(const Dim3& dimensions) {
  return std::to_string(dimensions[0]) + " x " + std::to_string(dimensions[1]) + " x " +
         std::to_string(dimensions[2]);
}

std::optional<Failure> exceeds_dimensions(const Dim3& grid, const Dim3& block,
                                          const Device& device) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (block[axis] < 1) {
      return failure(
          {Status::constraints, "block_dim"},
          "block of " + dimensions_text(block) + " threads, every dimension must be at least 1");
    }
    if (grid[axis] < 1) {
      return failure(
          {Status::constraints, "grid_dim"},
          "grid of " + dimensions_text(grid) + " blocks, every dimension must be at least 1");
    }
  }
  const std::int64_t threads = saturating_volume(block);
  if (threads > device.max_threads_per_block) {
    return failure({Status::constraints, "threads"},
                   std::to_string(threads) + " threads per block (" + dimensions_text(block) +
                       "), the device allows " + std::to_string(device.max_threads_per_block));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (block[axis] > device.max_block_dim[axis]) {
      return failure({Status::constraints, "block_dim"},
                     std::to_string(block[axis]) + " threads per block in " + kAxes[axis] +
                         ", the device allows " + std::to_string(device.max_block_dim[axis]));
    }
    if (grid[axis] > device.max_grid_dim[axis]) {
      return failure({Status::constraints, "grid_dim"},
                     std::to_string(grid[axis]) + " blocks in " + kAxes[axis] +
                         ", the device allows " + std::to_string(device.max_grid_dim[axis]));
    }
  }
  return std::nullopt;
}

// A larger cluster needs the kernel's and the GPU's consent (CUDA C++ Programming Guide).
constexpr std::int64_t kMaxClusterBlocks = 8;

std::optional<Failure> exceeds_cluster(const Dim3& grid, const Dim3& cluster) {
  const std::string shown = "cluster of " + dimensions_text(cluster) + " blocks";
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (cluster[axis] < 1) {
      return failure({Status::constraints, "cluster_dim"},
                     shown + ", every dimension must be at least 1");
    }
    if (grid[axis] % cluster[axis] != 0) {
      return failure({Status::constraints, "cluster_dim"},
                     shown + ", the grid of " + dimensions_text(grid) +
                         " blocks is not a multiple of it in " + kAxes[axis]);
    }
  }
  const std::int64_t blocks = saturating_volume(cluster);
  if (blocks <= kMaxClusterBlocks) return std::nullopt;
  return failure({Status::constraints, "cluster_dim"}, shown + " (" + std::to_string(blocks) +
                                                           "), a cluster may have at most " +
                                                           std::to_string(kMaxClusterBlocks));
}

std::optional<Failure> exceeds_shared(std::int64_t static_bytes, std::int64_t dynamic_bytes,
                                      bool architecture_specific, const Device& device) {
  // ptxas refuses larger static arrays unless it compiles for one architecture alone (sm_90a).
  if (static_bytes > device.shared_bytes_per_block && !architecture_specific) {
    return failure({Status::constraints, "shared_bytes"},
                   std::to_string(static_bytes) +
                       " bytes of static shared memory per block, static arrays may have " +
                       std::to_string(device.shared_bytes_per_block) + " (dynamic shared memory " +
                       std::to_string(device.max_shared_bytes_per_block) + ")");
  }
  // A difference is compared, because a sum could overflow.
  if (static_bytes > device.max_shared_bytes_per_block ||
      dynamic_bytes > device.max_shared_bytes_per_block - static_bytes) {
    const bool fits = dynamic_bytes <= std::numeric_limits<std::int64_t>::max() - static_bytes;
    return failure({Status::constraints, "shared_bytes"},
                   (fits ? std::to_string(static_bytes + dynamic_bytes) : "more than 2^63") +
                       " bytes of shared memory per block (static " + std::to_string(static_bytes) +
                       " + dynamic " + std::to_string(dynamic_bytes) + "), the device allows " +
                       std::to_string(device.max_shared_bytes_per_block));
  }
  return std::nullopt;
}

constexpr int kProgrammaticMajor = 9;

struct Feature {
  const char* word = nullptr;
  const char* name = nullptr;
  int major = 0;  ///< Major compute capability from which GPUs have the feature.
  int last_major = std::numeric_limits<int>::max();
};

// Source: CUDA C++ Programming Guide, features by compute capability.
constexpr std::array<Feature, 5> kFeatures = {{{"inline_ptx", "inline PTX", 1},
                                               {"tensor_cores", "tensor cores", 7},
                                               {"clusters", "thread block clusters", 9},
                                               {"tma", "the tensor memory accelerator", 9},
                                               {"wgmma", "warpgroup products (wgmma)", 9, 9}}};

std::optional<Failure> lacks_feature(const std::string& word, const Device& device) {
  const auto* const feature = std::ranges::find(kFeatures, word, &Feature::word);
  if (device.kind == DeviceKind::cpu) {
    return failure({Status::constraints, "requires"}, std::string("the kernel requires ") +
                                                          feature->name +
                                                          ", which the CPU device does not have");
  }
  if (device.compute_major >= feature->major && device.compute_major <= feature->last_major) {
    return std::nullopt;
  }
  return failure({Status::constraints, "requires"},
                 std::string("the kernel requires ") + feature->name +
                     ", which needs compute capability " + std::to_string(feature->major) +
                     ".0; the device has " + capability_text(device));
}

/// Checks that all blocks of a cooperative grid, which wait for each other, can be resident at
/// once.
std::optional<Failure> exceeds_cooperative(const LaunchShape& launch, const Occupancy& reached,
                                           const Device& device) {
  const std::int64_t resident = std::int64_t{reached.blocks_per_sm} * device.sm_count;
  std::int64_t blocks = saturating_volume(launch.grid);
  for (const Repetition& repetition : launch.repetitions) {
    blocks = std::max(blocks, saturating_volume(repetition.grid));
  }
  if (!launch.cooperative || blocks <= resident) return std::nullopt;
  return failure({Status::constraints, "cooperative_grid"},
                 std::to_string(blocks) + " blocks wait for each other, " +
                     std::to_string(resident) + " fit on the device at once (" +
                     std::to_string(reached.blocks_per_sm) + " per multiprocessor x " +
                     std::to_string(device.sm_count) + ")");
}

std::optional<Failure> exceeds_constant(std::int64_t bytes, const Device& device) {
  if (bytes <= device.constant_bytes) return std::nullopt;
  return failure({Status::constraints, "constant_bytes"},
                 std::to_string(bytes) + " bytes of constant memory, the device allows " +
                     std::to_string(device.constant_bytes));
}

std::optional<Failure> exceeds_registers(std::int64_t threads, int registers_per_thread,
                                         const Device& device) {
  const std::int64_t registers = allocated_registers(device, threads, registers_per_thread);
  if (registers <= device.registers_per_block) return std::nullopt;
  return failure({Status::constraints, "registers"},
                 std::to_string(registers) + " registers per block (" +
                     std::to_string(registers_per_thread) + " per thread x " +
                     std::to_string(threads) +
                     " threads, in whole allocation units), the device allows " +
                     std::to_string(device.registers_per_block));
}

// Source: PTX ISA, setmaxnreg.
constexpr std::int64_t kWarpgroupThreads = 128;
constexpr std::int64_t kLeastSetRegisters = 24;
constexpr std::int64_t kMostSetRegisters = 256;
constexpr std::int64_t kSetRegistersStep = 8;

/// Returns the registers per thread that each warpgroup of a block sets; 0 if it keeps what it was
/// launched with. The last declared number applies to all further warpgroups. REQUIRES: the block
/// consists of whole warpgroups, and some registers are declared.
std::vector<std::int64_t> registers_of_warpgroups(const LaunchShape& launch) {
  std::vector<std::int64_t> registers = launch.warpgroup_registers;
  const std::int64_t last = registers.back();
  registers.resize(static_cast<std::size_t>(launch.threads_per_block() / kWarpgroupThreads), last);
  return registers;
}

/// Returns the registers of a block as its warpgroups set them, if those that keep what they were
/// launched with have `at_launch` per thread.
std::int64_t set_registers(const LaunchShape& launch, std::int64_t at_launch) {
  std::int64_t registers = 0;
  for (const std::int64_t set : registers_of_warpgroups(launch)) {
    registers += (set == 0 ? at_launch : set) * kWarpgroupThreads;
  }
  return registers;
}

/// Formats the registers that are set: `56 + 224 + 224 per thread`.
std::string set_registers_text(const LaunchShape& launch) {
  const auto text = [](std::int64_t registers) { return std::to_string(registers); };
  return joined(registers_of_warpgroups(launch), " + ", text) + " per thread";
}

/// Checks the declared registers of warpgroups: the rules of setmaxnreg, and what a multiprocessor
/// has.
std::optional<Failure> exceeds_warpgroup_registers(const LaunchShape& launch,
                                                   bool architecture_specific,
                                                   const Device& device) {
  if (launch.warpgroup_registers.empty()) return std::nullopt;
  const auto rejected = [](std::string detail) {
    return failure({Status::constraints, "warpgroup_registers"}, std::move(detail));
  };
  if (!architecture_specific) {
    return rejected(
        "registers of warpgroups are declared, which only kernels with \"architecture_specific\" "
        "can set");
  }
  const std::int64_t threads = launch.threads_per_block();
  if (threads % kWarpgroupThreads != 0) {
    return rejected("registers of warpgroups are declared, and " + std::to_string(threads) +
                    " threads per block are not a whole number of warpgroups of " +
                    std::to_string(kWarpgroupThreads));
  }
  for (const std::int64_t set : launch.warpgroup_registers) {
    if (set == 0 ||
        (set >= kLeastSetRegisters && set <= kMostSetRegisters && set % kSetRegistersStep == 0)) {
      continue;
    }
    return rejected(std::to_string(set) +
                    " registers per thread of a warpgroup, setmaxnreg takes multiples of " +
                    std::to_string(kSetRegistersStep) + " from " +
                    std::to_string(kLeastSetRegisters) + " to " +
                    std::to_string(kMostSetRegisters));
  }
  const std::int64_t registers = set_registers(launch, 0);
  if (registers <= device.registers_per_block) return std::nullopt;
  return rejected(std::to_string(registers) + " registers per block as its warpgroups set them (" +
                  set_registers_text(launch) + "), the device allows " +
                  std::to_string(device.registers_per_block));
}

/// Checks that the warpgroups do not set more registers than the block was launched with.
std::optional<Failure> exceeds_launched_registers(const LaunchShape& launch,
                                                  int registers_per_thread, const Device& device) {
  if (launch.warpgroup_registers.empty()) return std::nullopt;
  const std::int64_t threads = launch.threads_per_block();
  const std::int64_t at_launch = allocated_registers(device, threads, registers_per_thread);
  const std::int64_t set = set_registers(launch, at_launch / threads);
  if (set <= at_launch) return std::nullopt;
  return failure({Status::constraints, "warpgroup_registers"},
                 std::to_string(set) + " registers per block as its warpgroups set them (" +
                     set_registers_text(launch) + "), it is launched with " +
                     std::to_string(at_launch) + " (" + std::to_string(registers_per_thread) +
                     " per thread x " + std::to_string(threads) +
                     " threads, in whole allocation units), so that they would wait forever");
}

std::optional<Failure> exceeds_occupancy(const LaunchShape& launch, const Resources& resources,
                                         const Device& device, double min_percent) {
  const Occupancy reached = occupancy(
      device, launch.threads_per_block(), resources.registers_per_thread,
      resources.static_shared_bytes + launch.dynamic_shared_bytes, launch.shared_carveout);
  if (reached.blocks_per_sm > 0 && reached.percent >= min_percent) {
    return exceeds_cooperative(launch, reached, device);
  }
  return failure({Status::constraints, "occupancy"},
                 percent_text(reached.percent) + " % occupancy (" +
                     std::to_string(reached.blocks_per_sm) +
                     " blocks per multiprocessor, limited by " + joined(reached.limiters(), ", ") +
                     "), at least " +
                     (reached.blocks_per_sm == 0 ? std::string("one must fit")
                                                 : percent_text(min_percent) + " % is asked for"));
}

std::optional<Failure> exceeds_compiled(const KernelInstance& instance, const LaunchShape& launch,
                                        const Resources& resources, const Device& device,
                                        const ResourceLimits& limits) {
  if (launch.static_shared_bytes && *launch.static_shared_bytes != resources.static_shared_bytes) {
    return failure({Status::constraints, "declared_shared_bytes"},
                   std::to_string(*launch.static_shared_bytes) +
                       " bytes of static shared memory are declared, the compiled kernel has " +
                       std::to_string(resources.static_shared_bytes));
  }
  const std::int64_t threads = launch.threads_per_block();
  if (resources.max_threads_per_block > 0 && threads > resources.max_threads_per_block) {
    return failure({Status::constraints, "launch_bounds"},
                   std::to_string(threads) + " threads per block, __launch_bounds__ allows " +
                       std::to_string(resources.max_threads_per_block));
  }
  if (auto failure = exceeds_registers(threads, resources.registers_per_thread, device)) {
    return failure;
  }
  if (auto failure = exceeds_launched_registers(launch, resources.registers_per_thread, device)) {
    return failure;
  }
  if (auto failure = exceeds_shared(resources.static_shared_bytes, launch.dynamic_shared_bytes,
                                    instance.architecture_specific, device)) {
    return failure;
  }
  if (auto failure = exceeds_constant(resources.constant_bytes, device)) return failure;
  return exceeds_occupancy(launch, resources, device, limits.min_occupancy_percent);
}

/// Returns the features that the kernel says it requires, and those that its launches and arguments
/// need.
std::vector<std::string> features_of(const KernelInstance& instance) {
  std::vector<std::string> words = instance.required_features;
  const auto is_cluster = [](const LaunchShape& launch) { return launch.cluster != Dim3{1, 1, 1}; };
  if (std::ranges::any_of(instance.launches, is_cluster)) words.emplace_back("clusters");
  if (std::ranges::any_of(instance.arguments, &Argument::is_tensor_map)) words.emplace_back("tma");
  return words;
}

/// Adds to the failure's detail which launch it is, if there are several.
std::optional<Failure> of_launch(std::optional<Failure> failure, std::size_t launch,
                                 const KernelInstance& instance) {
  if (failure && instance.launches.size() > 1) {
    failure->detail += ", in launch " + std::to_string(launch + 1) + " of " +
                       std::to_string(instance.launches.size()) + " (" +
                       instance.launches[launch].name_expression + ")";
  }
  return failure;
}

}  // namespace

std::optional<Failure> exceeds_tensor_map(const Argument& argument) {
  if (!argument.is_tensor_map()) return std::nullopt;
  std::string fault;
  if (argument.shape.size() > kMaxDimensions) {
    fault = std::to_string(argument.shape.size()) + " dimensions, at most " +
            std::to_string(kMaxDimensions) + " are possible";
  } else if (argument.box.size() != argument.shape.size()) {
    fault = "a box of " + std::to_string(argument.box.size()) + " dimensions for a tensor of " +
            std::to_string(argument.shape.size());
  } else {
    fault = fault_of_extents(argument);
    if (fault.empty()) fault = fault_of_rows(argument);
  }
  if (fault.empty()) return std::nullopt;
  return failure({Status::constraints, "tensor_map"},
                 "the tensor map of " + argument.name + " has " + fault);
}

const std::vector<std::string>& feature_words() {
  static const std::vector<std::string> words = texts_of(kFeatures, &Feature::word);
  return words;
}

std::optional<Failure> exceeds_limits(const KernelInstance& instance, const Device& device) {
  for (const std::string& word : features_of(instance)) {
    if (auto failure = lacks_feature(word, device)) return failure;
  }
  if (device.kind == DeviceKind::cpu &&
      std::ranges::any_of(instance.launches, &LaunchShape::cooperative)) {
    return failure({Status::constraints, "requires"},
                   "the kernel is launched cooperatively, which the CPU device cannot do");
  }
  for (std::size_t i = 0; i < instance.launches.size(); ++i) {
    const LaunchShape& launch = instance.launches[i];
    if (launch.programmatic.value_or(0) != 0 && device.kind != DeviceKind::cpu &&
        device.compute_major < kProgrammaticMajor) {
      return failure({Status::constraints, "requires"},
                     "programmatic dependent launch needs compute capability " +
                         std::to_string(kProgrammaticMajor) + ".0; the device has " +
                         capability_text(device));
    }
    auto failure = exceeds_dimensions(launch.grid, launch.block, device);
    if (!failure) failure = exceeds_cluster(launch.grid, launch.cluster);
    for (const Repetition& repetition : launch.repetitions) {
      if (!failure) failure = exceeds_dimensions(repetition.grid, repetition.block, device);
      if (!failure) failure = exceeds_cluster(repetition.grid, launch.cluster);
    }
    if (!failure) {
      failure = exceeds_warpgroup_registers(launch, instance.architecture_specific, device);
    }
    if (!failure) {
      failure = exceeds_shared(launch.static_shared_bytes.value_or(0), launch.dynamic_shared_bytes,
                               instance.architecture_specific, device);
    }
    if (failure) return of_launch(std::move(failure), i, instance);
  }
  std::int64_t constant_bytes = 0;
  for (const Argument& argument : instance.arguments) {
    if (argument.in_constant_memory()) constant_bytes += argument.bytes();
    if (auto failure = exceeds_tensor_map(argument)) return failure;
  }
  return exceeds_constant(constant_bytes, device);
}

std::optional<Failure> exceeds_resources(const KernelInstance& instance,
                                         const std::vector<Resources>& resources,
                                         const Device& device, const ResourceLimits& limits) {
  for (std::size_t i = 0; i < instance.launches.size(); ++i) {
    auto failure =
        exceeds_compiled(instance, instance.launches[i], resources.at(i), device, limits);
    if (failure) return of_launch(std::move(failure), i, instance);
  }
  return std::nullopt;
}

}  // namespace smemtune
