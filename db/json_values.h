#pragma once

#include "tuner/core/value.h"

#include <nlohmann/json_fwd.hpp>

namespace smemtune::db {

/// The number, or null where it is not known: JSON has no NaN and no infinity.
nlohmann::ordered_json json_number(double value);

/// An object with a member for each name: integers and strings.
nlohmann::ordered_json json_bindings(const Bindings& bindings);

}  // namespace smemtune::db
