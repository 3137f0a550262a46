#pragma once

#include <span>
#include <string_view>

namespace smemtune::cpu {

struct DeviceHeader {
  std::string_view name;
  std::string_view text;
};

/// What lies in the folder device_headers/ and kernel_abi.h, as it was when this was built, and
/// empty files for headers of CUDA and C that have nothing more to say.
std::span<const DeviceHeader> device_headers();

}  // namespace smemtune::cpu
