#pragma once

#include "tuner/core/value.h"

namespace smemtune {

/// How far one problem is from another, as selection.h has it: the product, over all sizes, of the
/// larger by the smaller. 1 for equal problems; 0 where they cannot be compared: other names, other
/// words.
double size_ratio(const Problem& one, const Problem& other);

}  // namespace smemtune
