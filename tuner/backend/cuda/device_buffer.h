#pragma once

#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/handles.h"
#include "tuner/backend/cuda/texture.h"
#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <vector>

namespace smemtune::cuda {

/// Device memory between guard zones of kGuardBytes. The data begin at a multiple of 256 bytes, the
/// zone after them right behind the last byte.
class GuardedMemory {
 public:
  /// What `bytes` of data take in all.
  static std::int64_t total_bytes(std::int64_t bytes);

  explicit GuardedMemory(std::int64_t bytes);

  std::int64_t capacity() const { return capacity_; }
  CUdeviceptr data() const;

  /// Bytes of the zone behind `bytes` of data.
  std::int64_t bytes_after(std::int64_t bytes) const;

 private:
  std::int64_t capacity_;
  DeviceMemory memory_;
};

/// A buffer of a workload on the device.
class DeviceBuffer {
 public:
  /// Allocates; `contents` are those that every run begins with, empty for poison. `can_redraw`:
  /// timed launches may be given others (fresh_data.h).
  DeviceBuffer(const Argument& argument, const std::vector<std::uint8_t>& contents, bool can_redraw,
               std::uint32_t salt, CUstream stream);

  /// What such a buffer takes on the device.
  static std::int64_t device_bytes(const Argument& argument, bool has_contents);

  const Argument& argument() const { return argument_; }
  bool has_contents() const { return pristine_ != nullptr; }
  bool can_redraw() const { return can_redraw_; }
  bool is_result() const { return argument_.is_result(); }
  std::uint32_t salt() const { return salt_; }
  std::int64_t bytes_after() const { return copies_.front().bytes_after(argument_.bytes()); }

  CUdeviceptr data(std::size_t copy = 0) const { return copies_[copy].data(); }
  CUdeviceptr pristine() const { return as_address(pristine_.get()); }
  CUdeviceptr expected() const { return as_address(expected_.get()); }
  std::size_t copies() const { return copies_.size(); }

  /// Puts the initial contents, or poison, into a copy.
  void restore(std::size_t copy, CUstream stream) const;

  /// Keeps what lies at `from` as what is expected.
  void keep_as_expected(CUdeviceptr from, CUstream stream) const;
  /// Or these bytes.
  void keep_as_expected(const std::vector<std::uint8_t>& bytes, CUstream stream) const;

  /// Makes sure of so many copies, for timing; further ones are restored. Fewer where memory runs
  /// out: throws CudaError.
  void provide_copies(std::size_t count, CUstream stream);
  void drop_copies();  ///< All but the first.

  /// Makes sure of a texture object over every copy, those to come included. Throws CudaError.
  void provide_textures();
  cudaTextureObject_t texture(std::size_t copy) const { return textures_[copy].object(); }

 private:
  Argument argument_;
  bool can_redraw_;
  std::uint32_t salt_;
  std::vector<GuardedMemory> copies_;
  DeviceMemory pristine_;
  DeviceMemory expected_;
  std::vector<Texture> textures_;  ///< None, or one over each copy.
};

}  // namespace smemtune::cuda
