#pragma once

#include "tuner/core/space.h"

#include <string>

namespace smemtune {

/// A kernel's source as the host's C++ compiler takes it, with the same lines.
struct HostTranslation {
  KernelSource source;
  std::string inline_ptx;   ///< Place of the first inline assembly, `gemm.cu:12`; empty: none.
  std::string unsupported;  ///< What the CPU device does not have, with its place; empty: nothing.
};

/// Turns declarations of __shared__ variables into references to memory that the launcher gives
/// each block, and inline assembly into calls of a function that does not exist. All else is the
/// compiler's affair: see device_headers/cuda_on_host.h.
HostTranslation translate_for_host(const KernelSource& source);

}  // namespace smemtune
