#pragma once

#include "tuner/core/value.h"

namespace smemtune {

/// Returns how far one problem is from another, as in selection.h: the product, over all sizes, of
/// the larger size divided by the smaller. 1 for equal problems; 0 for problems that cannot be
/// compared because their names or words differ.
double size_ratio(const Problem& one, const Problem& other);

}  // namespace smemtune
