#pragma once

#include "tuner/core/space.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

// Which of several NVRTC libraries compiles a configuration is a parameter like any other. Versions
// are numbers as CUDA_VERSION has them: 12040 is 12.4.

inline constexpr const char* kCompilerParameter = "NVRTC";

/// Gives every kernel the parameter NVRTC with these values, the first its default, and an option
/// that hands the choice to the compiler (SeveralCompilers). Throws InputError where a kernel or a
/// problem has that name already.
void choose_among(Space& space, std::span<const std::int64_t> versions);

/// The version that options ask for, which is taken out of them; nullopt: they leave it open.
std::optional<std::int64_t> take_compiler(std::vector<std::string>& options);

/// For messages about a configuration of a parameter that there is not: what to do where it is this
/// one. Else empty.
std::string compiler_hint(std::string_view parameter);

/// `12.4`.
std::string compiler_version_text(std::int64_t version);

}  // namespace smemtune
