#include "cub_peers.h"

#include <cuda_bf16.h>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <stdexcept>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace smemtune {
namespace {

struct RowBegin {
  std::int64_t length;
  __host__ __device__ std::int64_t operator()(std::int64_t row) const { return row * length; }
};

/// One call of CUB, which says how many bytes it needs where `workspace` is null.
struct Call {
  void* workspace;
  std::size_t& bytes;
  cudaStream_t stream;
};

template <typename T, typename Out>
cudaError_t reduce(CubOperation operation, const CubRows& rows, const Call& call) {
  const T* const in = static_cast<const T*>(rows.in);
  Out* const out = static_cast<Out*>(rows.out);
  T* const largest = static_cast<T*>(rows.out);  // CUB compares elements as they are.
  auto* const index = static_cast<std::int64_t*>(rows.index);
  if (rows.rows == 1) {
    switch (operation) {
      case CubOperation::sum:
        return cub::DeviceReduce::Reduce(call.workspace, call.bytes, in, out, rows.length,
                                         ::cuda::std::plus<Out>{}, Out(0), call.stream);
      case CubOperation::largest:
        return cub::DeviceReduce::Max(call.workspace, call.bytes, in, largest, rows.length,
                                      call.stream);
      case CubOperation::index_of_largest:
        return cub::DeviceReduce::ArgMax(call.workspace, call.bytes, in, largest, index,
                                         rows.length, call.stream);
    }
  }
  const auto begin = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0),
                                                     RowBegin{rows.length});
  using Pair = cub::KeyValuePair<int, T>;
  switch (operation) {
    case CubOperation::sum:
      return cub::DeviceSegmentedReduce::Reduce(call.workspace, call.bytes, in, out, rows.rows,
                                                begin, begin + 1, ::cuda::std::plus<Out>{}, Out(0),
                                                call.stream);
    case CubOperation::largest:
      return cub::DeviceSegmentedReduce::Max(call.workspace, call.bytes, in, largest, rows.rows,
                                             begin, begin + 1, call.stream);
    default:
      break;
  }
  // CUB's pairs have 8 bytes, as an index has, or 16.
  const std::size_t pairs = rows.rows * sizeof(Pair);
  if (call.workspace == nullptr) {
    const cudaError_t code =
        cub::DeviceSegmentedReduce::ArgMax(nullptr, call.bytes, in, static_cast<Pair*>(nullptr),
                                           rows.rows, begin, begin + 1, call.stream);
    call.bytes += pairs + 256;
    return code;
  }
  std::size_t bytes = call.bytes - pairs - 256;
  auto* const place = static_cast<char*>(call.workspace);
  return cub::DeviceSegmentedReduce::ArgMax(place + (pairs + 255) / 256 * 256, bytes, in,
                                            reinterpret_cast<Pair*>(place), rows.rows, begin,
                                            begin + 1, call.stream);
}

void run(CubOperation operation, const CubRows& rows, const Call& call) {
  const std::string types = rows.type + " to " + rows.out_type;
  cudaError_t code = cudaErrorInvalidValue;
  if (types == "float to float") {
    code = reduce<float, float>(operation, rows, call);
  } else if (types == "double to double") {
    code = reduce<double, double>(operation, rows, call);
  } else if (types == "__nv_bfloat16 to float") {
    code = reduce<__nv_bfloat16, float>(operation, rows, call);
  } else if (types == "int to int") {
    code = reduce<int, int>(operation, rows, call);
  } else if (types == "int to long long") {
    code = reduce<int, long long>(operation, rows, call);
  } else {
    throw std::invalid_argument("CUB is not compiled in for " + types);
  }
  if (code != cudaSuccess) {
    throw std::runtime_error(std::string("CUB: ") + cudaGetErrorString(code));
  }
}

}  // namespace

std::size_t cub_workspace(CubOperation operation, const CubRows& rows) {
  std::size_t bytes = 0;
  run(operation, rows, {nullptr, bytes, nullptr});
  return bytes;
}

void cub_reduce(CubOperation operation, const CubRows& rows, void* workspace, std::size_t bytes,
                cudaStream_t stream) {
  run(operation, rows, {workspace, bytes, stream});
}

}  // namespace smemtune
