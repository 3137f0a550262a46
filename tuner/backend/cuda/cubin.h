#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace smemtune::cuda {

/// What a module's ELF says beyond ptxas's log.
struct CubinFacts {
  std::int64_t constant_bytes = 0;  ///< Of all __constant__ variables of the module.
  /// By lowered name: the product of __launch_bounds__' block, where there is one.
  std::map<std::string, int, std::less<>> max_threads_per_block;
  /// By lowered name: a hash of the kernel's instructions and of the module's constants and symbols
  /// that instructions refer to by offset. None where the driver relocates anything when it loads
  /// the module (global variables, printf, textures), so that equal bytes may mean different
  /// things.
  std::map<std::string, std::string, std::less<>> code_sha256;
};

/// Throws UnavailableError for an image that is not a 64-bit ELF file or is cut short.
CubinFacts cubin_facts(std::span<const std::uint8_t> image);

}  // namespace smemtune::cuda
