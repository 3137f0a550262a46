#pragma once

#include "tuner/backend/cuda/driver.h"
#include "tuner/core/kernel_binding.h"

#include <string>
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
/// stored, T being the argument's type or its vector of texel_elements(). A texture of two dimensions
/// is read by tex2D<T>(object, x, y) as the argument's TextureReading says. `data` is the beginning of
/// an allocation, or lies a multiple of 4096 bytes behind it. Throws CudaError.
Texture make_texture(const Argument& argument, CUdeviceptr data);

/// Returns why the current device has no texture over the argument's buffer; empty if it has one.
std::string exceeds_texture(const Argument& argument);

}  // namespace smemtune::cuda
