#pragma once

#include "tuner/source/kernel_file.h"

namespace smemtune {

/// Reads the host part of a source. Throws InputError if there is no libclang.
HostPart read_host(const FlatSource& source);

/// Adds to what a file's declarations tell the host part, and how the kernels use their pointers.
void add_host(const HostPart& host, KernelFile& file);

}  // namespace smemtune
