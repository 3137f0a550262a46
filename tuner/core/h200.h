#pragma once

#include "tuner/core/device.h"

namespace smemtune {

/// An H200 with its name and published limits, nothing else: stands for a GPU where there is none,
/// as when expressions are tried out, and in tests.
Device h200_limits();

}  // namespace smemtune
