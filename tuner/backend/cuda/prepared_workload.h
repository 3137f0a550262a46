#pragma once

#include "tuner/backend/contents.h"
#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/texture.h"
#include "tuner/backend/launcher.h"
#include "tuner/core/kernel_binding.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// Device memory between guard zones of kGuardBytes. The data begin at a multiple of 256 bytes, and
/// the zone after them begins right behind the last byte.
class GuardedMemory {
 public:
  /// Returns the bytes that `bytes` of data take in all.
  static std::int64_t total_bytes(std::int64_t bytes);

  explicit GuardedMemory(std::int64_t bytes);

  std::int64_t capacity() const { return capacity_; }
  CUdeviceptr data() const;

  /// Returns the size of the zone behind `bytes` of data.
  std::int64_t bytes_after(std::int64_t bytes) const;

 private:
  std::int64_t capacity_;
  DeviceMemory memory_;
};

/// Writes contents to device memory. The device draws those that have a rule, once its kernels are
/// compiled; others come through page-locked memory, where a part is drawn while the one before it
/// is copied.
class ContentsWriter {
 public:
  explicit ContentsWriter(const DeviceKernels& kernels) : kernels_(kernels) {}

  /// Writes the contents of an argument on the stream, without waiting for the end.
  void write(const Argument& argument, std::uint64_t seed, void* to, CUstream stream);

 private:
  void upload(const Contents& contents, std::size_t begin, std::size_t end, void* to,
              CUstream stream);

  const DeviceKernels& kernels_;
  struct Part {
    PinnedMemory bytes;
    Event copied;
  };
  std::array<Part, 2> parts_;
};

/// A buffer of a workload on the device.
class DeviceBuffer {
 public:
  /// Allocates the buffer. Every run begins with its contents, or with poison if it does not begin
  /// with contents. `can_redraw`: timed launches may get other contents (fresh_data.h). `like`: null,
  /// or a buffer that begins with the same contents.
  DeviceBuffer(const Argument& argument, std::uint64_t seed, bool can_redraw, std::uint32_t salt,
               const DeviceBuffer* like, ContentsWriter& writer, CUstream stream);

  /// Returns the bytes that such a buffer takes on the device.
  static std::int64_t device_bytes(const Argument& argument, bool has_contents);

  const Argument& argument() const { return argument_; }
  bool has_contents() const { return pristine_ != nullptr; }
  bool can_redraw() const { return can_redraw_; }
  bool is_result() const { return argument_.is_result(); }
  std::uint32_t salt() const { return salt_; }

  const GuardedMemory& memory(std::size_t copy) const { return copies_[copy]; }
  CUdeviceptr data(std::size_t copy = 0) const { return copies_[copy].data(); }
  CUdeviceptr pristine() const { return as_address(pristine_.get()); }
  CUdeviceptr expected() const { return as_address(expected_.get()); }
  std::size_t copies() const { return copies_.size(); }

  /// Fills a copy with the initial contents, or with poison.
  void restore(std::size_t copy, CUstream stream) const;

  /// Keeps the data at `from` as the expected contents.
  void keep_as_expected(CUdeviceptr from, CUstream stream) const;
  /// Keeps these bytes as the expected contents.
  void keep_as_expected(const std::vector<std::uint8_t>& bytes, CUstream stream) const;

  /// Provides at least `count` copies for timing and restores the new ones. Throws CudaError when
  /// memory runs out; fewer copies exist then.
  void provide_copies(std::size_t count, CUstream stream);
  void drop_copies();  ///< Drops all copies but the first.

  /// Provides a texture object over every copy, also over copies added later. Throws CudaError.
  void provide_textures();
  cudaTextureObject_t texture(std::size_t copy) const { return textures_[copy].object(); }

 private:
  Argument argument_;
  bool can_redraw_;
  std::uint32_t salt_;
  std::vector<GuardedMemory> copies_;
  DeviceMemory pristine_;
  DeviceMemory expected_;
  std::vector<Texture> textures_;  ///< Empty, or one over each copy.
};

/// Factor that makes the salts of different buffers differ in all bits, not only in low ones.
constexpr std::uint32_t kSaltStep = 0x9E3779B9u;

/// Returns the bytes that a workload's buffers and the copies of their contents take on the device.
/// Scratch does not belong to the workload.
std::int64_t device_bytes(const Workload& workload);

/// Data drawn for timed launches, and the reference's answers for them.
struct DataSet {
  std::uint64_t key = 0;   ///< Key of each buffer's redraw_for().
  std::uint64_t mask = 0;  ///< Mask under which the answers are kept (apply_mask).
  std::map<std::string, DeviceMemory> answers;  ///< Reference outputs, by name.
};

/// A workload on the device.
struct PreparedWorkload {
  struct Constant {
    Argument argument;
    std::vector<std::uint8_t> contents;
  };

  using Map = std::map<WorkloadId, std::unique_ptr<PreparedWorkload>>;

  /// `number` is 1 or more, and differs from those of the `others`. Contents that one of these has
  /// are copied from it.
  PreparedWorkload(const Workload& workload, std::uint64_t number, const Map& others,
                   ContentsWriter& writer, CUstream stream);

  std::uint64_t number;
  std::map<std::string, DeviceBuffer> buffers;
  std::map<std::string, Constant> constants;
  std::set<std::string> expected;  ///< Names of the buffers that a reference run has filled.
  std::deque<DataSet> data_sets;   ///< Oldest first.
};

}  // namespace smemtune::cuda
