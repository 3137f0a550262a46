#pragma once

#include "tuner/source/kernel_file.h"

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A function of the host that computes what a kernel does, wrapped in a kernel that one thread
/// runs.
struct HostFunction {
  std::string name;                    ///< `softmax_forward_cpu`.
  std::string kernel_name;             ///< Name of the kernel that calls it.
  std::vector<std::string> arguments;  ///< The kernel's arguments that it takes, in their order.
  /// The source with the function for the device as well, and that kernel behind it.
  std::string source;
};

/// Returns true if a word of a name says that what it names is for comparison.
bool is_for_comparison(const std::string& name);

/// Returns the first function whose name says that it is meant for comparison (`cpu`, `gold`,
/// `reference`), that takes what the kernel takes in any order, and that uses nothing that the
/// device lacks; nullopt if there is none. It may take besides how often it is to repeat all.
std::optional<HostFunction> host_function_for(const std::string& source,
                                              const KernelFunction& kernel);

}  // namespace smemtune
