#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/space_names.h"

#include <map>
#include <optional>
#include <string>

namespace smemtune {

/// Definitions of the elements of arrays, by the arrays' names.
using Contents = std::map<std::string, std::string>;

/// Returns whether two definitions give an output the same values on a small problem. `contents`
/// says what the arrays hold; the elements of others are arbitrary. Nullopt if one of the
/// definitions cannot be evaluated.
std::optional<bool> agree(const std::string& one, const std::string& other, const SpaceNames& names,
                          const Json& arguments, const Contents& contents = {});

/// Likewise for the total of an output's elements, on a problem that usual blocks divide.
std::optional<bool> agree_in_total(const std::string& one, const std::string& other,
                                   const SpaceNames& names, const Json& arguments,
                                   const Contents& contents);

/// Returns true if a definition reads an array other than its output.
bool reads_others(const std::string& definition, const SpaceNames& names, const Json& arguments);

}  // namespace smemtune
