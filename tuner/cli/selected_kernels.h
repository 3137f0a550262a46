#pragma once

#include "tuner/core/device.h"
#include "tuner/core/space.h"

#include <string>
#include <vector>

namespace smemtune::cli {

/// Returns the kernel of `--kernel NAME`. Throws InputError naming the kernels of the space.
const KernelTemplate& chosen_kernel(const Space& space, const std::string& name);

/// Returns the kernels of `--kernel NAME`, all if none is named.
std::vector<const KernelTemplate*> chosen_kernels(const Space& space,
                                                  const std::vector<std::string>& names);

/// Returns the problems of `--problem KEY`; if none is given, those of the file, or its smaller
/// ones for the CPU device. Throws InputError.
std::vector<Problem> chosen_problems(const Space& space, const std::vector<std::string>& texts,
                                     DeviceKind kind);

/// The kernel and the complete configuration that `--kernel NAME --config KEY` mean. Parameters
/// that the key leaves out have their default values; without a name, the kernel is the only one
/// that has the key's parameters. chosen_configuration() throws InputError if there is none.
struct ChosenConfiguration {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
};
ChosenConfiguration chosen_configuration(const Space& space, const std::string& name,
                                         const std::string& key_text);

}  // namespace smemtune::cli
