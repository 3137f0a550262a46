#pragma once

#include "tuner/core/device.h"

namespace smemtune {

/// Returns an H200 with only its name and published limits. It stands for a GPU where there is
/// none: when expressions are tried out, and in tests.
Device h200_limits();

}  // namespace smemtune
