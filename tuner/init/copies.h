#pragma once

#include "tuner/source/flat_source.h"
#include "tuner/source/kernel_file.h"
#include "tuner/source/launch_site.h"

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// Returns the launch that does the same as a call `cudaMemset(to, value, bytes)` or
/// `cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice)`; nullopt if the call is none of these.
/// The launch has its kernel, grid, block and arguments.
std::optional<LaunchSite> as_launch(const std::string& called,
                                    const std::vector<std::string>& arguments);

/// Returns true for the name of a kernel that as_launch() gives.
bool is_copy(const std::string& kernel);

/// Returns true if is_copy(), and for the name of a call that copies from or to the host.
bool is_transfer(const std::string& called);

/// Returns the source with the kernels of as_launch() at its end, if it makes calls that need them.
FlatSource with_copy_kernels(FlatSource source);

/// Adds the arrays that the host copies what loops store to, or what it copies to constants as well.
void follow_copies(HostPart& host);

}  // namespace smemtune
