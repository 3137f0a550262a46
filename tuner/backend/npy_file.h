#pragma once

#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <vector>

namespace smemtune {

/// Name of the environment variable that names a folder with copies of files that lie on another
/// host, each named by its SHA-256. A copy is read in place of its file.
constexpr const char* kFilesVariable = "SMEMTUNE_FILES";

/// Returns the elements of the argument's .npy file (`init`). Throws InputError, naming the file,
/// when it cannot be read or has another type, order or shape than the argument.
std::vector<std::uint8_t> read_npy(const Argument& argument);

}  // namespace smemtune
