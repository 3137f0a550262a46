#pragma once

#include "tuner/core/space.h"

#include <string>

namespace smemtune {

/// Identifies what a kernel computes and how it is launched and verified: its source with includes,
/// entries, launch expressions, arguments, options, verification, the contents of .npy files and
/// the reference's source. Not the lists of values nor the constraints, so that widening a space
/// keeps what was measured, and not where files lie. 64 hex digits.
///
/// Results are stored under it. So that they stay known, what is added to the format is hashed only
/// where a space file says it.
std::string kernel_hash(const Space& space, const KernelTemplate& kernel,
                        const KernelSource& source, const KernelSource& reference_source);

}  // namespace smemtune
