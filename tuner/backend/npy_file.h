#pragma once

#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <vector>

namespace smemtune {

/// Names a folder with copies of files that lie on another host, each under its SHA-256: where one
/// is there it is read.
constexpr const char* kFilesVariable = "SMEMTUNE_FILES";

/// The elements of the argument's .npy file (`init`). Throws InputError, naming the file, where it
/// cannot be read or has another type, order or shape than the argument.
std::vector<std::uint8_t> read_npy(const Argument& argument);

}  // namespace smemtune
