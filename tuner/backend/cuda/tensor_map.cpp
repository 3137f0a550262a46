#include "tuner/backend/cuda/tensor_map.h"

#include "tuner/backend/cuda/driver.h"
#include "tuner/core/error.h"

#include <algorithm>
#include <bit>

namespace smemtune::cuda {

bool l2_fetches_256_bytes(const std::vector<std::uint64_t>& strides) {
  return std::ranges::all_of(strides, [](auto bytes) { return bytes % 256 == 0; });
}

#if CUDA_VERSION >= 12000
namespace {

CUtensorMapDataType element_type(ScalarType type) {
  switch (type) {
    case ScalarType::int8:
    case ScalarType::uint8:
    case ScalarType::float8_e4m3:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case ScalarType::int16:
    case ScalarType::uint16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case ScalarType::int32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case ScalarType::uint32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case ScalarType::int64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case ScalarType::uint64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case ScalarType::float16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ScalarType::bfloat16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ScalarType::float32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case ScalarType::float64:
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
}

CUtensorMapSwizzle swizzle(std::int64_t bytes) {
  switch (bytes) {
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

/// Reverses the order: the driver counts dimensions from the innermost on.
template <typename Number>
std::vector<Number> innermost_first(const std::vector<std::int64_t>& numbers) {
  std::vector<Number> result;
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    result.push_back(static_cast<Number>(*number));
  }
  return result;
}

}  // namespace

TensorMap make_tensor_map(const Driver& driver, const Argument& argument, CUdeviceptr data) {
  if (driver.tensor_map_encode_tiled == nullptr) {
    throw UnavailableError("the NVIDIA driver has no cuTensorMapEncodeTiled");
  }
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  const auto rank = argument.shape.size();
  const auto extents = innermost_first<cuuint64_t>(argument.shape);
  const auto box = innermost_first<cuuint32_t>(argument.box);
  std::vector<cuuint32_t> element_strides(rank, 1);
  if (!argument.element_strides.empty()) {
    element_strides = innermost_first<cuuint32_t>(argument.element_strides);
  }
  std::vector<cuuint64_t> strides;  // Strides in bytes of all dimensions but the innermost.
  cuuint64_t stride = size_of(argument.type);
  for (std::size_t i = 0; i + 1 < rank; ++i) strides.push_back(stride *= extents[i]);
  const CUtensorMapL2promotion promotion = l2_fetches_256_bytes(strides)
                                               ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
                                               : CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  CUtensorMap map = {};
  driver.check(driver.tensor_map_encode_tiled(
                   &map, element_type(argument.type), static_cast<cuuint32_t>(rank),
                   as_pointer(data), extents.data(), strides.data(), box.data(),
                   element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle(argument.swizzle),
                   promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
               "cuTensorMapEncodeTiled");
  return std::bit_cast<TensorMap>(map);
}
#else
TensorMap make_tensor_map(const Driver&, const Argument&, CUdeviceptr) {
  throw UnavailableError("smemtune was built with a CUDA toolkit before 12.0: no tensor maps");
}
#endif

}  // namespace smemtune::cuda
