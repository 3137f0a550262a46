#pragma once

#include "tuner/core/value.h"

#include <optional>
#include <string>
#include <string_view>

namespace smemtune {

// A compiler option may contain the value of a parameter or of one of the problem's names:
// `--maxrregcount=${REGS}`.

/// Returns the name between `${` and `}`; nullopt if there is none. Throws InputError for more than
/// one name, for a `${` without end, and for text that is not a name.
std::optional<std::string> name_in_option(std::string_view option);

/// Returns the option with the value instead of `${NAME}`. In a switch such as `--ftz=` the values
/// 1 and 0 become `true` and `false`.
std::string bind_option(const std::string& option, const Value& value);

}  // namespace smemtune
