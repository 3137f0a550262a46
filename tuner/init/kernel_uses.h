#pragma once

#include "tuner/source/kernel_file.h"

namespace smemtune {

/// Adds to the kernels of a file what clang's tree shows of their bodies: how they use what their
/// pointers lead to, what static_assert() demands, and the store of a kernel that has one.
void add_kernel_uses(KernelFile& file);

}  // namespace smemtune
