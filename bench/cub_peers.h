#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace smemtune {

/// Rows of a matrix that CUB reduces: a single row by cub::DeviceReduce, several by
/// cub::DeviceSegmentedReduce.
struct CubRows {
  const void* in = nullptr;
  /// Type of the elements, as the space names it: float, double, int, __nv_bfloat16.
  std::string type;
  void* out = nullptr;
  std::string out_type;  ///< Type in which sums are accumulated.
  void* index = nullptr;
  std::int64_t rows = 0;
  std::int64_t length = 0;
};

enum class CubOperation { sum, largest, index_of_largest };

/// Returns the bytes of workspace that cub_reduce() needs. Throws for types that are not compiled
/// in.
std::size_t cub_workspace(CubOperation operation, const CubRows& rows);

/// Launches the reduction on the stream. Indices of several rows are not stored where the space
/// stores them, but as CUB does, beside the elements in the workspace.
void cub_reduce(CubOperation operation, const CubRows& rows, void* workspace, std::size_t bytes,
                cudaStream_t stream);

}  // namespace smemtune
