#pragma once

#include "tuner/source/kernel_file.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A function of the host that computes what a kernel does, wrapped in a kernel that one thread
/// runs.
struct HostFunction {
  /// A scalar that the function takes and the kernel does not.
  struct Scalar {
    KernelParameter parameter;
    std::string passed;      ///< The host's text for it, in the names of the calling function.
    std::size_t frame = 0;   ///< Number of the calling function's frame.
    std::string sizes = {};  ///< The kernel's argument of which it is the number of elements.
  };

  std::string name;  ///< `softmax_forward_cpu`.
  /// True if it is what the function of that name compares results with.
  bool is_check = false;
  std::size_t line = 0;          ///< Line of the function.
  std::string kernel_name = {};  ///< Name of the kernel that calls it.
  std::vector<std::string> arguments =
      {};  ///< The kernel's arguments that it takes, in their order.
  /// The source with the function for the device as well, and that kernel behind it.
  std::string source = {};
  std::vector<Scalar> scalars = {};  ///< The kernel takes these behind the arguments.
  /// The arguments to whose elements it adds, and stores nothing else there.
  std::vector<std::string> added_to = {};
  /// Names that bound its loops, in the names of the kernel, by nest: one thread has as many turns
  /// as their product.
  std::vector<std::vector<std::string>> nests = {};

  /// Names it for people: `gold()`.
  std::string said() const {
    return (is_check ? "what " : "") + name + (is_check ? "() expects" : "()");
  }
};

/// Returns true if a word of a name says that what it names is for comparison.
bool is_for_comparison(const std::string& name);

/// Returns a function that computes what the kernel does and uses nothing that the device lacks;
/// nullopt if there is none. It is the first one that the host calls with the arrays of this
/// launch, else one whose name says that it is meant for comparison (`cpu`, `gold`, `reference`),
/// and that takes what the kernel takes in any order, else one that computes from all that the
/// kernel reads. Behind the called ones comes what the host compares the results with. It may take besides how often it is to repeat all, and return the only result.
std::optional<HostFunction> host_function_for(const std::string& source,
                                              const KernelFunction& kernel,
                                              const HostPart& host = {},
                                              const LaunchSite& launch = {});

}  // namespace smemtune
