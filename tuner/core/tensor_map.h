#pragma once

#include "tuner/core/kernel_binding.h"
#include "tuner/core/outcome.h"

#include <optional>

namespace smemtune {

/// What the copy engine (TMA) does not take of an argument's tensor or box, in elements of all
/// dimensions: their number, the box's extent, bytes in its rows, bytes from row to row of the
/// tensor. Status `constraints`; nullopt for what is no tensor map.
std::optional<Failure> exceeds_tensor_map(const Argument& argument);

}  // namespace smemtune
