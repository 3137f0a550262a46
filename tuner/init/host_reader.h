#pragma once

#include "tuner/source/flat_source.h"
#include "tuner/source/launch_site.h"

#include <vector>

namespace smemtune {

/// Returns every launch of a source in its order, with what the host does on the way to it. Throws
/// InputError if there is no libclang.
std::vector<LaunchSite> read_launches(const FlatSource& source);

}  // namespace smemtune
