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

// The words of a space file: names, values, beginnings, entries and options.

namespace smemtune {

inline constexpr std::size_t kMaxNameBytes = 64;

/// A name of a kernel, a parameter, an argument, ...: letters, digits and _.
bool is_identifier(std::string_view text);

/// A type's name or an enumerator of the kernel's. No commas, which separate the parts of a key,
/// and nothing that could end the template argument or the macro it is put into.
bool is_word(std::string_view text);

bool holds_word(const Value& value);

std::vector<std::string> names_of(const Bindings& bindings);

/// `a, b, c`, shortened.
std::string listed(std::span<const std::string> names);

/// What a name means already, to expressions, definitions or C++; empty when it is free.
std::string reserved_meaning(std::string_view name);

/// The names of the element types.
const std::vector<std::string>& type_names();

/// Why the compiler must not be given this option; empty when it may. Options that read or write
/// files, or that choose what smemtune chooses, may not.
std::string refused_option(const std::string& option);

/// What `smemtune init` writes where the user has to decide.
inline bool is_todo(std::string_view text) { return text.starts_with("TODO"); }

/// N of `bytes(N)`, the type of a struct; nullopt for another type. Throws InputError when N is not
/// 1 to 4096, as much as a kernel may be passed.
std::optional<std::int64_t> struct_bytes(std::string_view type);

/// `uniform(-1, 1)`, `iota`, `file("x.npy")`, ... Throws InputError with what is wrong.
Init parse_init(std::string_view text);

/// An entry's name and its template arguments, which commas outside parentheses separate:
/// `gemm<T, min(A, B)>`. Throws InputError.
std::pair<std::string, std::vector<std::string>> split_entry(const std::string& entry);

}  // namespace smemtune
