#pragma once

#include "tuner/backend/cuda/cuda_kernel.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/prepared_workload.h"
#include "tuner/backend/cuda/tensor_map.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// Scratch memory that all kernels share, because scratch buffers keep nothing from one run to the
/// next. The i-th scratch buffer of a kernel lies in the i-th entry, which has the size of the
/// largest one and lists its copies.
using ScratchPool = std::vector<std::vector<GuardedMemory>>;

/// A kernel's launches with the addresses of a workload's buffers. Refers to the kernel, the
/// workload and the scratch pool that it was bound from, until the next one is bound.
class BoundKernel {
 public:
  struct Scratch {
    Argument argument;
    std::vector<GuardedMemory>* copies = nullptr;
    std::uint32_t salt = 0;
  };

  /// Binds a kernel to a workload. Copies the workload's constants into the kernel's module unless
  /// they are there already. Failure `runtime`, `arguments` if the workload's arguments are not the
  /// kernel's.
  static Outcome<BoundKernel> bind(CudaKernel& kernel, PreparedWorkload& workload,
                                   ScratchPool& pool, CUstream stream);

  const std::vector<DeviceBuffer*>& buffers() const { return buffers_; }
  const std::vector<Scratch>& scratch() const { return scratch_; }
  const std::vector<Turn>& turns() const { return kernel_->turns; }
  std::size_t launches() const { return kernel_->launches.size(); }
  /// Returns the address of the data that are compared as this buffer after the last turn: the
  /// buffer's own, or that of the buffer or scratch that it was swapped with.
  CUdeviceptr result(const DeviceBuffer& buffer, std::size_t copy = 0) const;
  /// Returns true if that memory begins as poison.
  bool result_is_poisoned(const DeviceBuffer& buffer) const;
  std::int64_t bytes() const;  ///< Returns the bytes of all buffers and scratch.

  /// Puts all turns on the stream, on copy number `copy` of the buffers, and calls `before_turn`
  /// with the number of each turn before it. Does not wait.
  std::optional<Failure> enqueue(const Driver& driver, std::size_t copy, CUstream stream,
                                 const std::function<void(std::size_t)>& before_turn = {}) const;

  /// Provides as many of the wanted copies of each buffer as there is memory for, at least one.
  /// Returns their number.
  std::size_t provide_copies(std::size_t wanted, CUstream stream);

 private:
  struct Source {
    enum class Kind { buffer, texture, tensor_map, scratch, scalar, structure };
    Kind kind = Kind::scalar;
    /// Index in buffers (also for a texture), tensors, scratch, scalars or structures.
    std::size_t index = 0;
  };
  struct Structure {
    Argument argument;
    std::map<std::string, Source> members;
  };
  /// A buffer and the argument that describes how this kernel sees it.
  struct Tensor {
    Argument argument;
    const DeviceBuffer* buffer = nullptr;
  };
  /// Storage for the passed values that lie nowhere else.
  struct Values {
    std::vector<CUdeviceptr> addresses;
    std::vector<TensorMap> maps;
    std::vector<std::vector<std::uint8_t>> structures;
  };

  const DeviceBuffer* named(const std::string& name) const;
  Outcome<Source> source(const std::string& name, const Turn& turn, PreparedWorkload& workload,
                         std::map<std::string, Source>& known);
  CUdeviceptr address_of(const Source& source, std::size_t copy) const;
  std::vector<std::uint8_t> structure_bytes(const Structure& structure, std::size_t copy) const;
  Outcome<Source> add(const Argument& argument, PreparedWorkload& workload);
  void take_scratch(ScratchPool& pool);
  std::vector<void*> parameters(const Driver& driver, std::size_t turn, std::size_t copy,
                                Values& values) const;

  const CudaKernel* kernel_ = nullptr;
  std::vector<DeviceBuffer*> buffers_;
  std::vector<Tensor> tensors_;
  std::vector<Scratch> scratch_;
  std::vector<std::vector<std::uint8_t>> scalars_;
  std::vector<Structure> structures_;
  std::vector<std::vector<Source>> sources_;  ///< The sources of each turn's arguments.
};

/// Keeps a GPU at one kernel: while a batch of launches runs, the next one is queued. Launch after
/// launch works on another copy of the buffers, of which none is restored.
class RepeatedLaunches {
 public:
  /// `copies`: copies of the buffers that `bound` has. All arguments must outlive this.
  RepeatedLaunches(const Driver& driver, const BoundKernel& bound, std::size_t copies,
                   std::size_t batch, CUstream stream);

  /// Waits until a batch has ended, or for a millisecond. Returns how many launches have ended so
  /// far. Throws CudaError for a fault of the kernel, UnavailableError if it cannot be launched.
  std::size_t step();

 private:
  void enqueue();

  const Driver& driver_;
  const BoundKernel& bound_;
  std::size_t copies_;
  std::size_t batch_;
  CUstream stream_;
  std::array<Event, 2> ends_;  ///< Ends of the batches queued last.
  std::size_t queued_ = 0;     ///< Batches queued...
  std::size_t ended_ = 0;      ///< ... and ended so far.
};

}  // namespace smemtune::cuda
