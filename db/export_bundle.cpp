#include "db/code_names.h"
#include "db/export_formats.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

/// The part that is the same in every bundle; SPACE stands for the space's name.
constexpr const char* kTypes = R"(#include <cuda.h>
#include <stddef.h>
#include <string.h>

/* The parameters of cuTensorMapEncodeTiled. */
typedef struct SPACE_tensor_map {
  int type, swizzle, promotion;
  unsigned rank;
  unsigned long long extents[5], strides[5];
  unsigned box[5], element_strides[5];
} SPACE_tensor_map;

/* An argument, in the order of `values`. */
typedef struct SPACE_argument {
  const char* name;
  size_t bytes;                /* All elements of a buffer, or the size of a scalar. */
  const unsigned char* value;  /* A scalar's value by the space file; NULL for a buffer. */
  const char* symbol;          /* The name in the cubin of constant memory, or NULL. */
  const SPACE_tensor_map* map; /* The form of a buffer that is passed as one, or NULL. */
} SPACE_argument;

typedef struct SPACE_taken {
  int argument;
  const unsigned char* value; /* A value for this launch only, or NULL. */
} SPACE_taken;

typedef struct SPACE_launch_shape {
  const char* entry;
  unsigned grid[3], block[3], cluster[3], shared_bytes;
  int cooperative, count;
  const SPACE_taken* taken; /* The entry's parameters, in its order. */
} SPACE_launch_shape;

/* The best configuration for a problem on a device. */
typedef struct SPACE_kernel {
  const char *device, *problem, *name, *configuration;
  int compute_capability; /* 90 for 9.0 */
  double time_ms;
  const unsigned char* cubin;
  int argument_count, launch_count;
  const SPACE_argument* arguments;
  const SPACE_launch_shape* launches;
} SPACE_kernel;

/* A kernel in the current context. */
typedef struct SPACE_loaded {
  const SPACE_kernel* kernel;
  CUmodule module;
} SPACE_loaded;
)";

constexpr const char* kFunctions = R"(
/* Returns the kernel for a problem ("M=4096,T=float", names sorted): that of the device of this name,
 * else one of its compute capability; NULL if there is none. */
static inline const SPACE_kernel* SPACE_find(const char* device, int compute_capability,
                                             const char* problem) {
  const SPACE_kernel* found = NULL;
  size_t i;
  for (i = 0; i < sizeof SPACE_kernels / sizeof *SPACE_kernels; ++i) {
    const SPACE_kernel* one = &SPACE_kernels[i];
    if (one->compute_capability != compute_capability || strcmp(one->problem, problem) != 0) continue;
    if (strcmp(one->device, device) == 0) return one;
    if (found == NULL) found = one;
  }
  return found;
}

/* Loads a kernel into the current context. */
static inline CUresult SPACE_load(const SPACE_kernel* kernel, SPACE_loaded* loaded) {
  CUresult status = cuModuleLoadData(&loaded->module, kernel->cubin);
  int i;
  if (status != CUDA_SUCCESS) return status;
  loaded->kernel = kernel;
  for (i = 0; i < kernel->launch_count && status == CUDA_SUCCESS; ++i) {
    const SPACE_launch_shape* shape = &kernel->launches[i];
    CUfunction function;
    int limit = 0; /* Only ever raised: launches may share a function. */
    status = cuModuleGetFunction(&function, loaded->module, shape->entry);
    if (status == CUDA_SUCCESS) {
      status = cuFuncGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
    }
    if (status == CUDA_SUCCESS && shape->shared_bytes > (unsigned)limit) {
      status = cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  (int)shape->shared_bytes);
    }
  }
  if (status != CUDA_SUCCESS) (void)cuModuleUnload(loaded->module);
  return status;
}

static inline CUresult SPACE_unload(SPACE_loaded* loaded) { return cuModuleUnload(loaded->module); }

/* Fills constant memory from the buffers that are given for it. */
static inline CUresult SPACE_fill_constants(const SPACE_loaded* loaded, const void* const* values,
                                            CUstream stream) {
  int i;
  for (i = 0; i < loaded->kernel->argument_count; ++i) {
    const SPACE_argument* argument = &loaded->kernel->arguments[i];
    CUdeviceptr from, to;
    size_t bytes;
    CUresult status;
    if (argument->symbol == NULL || values[i] == NULL) continue;
    memcpy(&from, values[i], sizeof from);
    status = cuModuleGetGlobal(&to, &bytes, loaded->module, argument->symbol);
    if (status == CUDA_SUCCESS) status = cuMemcpyDtoDAsync(to, from, argument->bytes, stream);
    if (status != CUDA_SUCCESS) return status;
  }
  return CUDA_SUCCESS;
}

