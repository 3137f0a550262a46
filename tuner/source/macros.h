#pragma once

#include "tuner/source/cpp_tokens.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

/// The text that a macro without arguments, a typedef or a using stands for, one for each branch of
/// #if.
using Meanings = std::map<std::string, std::vector<std::string>>;

/// A macro, `#define NAME text` or `#define NAME(a, b) text`.
struct Macro {
  bool is_called = false;  ///< True if it has parameters, or an empty list of them.
  std::vector<std::string> parameters;
  std::string text;
};
using Macros = std::map<std::string, Macro>;

/// Returns the name and the macro that a preprocessor line defines; nullopt if it is no #define.
std::optional<std::pair<std::string, Macro>> defined_macro(const CppToken& line);

/// The numbers that #if and #elif compare names with.
using ComparedNumbers = std::map<std::string, std::set<std::int64_t>>;

/// Adds what the expression of an #if compares. Macros that are only other names count as these.
void add_comparisons(std::string_view expression, const Meanings& meanings,
                     ComparedNumbers& compared);

/// Returns the value of 16, (16), 0x10u, 1 << 4; nullopt for anything else.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace smemtune
