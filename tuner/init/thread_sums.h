#pragma once

#include "tuner/init/block_sums.h"
#include "tuner/init/syntax.h"
#include "tuner/source/kernel_function.h"

#include <optional>
#include <string>

namespace smemtune {

/// Returns what all threads of a kernel add up and store through a pointer, one sum for each block,
/// or add to its first element (SingleStore::is_of_threads), as far as each thread works its term
/// out before they add these up; nullopt for any other kernel. The texts have `blockDim.x`,
/// `gridDim.x` and names of the kernel.
std::optional<SingleStore> sum_of_threads(const ParsedSource& source, const Syntax& body,
                                          const KernelFunction& kernel, const std::string& pointer,
                                          const BodyOf& body_of);

}  // namespace smemtune
