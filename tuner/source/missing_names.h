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

/// A name that the device's part uses and nothing defines: a macro that is to be handed over.
struct MissingName {
  std::string name;
  std::size_t line = 0;      ///< Where it is used first.
  bool is_constant = false;  ///< It stands where only a constant can.
  bool is_type = false;      ///< Something is declared with it: its declaration is missing.
};

struct MissingNames {
  std::vector<MissingName> names;
  /// What #if and #elif compare names with, whether these are missing or not.
  std::map<std::string, std::set<std::int64_t>> compared;
};

/// What a macro without arguments, a typedef or a using stands for, one text by branch of #if.
using Meanings = std::map<std::string, std::vector<std::string>>;

/// `#define NAME(a, b) text`, the last that is compiled.
struct FunctionMacro {
  std::vector<std::string> parameters;
  std::string text;
};
using FunctionMacros = std::map<std::string, FunctionMacro>;

/// The missing names of those items. `known`: names that are declared outside of functions.
MissingNames missing_names(const CppTokens& tokens, const std::vector<const SourceItem*>& items,
                           const std::set<std::string>& known, const Meanings& meanings);

/// 16, (16), 0x10u, 1 << 4. Nullopt for anything else.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace smemtune
