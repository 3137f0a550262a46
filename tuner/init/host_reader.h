#pragma once

#include "tuner/source/flat_source.h"
#include "tuner/source/launch_site.h"
#include "tuner/source/missing_names.h"

#include <vector>

namespace smemtune {

/// The host part of a source.
struct HostPart {
  std::vector<LaunchSite> launches;  ///< In its order, with what the host does on the way to each.
  /// Functions that only return an expression: `int blocks(int n) { return (n + 255) / 256; }`.
  FunctionMacros functions;
};

/// Throws InputError if there is no libclang.
HostPart read_host(const FlatSource& source);

}  // namespace smemtune
