#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// The words of a name in lower case, without a GPU's vendor and brand: `rtx`, `4090`.
std::vector<std::string> name_words(std::string_view name);

/// Return the names of `known` that `given` means, by the first rule that finds any: it is the
/// name; it is the name in other case; it has the same words (name_words()), however they are
/// separated; it is some neighboring whole words of the name. So `L4` is never a part of
/// `NVIDIA L40`, and `RTX 2080` is `NVIDIA GeForce RTX 2080` where that is known, whatever
/// `RTX 2080 Ti` are known beside it. Empty: unknown. Several: ambiguous.
std::vector<std::string> meant_names(std::string_view given, std::span<const std::string> known);

/// Return the one of `meant`; `given` itself where there is none. Throws InputError listing them
/// where there are several: `WHAT 'given' may be any of ...`.
std::string only_name(std::string_view what, std::string_view given,
                      std::vector<std::string> meant);

/// Return the one name of `known` that `given` means, as only_name() of meant_names().
std::string meant_name(std::string_view what, std::string_view given,
                       std::span<const std::string> known);

}  // namespace smemtune
