#pragma once

#include "tuner/core/result.h"

#include <vector>

namespace smemtune {

/// Those of `results` from finals whose median is within `tie_percent` of that of `first`, which is
/// one of them and comes first.
std::vector<const Result*> tied_with(const Result& first, const std::vector<const Result*>& results,
                                     double tie_percent);

/// The best of those that are statistically tied. Among those that seem equally fast (within
/// `tie_percent` of the fastest; on a noisy device ties may differ by much), what earlier finals
/// chose, then what takes less shared memory, then fewer registers, then what is quicker by the
/// median. REQUIRES: equals is not empty.
const Result& choose(std::vector<const Result*> equals, double tie_percent);

}  // namespace smemtune
