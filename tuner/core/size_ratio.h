#pragma once

#include "tuner/core/value.h"

namespace smemtune {

/// Returns how far one problem is from another: the product of selection.h's size_ratio() of all sizes
/// and type_ratio() of the words that differ. 1 for equal problems; 0 for problems that cannot be
/// compared because their names differ, or words that are no types.
double size_ratio(const Problem& one, const Problem& other);

}  // namespace smemtune