/* Makes the tensor map of the buffer that `value` points to, at `to`, which is 64-byte aligned. */
static inline CUresult SPACE_make_map(const SPACE_tensor_map* map, const void* value, void* to) {
#ifdef SPACE_HAS_TENSOR_MAPS
  CUdeviceptr data;
  void* address;
  memcpy(&data, value, sizeof data);
  memcpy(&address, &data, sizeof address);
  return cuTensorMapEncodeTiled((CUtensorMap*)to, (CUtensorMapDataType)map->type, map->rank, address,
                                (const cuuint64_t*)map->extents, (const cuuint64_t*)map->strides,
                                map->box, map->element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                (CUtensorMapSwizzle)map->swizzle,
                                (CUtensorMapL2promotion)map->promotion,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
#else
  (void)map, (void)value, (void)to;
  return CUDA_ERROR_NOT_SUPPORTED;
#endif
}

/* Enqueues all launches. values[i] points to the value of argument i of the kernel: the CUdeviceptr of
 * a buffer, or a scalar; NULL: the scalar of the space file, or constant memory that stays as it is. */
static inline CUresult SPACE_launch(const SPACE_loaded* loaded, const void* const* values,
                                    CUstream stream) {
  const SPACE_kernel* kernel = loaded->kernel;
  unsigned char room[128 * SPACE_most_taken + 64];
  unsigned char* maps = room + (64 - (size_t)room % 64);
  CUresult filled = SPACE_fill_constants(loaded, values, stream);
  int i, k;
  if (filled != CUDA_SUCCESS) return filled;
  for (i = 0; i < kernel->launch_count; ++i) {
    const SPACE_launch_shape* shape = &kernel->launches[i];
    void* parameters[SPACE_most_taken];
    CUlaunchAttribute attributes[2];
    CUlaunchConfig config;
    CUfunction function;
    CUresult status = cuModuleGetFunction(&function, loaded->module, shape->entry);
    if (status != CUDA_SUCCESS) return status;
    for (k = 0; k < shape->count; ++k) {
      const SPACE_taken* taken = &shape->taken[k];
      const SPACE_argument* argument = &kernel->arguments[taken->argument];
      const void* value = taken->value != NULL ? taken->value : values[taken->argument];
      if (value == NULL) value = argument->value;
      if (value == NULL) return CUDA_ERROR_INVALID_VALUE; /* A buffer is missing. */
      if (argument->map != NULL) {
        status = SPACE_make_map(argument->map, value, maps + 128 * k);
        if (status != CUDA_SUCCESS) return status;
        value = maps + 128 * k;
      }
      memcpy(&parameters[k], &value, sizeof value);       /* The driver only reads it. */
    }
    memset(&config, 0, sizeof config);
    memset(attributes, 0, sizeof attributes);
    config.gridDimX = shape->grid[0];
    config.gridDimY = shape->grid[1];
    config.gridDimZ = shape->grid[2];
    config.blockDimX = shape->block[0];
    config.blockDimY = shape->block[1];
    config.blockDimZ = shape->block[2];
    config.sharedMemBytes = shape->shared_bytes;
    config.hStream = stream;
    config.attrs = attributes;
    if (shape->cooperative) {
      attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      attributes[config.numAttrs++].value.cooperative = 1;
    }
    if (shape->cluster[0] * shape->cluster[1] * shape->cluster[2] > 1) {
      attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes[config.numAttrs].value.clusterDim.x = shape->cluster[0];
      attributes[config.numAttrs].value.clusterDim.y = shape->cluster[1];
      attributes[config.numAttrs++].value.clusterDim.z = shape->cluster[2];
    }
    status = cuLaunchKernelEx(&config, function, parameters, NULL);
    if (status != CUDA_SUCCESS) return status;
  }
  return CUDA_SUCCESS;
}
)";

std::string with_name(std::string text, const std::string& space) {
  constexpr std::string_view kPlace = "SPACE_";
  for (std::size_t at = text.find(kPlace); at != std::string::npos;
       at = text.find(kPlace, at + space.size() + 1)) {
    text.replace(at, kPlace.size(), space + "_");
  }
  return text;
}

std::string byte_array(const std::string& name, std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kInLine = 24;
  std::string text = "static const unsigned char " + name + "[] = {";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text += (i % kInLine == 0 ? "\n  " : "") + std::to_string(bytes[i]) + ",";
  }
  return text + "\n};\n";
}

std::string triple(const Dim3& of) {
  return "{" + std::to_string(of[0]) + "u, " + std::to_string(of[1]) + "u, " +
         std::to_string(of[2]) + "u}";
}

std::string numbers(const std::vector<std::int64_t>& list) {
  return "{" + joined(list, ", ", [](std::int64_t number) { return std::to_string(number); }) + "}";
}

