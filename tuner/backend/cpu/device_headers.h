#pragma once

#include <span>
#include <string_view>

namespace smemtune::cpu {

struct DeviceHeader {
  std::string_view name;
  std::string_view text;
};

/// Returns the headers of the folder device_headers/ and kernel_abi.h, as they were at build time,
/// and empty files for headers of CUDA and C that have nothing more to declare.
std::span<const DeviceHeader> device_headers();

}  // namespace smemtune::cpu
