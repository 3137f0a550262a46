#pragma once

#include "db/rows.h"
#include "tuner/core/device.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::db {

/// A result's kernel, compiled for the device that it was measured on.
struct BundledKernel {
  using Bytes = std::vector<std::uint8_t>;
  /// The parameters of cuTensorMapEncodeTiled; extents and boxes are innermost first.
  struct TensorMap {
    std::string type;  ///< `FLOAT16`, of CU_TENSOR_MAP_DATA_TYPE_FLOAT16.
    std::vector<std::int64_t> extents;
    std::int64_t element_bytes = 0;
    std::vector<std::int64_t> box;
    std::vector<std::int64_t> element_strides;
    std::int64_t swizzle_bytes = 0;  ///< 0: none.
  };
  /// A buffer or scalar, in the space file's order.
  struct Parameter {
    std::string name;
    std::int64_t bytes = 0;   ///< All elements of a buffer, or the size of a scalar.
    Bytes value = {};         ///< A scalar's value; empty for a buffer.
    std::string symbol = {};  ///< The name in the cubin of a buffer in constant memory.
    std::optional<TensorMap> map = {};
  };
  /// A parameter of a launch's entry.
  struct Taken {
    std::size_t parameter = 0;
    Bytes value = {};  ///< A value that only this launch passes; mostly empty.
  };
  struct Launch {
    std::string entry;  ///< Its name in the cubin.
    Dim3 grid = {1, 1, 1};
    Dim3 block = {1, 1, 1};
    Dim3 cluster = {1, 1, 1};
    std::int64_t dynamic_shared_bytes = 0;
    bool cooperative = false;
    std::vector<Taken> taken = {};
  };
  std::vector<Parameter> parameters;
  std::vector<Launch> launches;  ///< In the order in which they are made.
  Bytes cubin;
};

/// Returns a C99 header that holds the cubins and launches them with the CUDA driver alone: neither
/// NVRTC nor smemtune is needed. `compiled` has one entry for each result. The same results and
/// cubins give the same text. Throws InputError if the results are of several spaces or the space's
/// name cannot be part of one in C.
std::string export_bundle(const std::vector<StoredResult>& best,
                          const std::vector<BundledKernel>& compiled);

}  // namespace smemtune::db
