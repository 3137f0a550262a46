#pragma once

#include "tuner/core/space.h"

#include <string>

namespace smemtune {

/// A kernel's source in a form that the host's C++ compiler takes, with the same lines.
struct HostTranslation {
  KernelSource source;
  /// Place of the first inline assembly, `gemm.cu:12`; empty if there is none.
  std::string inline_ptx;
  /// A feature that the CPU device lacks, with its place; empty if there is none.
  std::string unsupported;
};

/// Turns declarations of __shared__ variables into references to memory that the launcher gives
/// each block, and inline assembly into calls of a function that does not exist. The compiler
/// handles everything else: see device_headers/cuda_on_host.h.
HostTranslation translate_for_host(const KernelSource& source);

}  // namespace smemtune
