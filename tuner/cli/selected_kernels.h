#pragma once

#include "tuner/core/device.h"
#include "tuner/core/space.h"

#include <string>
#include <vector>

namespace smemtune::cli {

/// The kernel of `--kernel NAME`. Throws InputError naming those that the space has.
const KernelTemplate& chosen_kernel(const Space& space, const std::string& name);

/// Those of `--kernel NAME`, all where none is named.
std::vector<const KernelTemplate*> chosen_kernels(const Space& space,
                                                  const std::vector<std::string>& names);

/// Those of `--problem KEY`; where none is given the file's, for the CPU device its smaller ones.
/// Throws InputError.
std::vector<Problem> chosen_problems(const Space& space, const std::vector<std::string>& texts,
                                     DeviceKind kind);

/// The kernel and the whole configuration that `--kernel NAME --config KEY` mean. Parameters that
/// the key leaves out have their default values; without a name it is the only kernel that has the
/// key's parameters. Throws InputError.
struct ChosenConfiguration {
  const KernelTemplate* kernel = nullptr;
  Configuration configuration;
};
ChosenConfiguration chosen_configuration(const Space& space, const std::string& name,
                                         const std::string& key_text);

}  // namespace smemtune::cli
