#include "tuner/backend/cuda/texture.h"

namespace smemtune::cuda {
namespace {

cudaChannelFormatDesc texel_format(const Argument& argument) {
  const int bits = 8 * static_cast<int>(size_of(argument.type));
  const std::int64_t elements = argument.texel_elements();
  cudaChannelFormatKind kind = cudaChannelFormatKindUnsigned;
  if (is_floating(argument.type)) {
    kind = cudaChannelFormatKindFloat;
  } else if (argument.type == ScalarType::int8 || argument.type == ScalarType::int16 ||
             argument.type == ScalarType::int32) {
    kind = cudaChannelFormatKindSigned;
  }
  return cudaCreateChannelDesc(bits, elements > 1 ? bits : 0, elements > 2 ? bits : 0,
                               elements > 3 ? bits : 0, kind);
}

}  // namespace

Texture::~Texture() {
  if (object_ == 0) return;
  report(static_cast<int>(cudaDestroyTextureObject(object_)), "cudaDestroyTextureObject");
}

Texture make_texture(const Argument& argument, CUdeviceptr data) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = as_pointer(data);
  resource.res.linear.desc = texel_format(argument);
  resource.res.linear.sizeInBytes = static_cast<std::size_t>(argument.bytes());
  cudaTextureDesc reading = {};
  reading.readMode = cudaReadModeElementType;
  cudaTextureObject_t object = 0;
  check(cudaCreateTextureObject(&object, &resource, &reading, nullptr), "cudaCreateTextureObject");
  return Texture(object);
}

std::int64_t max_texels() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  int texels = 0;
  check(cudaDeviceGetAttribute(&texels, cudaDevAttrMaxTexture1DLinearWidth, device),
        "cudaDeviceGetAttribute of the linear texture width");
  return texels;
}

}  // namespace smemtune::cuda
