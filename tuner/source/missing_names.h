#pragma once

#include "tuner/source/source_items.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// A name that the device's part uses and nothing defines: a macro that is defined on the command
/// line.
struct MissingName {
  std::string name;
  std::size_t line = 0;      ///< Line of its first use.
  bool is_constant = false;  ///< True if it stands where only a constant can.
  /// True if something is declared with it, so that its own declaration is missing.
  bool is_type = false;
};

struct MissingNames {
  std::vector<MissingName> names;
  /// The numbers that #if and #elif compare names with, whether these are missing or not.
  std::map<std::string, std::set<std::int64_t>> compared;
};

/// The text that a macro without arguments, a typedef or a using stands for, one for each branch of
/// #if.
using Meanings = std::map<std::string, std::vector<std::string>>;

/// A macro `#define NAME(a, b) text`; the last one that is compiled.
struct FunctionMacro {
  std::vector<std::string> parameters;
  std::string text;
};
using FunctionMacros = std::map<std::string, FunctionMacro>;

/// Returns the missing names of these items. `known`: names that are declared outside of functions.
MissingNames missing_names(const CppTokens& tokens, const std::vector<const SourceItem*>& items,
                           const std::set<std::string>& known, const Meanings& meanings);

/// Returns the value of 16, (16), 0x10u, 1 << 4; nullopt for anything else.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace smemtune
