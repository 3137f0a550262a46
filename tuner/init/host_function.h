#pragma once

#include "tuner/source/kernel_file.h"

#include <optional>
#include <string>

namespace smemtune {

/// A function of the host that computes what a kernel does, as a kernel that one thread runs.
struct HostFunction {
  std::string name;         ///< `softmax_forward_cpu`.
  std::string kernel_name;  ///< Of the kernel that calls it.
  std::string source;       ///< With the function for the device, too, and that kernel behind it.
};

/// The first that by its name is meant for comparison (`cpu`, `gold`, `reference`), takes what the
/// kernel takes in any order, and uses nothing that the device has not. nullopt: there is none.
std::optional<HostFunction> host_function_for(const std::string& source,
                                              const KernelFunction& kernel);

}  // namespace smemtune