/// Returns the end of a name like CU_TENSOR_MAP_DATA_TYPE_FLOAT16.
const char* tensor_map_type(ScalarType type) {
  switch (type) {
    case ScalarType::int8:
    case ScalarType::uint8:
    case ScalarType::float8_e4m3:
      return "UINT8";
    case ScalarType::int16:
    case ScalarType::uint16:
      return "UINT16";
    case ScalarType::int32:
      return "INT32";
    case ScalarType::uint32:
      return "UINT32";
    case ScalarType::int64:
      return "INT64";
    case ScalarType::uint64:
      return "UINT64";
    case ScalarType::float16:
      return "FLOAT16";
    case ScalarType::bfloat16:
      return "BFLOAT16";
    case ScalarType::float32:
      return "FLOAT32";
    case ScalarType::float64:
      break;
  }
  return "FLOAT64";
}

std::vector<std::int64_t> innermost_first(const std::vector<std::int64_t>& numbers) {
  return {numbers.rbegin(), numbers.rend()};
}

/// Returns true if any kernel takes a tensor map.
bool has_tensor_maps(const std::vector<BundledKernel>& compiled) {
  return std::ranges::any_of(compiled, [](const BundledKernel& kernel) {
    return std::ranges::any_of(kernel.parameters,
                               [](const auto& one) { return one.argument.is_tensor_map(); });
  });
}

/// Writes one kernel's tables, whose names begin with the space's and end in a number.
class KernelWriter {
 public:
  KernelWriter(const BundledKernel& kernel, std::string space, std::size_t number)
      : kernel_(kernel), space_(std::move(space)), of_("_" + std::to_string(number)) {}

  std::string tables() {
    std::string launches;
    for (const BundledKernel::Launch& one : kernel_.launches) launches += launch(one);
    std::string arguments;
    for (const BundledKernel::Parameter& one : kernel_.parameters) {
      arguments += "  {" + string_literal(one.argument.name) + ", " +
                   std::to_string(one.argument.bytes()) + ", " + value_of(one.value) + ", " +
                   (one.symbol.empty() ? "NULL" : string_literal(one.symbol)) + ", " +
                   map_of(one.argument) + "},\n";
    }
    return values_ + maps_ + taken_ + table("argument", "arguments", arguments) +
           table("launch_shape", "launches", launches);
  }

  /// Returns the line of a result in the table of all kernels.
  std::string entry(const StoredResult& stored, const std::string& cubin) const {
    const Device& device = stored.device;
    const Result& result = stored.result;
    return "  {" + string_literal(device.name) + ", " + string_literal(key(result.problem)) + ", " +
           string_literal(result.kernel) + ",\n   " + string_literal(key(result.configuration)) +
           ",\n   " + std::to_string(device.compute_capability()) + ", " +
           significant(result.measurement.median_ms, 6) + ", " + cubin + ", " +
           std::to_string(kernel_.parameters.size()) + ", " +
           std::to_string(kernel_.launches.size()) + ", " + name("arguments") + ", " +
           name("launches") + "},\n";
  }

 private:
  std::string name(const std::string& what) const { return space_ + "_" + what + of_; }

  std::string table(const std::string& type, const std::string& what,
                    const std::string& lines) const {
    return "static const " + space_ + "_" + type + " " + name(what) + "[] = {\n" + lines + "};\n";
  }

  /// Returns the name of an array with these bytes, or NULL if there are none.
  std::string value_of(const BundledKernel::Bytes& bytes) {
    if (bytes.empty()) return "NULL";
    const auto [place, is_new] =
        known_.try_emplace(bytes, name("value") + "_" + std::to_string(known_.size()));
    if (is_new) values_ += byte_array(place->second, bytes);
    return place->second;
  }

  /// Returns a pointer to the tensor map of an argument, or NULL if it has none.
  std::string map_of(const Argument& argument) {
    if (!argument.is_tensor_map()) return "NULL";
    const std::vector<std::int64_t> extents = innermost_first(argument.shape);
    std::vector<std::int64_t> element_strides = innermost_first(argument.element_strides);
    element_strides.resize(extents.size(), 1);
    const std::string its = name("map_" + std::to_string(map_count_++));
    std::vector<std::int64_t> strides;  // In bytes, of all dimensions but the innermost.
    auto stride = static_cast<std::int64_t>(size_of(argument.type));
    for (std::size_t i = 0; i + 1 < extents.size(); ++i) strides.push_back(stride *= extents[i]);
    const bool is_wide = std::ranges::all_of(strides, [](auto bytes) { return bytes % 256 == 0; });
    const std::string swizzle =
        argument.swizzle == 0 ? "CU_TENSOR_MAP_SWIZZLE_NONE"
                              : "CU_TENSOR_MAP_SWIZZLE_" + std::to_string(argument.swizzle) + "B";
    strides.resize(extents.size());  // C has no empty initializer.
    maps_ += "static const " + space_ + "_tensor_map " + its + " = {CU_TENSOR_MAP_DATA_TYPE_" +
             tensor_map_type(argument.type) + ", " + swizzle + ", CU_TENSOR_MAP_L2_PROMOTION_L2_" +
             (is_wide ? "256B" : "128B") + ",\n  " + std::to_string(extents.size()) + ", " +
             numbers(extents) + ", " + numbers(strides) + ", " +
             numbers(innermost_first(argument.box)) + ", " + numbers(element_strides) + "};\n";
    return "&" + its;
  }

