#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/space_names.h"

#include <optional>
#include <string>

namespace smemtune {

/// Returns what a simple kernel computes, as a definition (core/definition.h): one output, each
/// element of which a thread computes from elements and from sums over loops. Nullopt if the kernel
/// does more than can be read, or uses shared memory. `source` holds the kernel, `arguments` are
/// those of the space that `names` belongs to.
std::optional<std::string> definition_of(const KernelFunction& kernel, const SpaceNames& names,
                                         const Json& arguments);

}  // namespace smemtune
