#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace smemtune {

enum class CubOperation { sum, largest, index_of_largest };

/// Rows of a matrix that CUB reduces: a single row by cub::DeviceReduce, several by
/// cub::DeviceSegmentedReduce.
struct CubRows {
  CubOperation operation = CubOperation::sum;
  const void* in = nullptr;
  /// Type of the elements, as the space names it: float, double, int, __nv_bfloat16.
  std::string type;
  void* out = nullptr;
  std::string out_type;  ///< Type in which sums are accumulated.
  void* index = nullptr;
  std::int64_t rows = 0;
  std::int64_t length = 0;
};

/// Prefix sums of elements by cub::DeviceScan.
struct CubScan {
  const void* in = nullptr;
  /// Type of the elements, as the space names it: int, float, long long, double.
  std::string type;
  void* out = nullptr;
  bool exclusive = false;
  std::int64_t length = 0;
};

/// Counts how many elements lie in each of the equal parts of 0 to range - 1, by
/// cub::DeviceHistogram::HistogramEven.
struct CubHistogram {
  const void* in = nullptr;
  std::string type;  ///< int, unsigned char.
  void* out = nullptr;
  int bins = 0;
  int range = 0;
  std::int64_t length = 0;
};

/// Returns the bytes of workspace that cub_launch() needs. Throws for types that are not compiled in.
std::size_t cub_workspace(const CubRows& rows);
std::size_t cub_workspace(const CubScan& scan);
std::size_t cub_workspace(const CubHistogram& histogram);

/// Launches the computation on the stream. Indices of several rows are not stored where the space
/// stores them, but as CUB does, beside the elements in the workspace.
void cub_launch(const CubRows& rows, void* workspace, std::size_t bytes, cudaStream_t stream);
void cub_launch(const CubScan& scan, void* workspace, std::size_t bytes, cudaStream_t stream);
void cub_launch(const CubHistogram& histogram, void* workspace, std::size_t bytes,
                cudaStream_t stream);

}  // namespace smemtune
