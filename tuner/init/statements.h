#pragma once

#include "tuner/init/syntax.h"
#include "tuner/source/kernel_function.h"

#include <optional>

namespace smemtune {

/// Returns the store of a kernel whose body has nothing but local variables, conditions without an
/// else, loops that add up, and one element that is stored; nullopt for any other kernel.
std::optional<SingleStore> single_store(const ParsedSource& source, const Syntax& body,
                                        const KernelFunction& kernel);

}  // namespace smemtune