  std::string launch(const BundledKernel::Launch& launch) {
    std::string taken;
    for (const BundledKernel::Taken& one : launch.taken) {
      taken += "{" + std::to_string(one.parameter) + ", " + value_of(one.value) + "}, ";
    }
    const std::string its = name("taken") + "_" + std::to_string(written_++);
    taken_ += "static const " + space_ + "_taken " + its + "[] = {" +
              (taken.empty() ? "{0, NULL}" : taken) + "};\n";
    return "  {" + string_literal(launch.entry) + ", " + triple(launch.grid) + ", " +
           triple(launch.block) + ", " + triple(launch.cluster) + ", " +
           std::to_string(launch.dynamic_shared_bytes) + "u, " + (launch.cooperative ? "1" : "0") +
           ", " + std::to_string(launch.taken.size()) + ", " + its + "},\n";
  }

  const BundledKernel& kernel_;
  std::string space_;
  std::string of_;
  std::string values_;
  std::string maps_;
  std::size_t map_count_ = 0;
  std::string taken_;
  std::size_t written_ = 0;  ///< Number of launches whose arguments are in `taken_`.
  std::map<BundledKernel::Bytes, std::string> known_;
};

std::string the_space(const std::vector<StoredResult>& best) {
  for (const StoredResult& stored : best) {
    if (stored.space == best.front().space) continue;
    throw InputError("a bundle is of one space, and " + printable(best.front().space) + " and " +
                     printable(stored.space) + " match: --space names one");
  }
  need_name("the space", best.front().space);
  return best.front().space;
}

std::size_t most_taken(const std::vector<BundledKernel>& compiled) {
  std::size_t most = 1;
  for (const BundledKernel& kernel : compiled) {
    for (const BundledKernel::Launch& one : kernel.launches) {
      most = std::max(most, one.taken.size());
    }
  }
  return most;
}

}  // namespace

std::string export_bundle(const std::vector<StoredResult>& best,
                          const std::vector<BundledKernel>& compiled) {
  const std::string space = the_space(best);
  std::vector<std::size_t> order(best.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&best](std::size_t i) {
    return std::tuple(key(best[i].result.problem), best[i].device.name, i);
  });
  std::map<BundledKernel::Bytes, std::string> cubins;
  std::string arrays;
  std::string tables;
  std::string entries;
  for (std::size_t number = 0; number < order.size(); ++number) {
    const BundledKernel& kernel = compiled[order[number]];
    const auto [place, is_new] =
        cubins.try_emplace(kernel.cubin, space + "_cubin_" + std::to_string(cubins.size()));
    if (is_new) arrays += byte_array(place->second, kernel.cubin);
    KernelWriter writer(kernel, space, number);
    tables += writer.tables();
    entries += writer.entry(best[order[number]], place->second);
  }
  const std::string guard = "SMEMTUNE_BUNDLE_" + space;
  return "/* Kernels of the space " + space +
         ", compiled, with a launcher for the CUDA driver (11.8 or newer).\n"
         " * Written by `smemtune export --format cubins`: do not edit.\n *\n *   const " +
         space + "_kernel* kernel = " + space +
         "_find(device_name, 90, \"N=4096,T=float\");\n *   " + space + "_load(kernel, &loaded); " +
         space + "_launch(&loaded, values, stream); */\n#ifndef " + guard + "\n#define " + guard +
         "\n\n" + (has_tensor_maps(compiled) ? "#define " + space + "_HAS_TENSOR_MAPS 1\n" : "") +
         with_name(kTypes, space) + "\n" + arrays + tables + "\nenum { " + space +
         "_most_taken = " + std::to_string(most_taken(compiled)) + " };\n\nstatic const " + space +
         "_kernel " + space + "_kernels[] = {\n" + entries + "};\n" + with_name(kFunctions, space) +
         "\n#endif\n";
}

}  // namespace smemtune::db
