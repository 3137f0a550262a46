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
};

/// Throws UnavailableError for an image that is no 64-bit ELF or is cut short.
CubinFacts cubin_facts(std::span<const std::uint8_t> image);

}  // namespace smemtune::cuda
