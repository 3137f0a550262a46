#pragma once

#include "tuner/core/facts.h"

#include <cstdint>
#include <span>

namespace smemtune::cuda {

/// Counts a kernel's instructions by what they do: by space and bytes per thread where they move
/// data, by kind otherwise. The encodings of compute capability 7.0 to 12.1 are known (`capability`
/// 70 to 121), by comparison with nvdisasm (bench/machine_code); of others, and of code that is cut
/// short, nothing is returned. An instruction that is not in the table counts as `other`; padding
/// does not count.
Facts machine_code_facts(std::span<const std::uint8_t> code, int capability);

}  // namespace smemtune::cuda
