#include "cub_peers.h"

#include <cuda_bf16.h>

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
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

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string("CUB: ") + cudaGetErrorString(code));
}

template <typename T, typename Out>
cudaError_t reduce(const CubRows& rows, const Call& call) {
  const T* const in = static_cast<const T*>(rows.in);
  Out* const out = static_cast<Out*>(rows.out);
  T* const largest = static_cast<T*>(rows.out);  // CUB compares elements as they are.
  auto* const index = static_cast<std::int64_t*>(rows.index);
  if (rows.rows == 1) {
    switch (rows.operation) {
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
  switch (rows.operation) {
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

void run(const CubRows& rows, const Call& call) {
  const std::string types = rows.type + " to " + rows.out_type;
  cudaError_t code = cudaErrorInvalidValue;
  if (types == "float to float") {
    code = reduce<float, float>(rows, call);
  } else if (types == "double to double") {
    code = reduce<double, double>(rows, call);
  } else if (types == "__nv_bfloat16 to float") {
    code = reduce<__nv_bfloat16, float>(rows, call);
  } else if (types == "int to int") {
    code = reduce<int, int>(rows, call);
  } else if (types == "int to long long") {
    code = reduce<int, long long>(rows, call);
  } else {
    throw std::invalid_argument("CUB is not compiled in for " + types);
  }
  check(code);
}

template <typename T>
cudaError_t scan(const CubScan& scan, const Call& call) {
  const T* const in = static_cast<const T*>(scan.in);
  T* const out = static_cast<T*>(scan.out);
  return scan.exclusive ? cub::DeviceScan::ExclusiveSum(call.workspace, call.bytes, in, out,
                                                        scan.length, call.stream)
                        : cub::DeviceScan::InclusiveSum(call.workspace, call.bytes, in, out,
                                                        scan.length, call.stream);
}

void run(const CubScan& asked, const Call& call) {
  if (asked.type == "int") return check(scan<int>(asked, call));
  if (asked.type == "float") return check(scan<float>(asked, call));
  if (asked.type == "long long") return check(scan<long long>(asked, call));
  if (asked.type == "double") return check(scan<double>(asked, call));
  throw std::invalid_argument("CUB is not compiled in for scans of " + asked.type);
}

template <typename T>
cudaError_t histogram(const CubHistogram& asked, const Call& call) {
  return cub::DeviceHistogram::HistogramEven(
      call.workspace, call.bytes, static_cast<const T*>(asked.in),
      static_cast<unsigned*>(asked.out), asked.bins + 1, 0, asked.range, asked.length, call.stream);
}

void run(const CubHistogram& asked, const Call& call) {
  if (asked.type == "int") return check(histogram<int>(asked, call));
  if (asked.type == "unsigned char") return check(histogram<unsigned char>(asked, call));
  throw std::invalid_argument("CUB is not compiled in for histograms of " + asked.type);
}

template <typename Work>
std::size_t workspace(const Work& work) {
  std::size_t bytes = 0;
  run(work, {nullptr, bytes, nullptr});
  return bytes;
}

}  // namespace

std::size_t cub_workspace(const CubRows& rows) { return workspace(rows); }
std::size_t cub_workspace(const CubScan& scan) { return workspace(scan); }
std::size_t cub_workspace(const CubHistogram& histogram) { return workspace(histogram); }

void cub_launch(const CubRows& rows, void* workspace, std::size_t bytes, cudaStream_t stream) {
  run(rows, {workspace, bytes, stream});
}
void cub_launch(const CubScan& scan, void* workspace, std::size_t bytes, cudaStream_t stream) {
  run(scan, {workspace, bytes, stream});
}
void cub_launch(const CubHistogram& histogram, void* workspace, std::size_t bytes,
                cudaStream_t stream) {
  run(histogram, {workspace, bytes, stream});
}

}  // namespace smemtune
