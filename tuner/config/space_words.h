#pragma once

#include "tuner/core/kernel_template.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The words of a space file: names, values, initial values, entries and options.

namespace smemtune {

inline constexpr std::size_t kMaxNameBytes = 64;

/// Returns whether `text` is a name of a kernel, a parameter, an argument, ...: letters, digits and
/// _.
bool is_identifier(std::string_view text);

/// Returns whether `text` is a type's name or an enumerator of the kernel. Commas, which separate
/// the parts of a key, are not allowed, nor anything that could end the template argument or the
/// macro that contains the word.
bool is_word(std::string_view text);

bool holds_word(const Value& value);

std::vector<std::string> names_of(const Bindings& bindings);

/// Lists names, shortened: `a, b, c`.
std::string listed(std::span<const std::string> names);

/// Returns what a name already means in expressions, definitions or C++; empty if it is free.
std::string reserved_meaning(std::string_view name);

/// Returns the names of the element types.
const std::vector<std::string>& type_names();

/// Returns why an option must not be passed to the compiler; empty if it may be. Options that read
/// or write files, or that set what smemtune itself chooses, are refused.
std::string refused_option(const std::string& option);

/// Returns whether `text` is what `smemtune init` writes where the user has to decide.
inline bool is_todo(std::string_view text) { return text.starts_with("TODO"); }

/// Returns N of `bytes(N)`, the type of a struct; nullopt for another type. Throws InputError if N
/// is not 1 to 4096, the largest size that can be passed to a kernel.
std::optional<std::int64_t> struct_bytes(std::string_view type);

/// The parsed text of an init.
struct InitText {
  Init init = {};
  /// Texts of the numbers in parentheses if one of them is an expression; `init` lacks them then.
  std::vector<std::string> numbers = {};
};

/// Parses an init: `uniform(-1, 1)`, `iota`, `file("x.npy")`, ... Throws InputError with what is
/// wrong.
InitText parse_init(std::string_view text);

/// Splits an entry into its name and its template arguments, which are separated by commas outside
/// parentheses and other template arguments: `gemm<T, min(A, B), Tile<M, N>>`. A cast has no
/// template arguments of its own. Throws InputError.
std::pair<std::string, std::vector<std::string>> split_entry(const std::string& entry);

}  // namespace smemtune
