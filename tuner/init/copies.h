#pragma once

#include "tuner/init/host_terms.h"
#include "tuner/source/flat_source.h"
#include "tuner/source/kernel_file.h"
#include "tuner/source/launch_site.h"

#include <cstddef>
#include <optional>
#include <set>
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

/// Tells which arrays of the host a launch's arguments are, or are copied from or to. Refers to the
/// host and the launch.
class HeldArrays {
 public:
  enum class Copied { to_device, from_device };

  HeldArrays(const HostPart& host, const LaunchSite& launch)
      : host_(host),
        launch_(launch),
        terms_(launch, {}, [](const std::string& text) { return text; }) {}

  /// Returns true if one of these arrays of a frame's function is an argument or is copied so, there
  /// or in a function on the way to the launch that is passed the array, or the structure that has
  /// it.
  bool holds(std::set<std::string> names, std::size_t argument, std::size_t frame,
             Copied copied) const;

  /// Returns the variable that a frame passes for an argument, `(float4*)d` by its name.
  std::string passed(std::size_t argument, std::size_t frame) const;

 private:
  const HostPart& host_;
  const LaunchSite& launch_;
  HostTerms terms_;
};

}  // namespace smemtune
