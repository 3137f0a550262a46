#pragma once

#include "tuner/core/kernel_binding.h"

#include <string>
#include <vector>

namespace smemtune::cli {

/// CUDA C++ to be compiled behind the kernel's source: static assertions that every entry takes as
/// many arguments as the space passes, in this order, pointers for buffers, and numbers of these
/// types. Whether an integer has a sign, and what structs and vector types hold, is left open.
std::string signature_probe(const KernelInstance& instance);

/// What the compiler's log says of assertions that do not hold, one each.
std::vector<std::string> signature_faults(const std::string& log);

}  // namespace smemtune::cli
