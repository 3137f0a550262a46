#pragma once

#include "tuner/config/space_file.h"

#include <string>
#include <vector>

namespace smemtune::cli {

/// What compiling the default of every kernel finds.
struct DefaultCheck {
  std::vector<std::string> faults;  ///< The space and the source contradict each other.
  std::vector<std::string> notes;   ///< What was not checked, and why.
};

/// Compiles the default of every kernel for the file's first problem, where there is NVRTC: whether
/// it compiles, takes the arguments that the space passes (signature_probe.h), and has the static
/// shared memory that is declared. Nothing is launched.
DefaultCheck check_defaults(const LoadedSpace& loaded);

}  // namespace smemtune::cli
