#pragma once

#include "tuner/config/json_reader.h"

#include <cstddef>
#include <string>

namespace smemtune {

/// On one line; what a source has that is not UTF-8 is replaced, also where it is a name.
std::string in_utf8(const Json& value);

/// JSON in lines of at most 100 characters where that can be. `indent`: of the lines that follow;
/// `column`: where the first begins.
std::string laid_out(const Json& value, std::size_t indent, std::size_t column);

}  // namespace smemtune
