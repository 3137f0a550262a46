#pragma once

#include "tuner/init/parsed_source.h"
#include "tuner/source/kernel_file.h"

#include <map>
#include <string>

namespace smemtune {

/// Returns the layouts of the structures and enumerations that a source defines.
TypeLayouts type_layouts(const ParsedSource& source);

/// Returns the numbers that the names in unscoped enumerations stand for.
std::map<std::string, std::string> enumerators(const ParsedSource& source);

}  // namespace smemtune
