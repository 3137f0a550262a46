#pragma once

#include "tuner/backend/cuda/handles.h"
#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <utility>

namespace smemtune::cuda {

/// Owns a texture object, which is a number; 0 stands for none.
class Texture {
 public:
  explicit Texture(cudaTextureObject_t object) : object_(object) {}
  Texture(Texture&& other) noexcept : object_(std::exchange(other.object_, 0)) {}
  Texture& operator=(Texture&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  ~Texture();

  cudaTextureObject_t object() const { return object_; }

 private:
  cudaTextureObject_t object_;
};

/// Returns a texture object over linear memory: tex1Dfetch<T>(object, i) reads texel i as it is
/// stored, T being the argument's type or its vector of texel_elements(). `data` is the beginning
/// of an allocation, or lies a multiple of 4096 bytes behind it. Throws CudaError.
Texture make_texture(const Argument& argument, CUdeviceptr data);

/// Returns the most texels that a linear texture of the current device can have.
std::int64_t max_texels();

}  // namespace smemtune::cuda
