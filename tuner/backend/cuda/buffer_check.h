#pragma once

#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/prepared_workload.h"
#include "tuner/backend/launcher.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smemtune::cuda {

/// Puts buffers into their state before a launch: contents or poison, and guard zones around them.
/// One kernel fills all buffers that were added.
class Refiller {
 public:
  Refiller(const DeviceKernels& kernels, CUstream stream) : kernels_(kernels), stream_(stream) {}

  /// Adds a copy of a buffer, with contents drawn anew for `key` if the buffer can be redrawn; 0:
  /// with its initial contents.
  void add(const DeviceBuffer& buffer, std::size_t copy, std::uint64_t key);
  void add(const BoundKernel::Scratch& scratch, std::size_t copy);

  /// Puts the filling on the stream, and forgets what was added.
  void run();

 private:
  const DeviceKernels& kernels_;
  CUstream stream_;
  std::vector<Refill> refills_;
  std::size_t room_ = 0;
  DeviceMemory there_;
};

/// Puts all buffers into their state before a checked run: the workload's with contents drawn for
/// `key` (0: the initial ones) or poison, scratch with poison, guard zones with their pattern.
void prepare_buffers(Refiller& refiller, const PreparedWorkload& workload, const BoundKernel& bound,
                     std::uint64_t key = 0);

/// Memory for what checks find, on the device and on the host; for one check at a time.
class Findings {
 public:
  /// Provides memory for this many comparisons, and for the byte checks, which it takes to the
  /// device. Nothing has been found yet.
  void begin(std::size_t comparisons, std::span<const ByteCheck> checks, CUstream stream);

  CUdeviceptr comparison(std::size_t i) const;
  CUdeviceptr differences() const;
  CUdeviceptr byte_checks() const;

  /// Copies the results to the host, without waiting for the stream.
  void fetch(CUstream stream) const;

  /// Returns a fetched result. REQUIRES: all work on the stream is done.
  const Comparison& found_comparison(std::size_t i) const;
  const ByteDifference& found_difference(std::size_t i) const;

 private:
  std::size_t found_bytes() const;

  std::size_t comparisons_ = 0;
  std::size_t differences_ = 0;
  std::size_t room_ = 0;
  DeviceMemory there_;
  PinnedMemory here_;
};

/// Checks what launches left in the buffers of one copy. Guard zones come first, because other
/// faults may follow from a write beyond a buffer.
class BufferCheck {
 public:
  /// Checks every element, guard zone and input after a checked run, which uses copy 0.
  BufferCheck(const PreparedWorkload& workload, const BoundKernel& bound,
              const RunRequest& request);

  /// Checks the kernel's outputs and guard zones after a timed launch on copy number `copy`, which
  /// ran on `data`, or on the workload's own data if that is nullptr.
  BufferCheck(const PreparedWorkload& workload, const BoundKernel& bound, const RunRequest& request,
              std::size_t copy, const DataSet* data);

  /// Puts the comparisons on the stream. `findings` belong to this check until judge() has
  /// returned.
  void enqueue(const DeviceKernels& kernels, Findings& findings, CUstream stream) const;

  /// Notes the errors in the report and returns the first fault. REQUIRES: the comparisons are
  /// done.
  std::optional<Mismatch> judge(const Findings& findings, CUstream stream, RunReport& report) const;

 private:
  void add_guards(const Argument& argument, const GuardedMemory& memory, std::uint32_t salt);
  CUdeviceptr expected(const DeviceBuffer& buffer) const;
  void note_errors(const Findings& findings, RunReport& report) const;
  std::optional<Mismatch> wrong_bytes(const Findings& findings, CUstream stream) const;
  std::optional<Mismatch> wrong_elements(const DeviceBuffer& buffer, Comparison comparison,
                                         CUstream stream) const;
  std::optional<Mismatch> wrong_together(const DeviceBuffer& buffer, CUstream stream,
                                         RunReport& report) const;
  std::vector<std::uint8_t> expected_bytes(const DeviceBuffer& buffer, std::int64_t first,
                                           std::int64_t bytes, CUstream stream) const;

  const BoundKernel& bound_;
  const RunRequest& request_;
  std::size_t copy_ = 0;
  const DataSet* data_ = nullptr;
  std::vector<const DeviceBuffer*> results_;  ///< Buffers to compare.
  std::vector<ByteCheck> byte_checks_;        ///< Guard zones, then inputs that must not change.
  std::vector<const Argument*> checked_;      ///< Whose buffer each of them checks.
  std::size_t guards_ = 0;                    ///< How many of them are of guard zones.
};

/// Returns the outputs that a reference run has kept as a workload's expected ones.
std::vector<KeptOutput> kept_outputs(const DeviceKernels& kernels, const PreparedWorkload& workload,
                                     CUstream stream);

/// Writes the expected outputs, with the edits, to where the kernel's launches leave its outputs.
void write_kept(const PreparedWorkload& workload, const BoundKernel& bound,
                const std::vector<Edit>& edits, CUstream stream);

}  // namespace smemtune::cuda
