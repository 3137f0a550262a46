#pragma once

#include "tuner/core/device.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <string>

namespace smemtune {

/// The best of a problem that has one, and why it is: what it was compared with, what it gains over
/// its default and the other kernels, what it takes, what one changed parameter costs, its ties.
std::string why_best(const Space& space, const ProblemSummary& problem, const Device& device);

}  // namespace smemtune
