#pragma once

#include "tuner/init/syntax.h"

#include <functional>
#include <string>

namespace smemtune {

/// Returns the body of a device function of the source; nullptr if it has none of that name.
using BodyOf = std::function<const Syntax*(const std::string& function)>;

/// Returns true if a device function adds, and neither chooses between values that it compares nor
/// multiplies or subtracts by an assignment.
bool only_adds(const Syntax& function);

/// Returns true if each block of a kernel stores one element through a pointer, the sum of what its
/// threads add up: `out[blockIdx.x] = sum`.
bool is_block_sum(const Syntax& body, const std::string& pointer, const BodyOf& body_of);

}  // namespace smemtune
