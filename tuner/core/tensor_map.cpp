#include "tuner/core/tensor_map.h"

#include "tuner/core/reasons.h"

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

}  // namespace smemtune
