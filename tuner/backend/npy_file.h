#pragma once

#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <vector>

namespace smemtune {

/// Name of the environment variable that names a folder with copies of files that lie on another
/// host, each named by its SHA-256. A copy is read in place of its file.
constexpr const char* kFilesVariable = "SMEMTUNE_FILES";

/// Returns how many sets of data the argument's file (`init`) holds: 1, or 2 if it is a .npy file
/// whose array has one dimension more, of 2, in front. A file with another extension holds the bytes
/// of the elements and nothing else. Throws InputError, naming the file, when it cannot be read, or
/// is a .npy file of another type, order or shape than the argument.
int npy_sets(const Argument& argument);

/// Returns the elements of the argument's file: of the second set where Init::is_spread is set
/// and there is one. Throws as npy_sets() does, and if the file is too short or too long.
std::vector<std::uint8_t> read_npy(const Argument& argument);

}  // namespace smemtune
