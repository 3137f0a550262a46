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

/// Hold the default of every kernel against the limits of the largest known device, on every
/// problem, and compile it for the first: whether it compiles, takes the arguments that the space
/// passes (backend/signature.h), and has the static shared memory that is declared. Without NVRTC
/// the CPU device's compiler is asked, of which an error is but a note. Nothing is launched.
DefaultCheck check_defaults(const LoadedSpace& loaded);

}  // namespace smemtune::cli
