#pragma once

#include "tuner/source/kernel_function.h"

#include <set>
#include <string>

namespace smemtune {

/// The pointers of a kernel whose elements take part in an index of another array, by themselves or
/// by a local variable: what they begin with decides what is read and written. `source` holds the
/// kernel.
std::set<std::string> arrays_of_indices(const std::string& source, const KernelFunction& kernel);

}  // namespace smemtune
