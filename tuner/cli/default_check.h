#pragma once

#include "tuner/config/space_file.h"

#include <string>
#include <vector>

namespace smemtune::cli {

/// The state of the default configurations of all kernels.
struct DefaultCheck {
  std::vector<std::string> faults;  ///< Contradictions between the space and the source.
  std::vector<std::string> notes;   ///< Checks that were not possible, with the reason.
};

/// Checks the default of every kernel against the limits of the largest known device on every
/// problem, and compiles it for the first problem that it applies to: whether it compiles, takes
/// the arguments that the space passes (backend/signature.h), and has the declared amount of static
/// shared memory. Without NVRTC, the CPU device's compiler is used, whose errors only become notes.
/// Launches nothing.
DefaultCheck check_defaults(const LoadedSpace& loaded);

}  // namespace smemtune::cli
