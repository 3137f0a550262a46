#pragma once

#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <vector>

namespace smemtune {

/// The elements of the argument's .npy file (`init`). Throws InputError, naming the file, where it
/// cannot be read or has another type, order or shape than the argument.
std::vector<std::uint8_t> read_npy(const Argument& argument);

}  // namespace smemtune
