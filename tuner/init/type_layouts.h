#pragma once

#include "tuner/init/parsed_source.h"
#include "tuner/source/kernel_file.h"

namespace smemtune {

/// Returns the layouts of the structures and enumerations that a source defines.
TypeLayouts type_layouts(const ParsedSource& source);

/// Returns the numbers that the names in unscoped enumerations stand for.
Meanings enumerators(const ParsedSource& source);

}  // namespace smemtune
