#pragma once

#include "tuner/core/kernel_binding.h"
#include "tuner/core/outcome.h"

#include <optional>

namespace smemtune {

/// Checks whether the copy engine (TMA) accepts an argument's tensor and box: their number of
/// dimensions, the extents of the box, the bytes in its rows and the bytes between rows of the
/// tensor. A failure has the status `constraints`. Returns nullopt for an argument that is not a
/// tensor map.
std::optional<Failure> exceeds_tensor_map(const Argument& argument);

}  // namespace smemtune
