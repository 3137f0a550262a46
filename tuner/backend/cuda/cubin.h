#pragma once

#include "tuner/core/facts.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace smemtune::cuda {

/// Facts in a module's ELF file that ptxas's log does not have.
struct CubinFacts {
  std::int64_t constant_bytes = 0;  ///< Size of all __constant__ variables.
  /// Product of the block extents in __launch_bounds__, by lowered name; absent without launch
  /// bounds.
  std::map<std::string, int, std::less<>> max_threads_per_block;
  /// Hash of the kernel's instructions and of the module's constants and symbols that instructions
  /// refer to by offset, by lowered name. Where the driver relocates anything when it loads the
  /// module, as for global variables, equal bytes may mean different things: the hash is then of all
  /// kernels, variables and relocations of the module, and absent where these are of other kinds.
  std::map<std::string, std::string, std::less<>> code_sha256;
  /// The counts of machine_code_facts(), by lowered name.
  std::map<std::string, Facts, std::less<>> code;
};

/// Reads the facts. `capability`: the compute capability that the module was compiled for, 90 for
/// `sm_90a`. Throws UnavailableError for an image that is not a 64-bit ELF file or is cut
/// short.
CubinFacts cubin_facts(std::span<const std::uint8_t> image, int capability);

}  // namespace smemtune::cuda
