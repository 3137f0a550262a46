#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/space_names.h"

#include <optional>
#include <string>

namespace smemtune {

/// What a simple kernel computes, as a definition (core/definition.h): one output, each element of
/// which a thread gives a value made of elements and of sums over loops. nullopt: it does more than
/// can be read, or reads and writes shared memory. `source` holds the kernel, `arguments` are those
/// of the space that `names` belongs to.
std::optional<std::string> definition_of(const std::string& source, const KernelFunction& kernel,
                                         const SpaceNames& names, const Json& arguments);

}  // namespace smemtune
