#pragma once

#include "tuner/core/value.h"

#include <optional>
#include <string>
#include <string_view>

namespace smemtune {

// A compiler option may take the value of a parameter or of a problem's name:
// `--maxrregcount=${REGS}`.

/// The name between `${` and `}`; nullopt where there is none. Throws InputError for more than one,
/// for a `${` without end, and for what is not a name.
std::optional<std::string> name_in_option(std::string_view option);

/// The option with the value instead of `${NAME}`. A switch such as `--ftz=` gets `true` and
/// `false` for 1 and 0.
std::string bind_option(const std::string& option, const Value& value);

}  // namespace smemtune
