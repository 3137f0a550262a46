#pragma once

#include "tuner/init/parsed_source.h"

#include <map>
#include <string>
#include <vector>

namespace smemtune {

/// Returns the conditions of static_assert() in the body of each kernel, by its name without
/// namespaces, with the kernel's own constants replaced by what they are made of.
std::map<std::string, std::vector<std::string>> kernel_asserts(const ParsedSource& source);

}  // namespace smemtune
