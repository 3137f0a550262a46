#pragma once

#include "tuner/core/space.h"

#include <string>

namespace smemtune {

/// Returns a hash, of 64 hex digits, that identifies what a kernel computes and how it is launched
/// and verified: its source with includes, entries, launch expressions, arguments, options,
/// verification, the contents of .npy files and the reference's source. The lists of values and the
/// constraints are left out, so that widening a space keeps what was measured; so are the paths of
/// files.
///
/// Results are stored under this hash. To keep stored results known, an addition to the format is
/// hashed only if a space file uses it.
std::string kernel_hash(const Space& space, const KernelTemplate& kernel,
                        const KernelSource& source, const KernelSource& reference_source);

}  // namespace smemtune
