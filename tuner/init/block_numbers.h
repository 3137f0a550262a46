#pragma once

#include "tuner/init/block_sums.h"
#include "tuner/init/syntax.h"
#include "tuner/source/kernel_function.h"

namespace smemtune {

/// Finds what ties a kernel to the number of threads of its block (KernelFunction::block_numbers),
/// and in which dimensions its threads go on by that number, also in functions that it calls.
/// REQUIRES: the uses of the kernel's pointers are known.
void add_block_numbers(const ParsedSource& source, const Syntax& body, const BodyOf& body_of,
                       KernelFunction& kernel);

}  // namespace smemtune
