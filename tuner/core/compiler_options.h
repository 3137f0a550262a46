#pragma once

#include "tuner/core/space.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

// A compiler option may contain the value of a parameter or of one of the problem's names:
// `--maxrregcount=${REGS}`.

/// Returns the name between `${` and `}`; nullopt if there is none. Throws InputError for more than
/// one name, for a `${` without end, and for text that is not a name.
std::optional<std::string> name_in_option(std::string_view option);

/// Returns the option with the value instead of `${NAME}`. In a switch such as `--ftz=` the values
/// 1 and 0 become `true` and `false`.
std::string bind_option(const std::string& option, const Value& value);

// Several NVRTC libraries are offered as the values of one more parameter, which says which of them
// compiles a configuration. Versions are numbered as CUDA_VERSION is: 12040 is 12.4.

inline constexpr const char* kCompilerParameter = "NVRTC";

/// Gives every kernel the parameter NVRTC with these values, the first being its default, and an
/// option that hands the choice to the compiler (SeveralCompilers). Throws InputError if a kernel
/// or a problem has that name already.
void choose_among(Space& space, std::span<const std::int64_t> versions);

/// Removes the compiler version from `options` and returns it; nullopt if they name none.
std::optional<std::int64_t> take_compiler(std::vector<std::string>& options);

/// Returns a hint for messages about a configuration that sets an unknown parameter: what to do if
/// that parameter is NVRTC. Empty for any other parameter.
std::string compiler_hint(std::string_view parameter);

/// Formats a version: `12.4`.
std::string compiler_version_text(std::int64_t version);

}  // namespace smemtune
