#include "tuner/backend/cuda/texture.h"

#include <string>

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

std::int64_t row_bytes(const Argument& argument) {
  return argument.shape[1] * argument.texel_elements() *
         static_cast<std::int64_t>(size_of(argument.type));
}

cudaTextureAddressMode mode_of(TextureReading::Address address) {
  switch (address) {
    case TextureReading::Address::border:
      return cudaAddressModeBorder;
    case TextureReading::Address::wrap:
      return cudaAddressModeWrap;
    case TextureReading::Address::mirror:
      return cudaAddressModeMirror;
    case TextureReading::Address::clamp:
      break;
  }
  return cudaAddressModeClamp;
}

Texture make_texture_2d(const Argument& argument, CUdeviceptr data) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = as_pointer(data);
  resource.res.pitch2D.desc = texel_format(argument);
  resource.res.pitch2D.height = static_cast<std::size_t>(argument.shape[0]);
  resource.res.pitch2D.width = static_cast<std::size_t>(argument.shape[1]);
  resource.res.pitch2D.pitchInBytes = static_cast<std::size_t>(row_bytes(argument));
  cudaTextureDesc reading = {};
  reading.addressMode[0] = reading.addressMode[1] = mode_of(argument.reading.address);
  reading.filterMode = argument.reading.is_linear ? cudaFilterModeLinear : cudaFilterModePoint;
  reading.readMode = cudaReadModeElementType;
  reading.normalizedCoords = argument.reading.is_normalized ? 1 : 0;
  cudaTextureObject_t object = 0;
  check(cudaCreateTextureObject(&object, &resource, &reading, nullptr), "cudaCreateTextureObject");
  return Texture(object);
}

int device_attribute(cudaDeviceAttr attribute, const char* what) {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device),
        (std::string("cudaDeviceGetAttribute of ") + what).c_str());
  return value;
}

}  // namespace

Texture::~Texture() {
  if (object_ == 0) return;
  report(static_cast<int>(cudaDestroyTextureObject(object_)), "cudaDestroyTextureObject");
}

Texture make_texture(const Argument& argument, CUdeviceptr data) {
  if (argument.is_texture_2d()) return make_texture_2d(argument, data);
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

std::string exceeds_texture(const Argument& argument) {
  if (argument.is_texture_2d()) {
    const std::int64_t alignment =
        device_attribute(cudaDevAttrTexturePitchAlignment, "the alignment of a texture's rows");
    const std::int64_t width =
        device_attribute(cudaDevAttrMaxTexture2DLinearWidth, "the width of a texture");
    const std::int64_t height =
        device_attribute(cudaDevAttrMaxTexture2DLinearHeight, "the height of a texture");
    if (row_bytes(argument) % alignment != 0) {
      return "has rows of " + std::to_string(row_bytes(argument)) +
             " bytes, the device's textures rows of a multiple of " + std::to_string(alignment);
    }
    if (argument.shape[1] <= width && argument.shape[0] <= height) return "";
    return "has " + std::to_string(argument.shape[0]) + " x " + std::to_string(argument.shape[1]) +
           " texels, the device's linear textures at most " + std::to_string(height) + " x " +
           std::to_string(width);
  }
  const std::int64_t texels = argument.elements() / argument.texel_elements();
  const std::int64_t most =
      device_attribute(cudaDevAttrMaxTexture1DLinearWidth, "the linear texture width");
  if (texels <= most) return "";
  return "has " + std::to_string(texels) + " texels, the device's linear textures at most " +
         std::to_string(most);
}

}  // namespace smemtune::cuda
