#pragma once

#include "tuner/config/json_reader.h"

#include <cstddef>
#include <string>

namespace smemtune {

/// Returns JSON on one line; text of a source that is not UTF-8 is replaced, also in names.
std::string in_utf8(const Json& value);

/// Returns JSON in lines of at most 100 characters if possible. `indent`: indentation of the lines
/// after the first; `column`: where the first one begins.
std::string laid_out(const Json& value, std::size_t indent, std::size_t column);

}  // namespace smemtune
