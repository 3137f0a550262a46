#pragma once

#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace smemtune {

/// A JSON value whose objects keep the order of the file.
using Json = nlohmann::ordered_json;

/// Largest size of a space file or a devices file.
inline constexpr std::size_t kMaxFileBytes = 1u << 20;

/// Line numbers of values in the file, by JSON pointer, counted from 1. For a member of an object,
/// the line of its key.
using JsonLines = std::map<std::string, std::size_t>;

/// Parses JSON as RFC 8259 defines it, and refuses input that the library would accept: a key that
/// an object has twice, an integer beyond 64 bits (it would become a double), more than 32 levels,
/// 1000 members of an object, 100000 elements of an array or 64 KB of a string, and control
/// characters other than line feed and tab. `file` begins the messages: `FILE:LINE:COLUMN: ...` if
/// the text is not JSON, `FILE:LINE: /pointer: ...` otherwise. Throws InputError.
Json parse_json(std::string_view text, const std::string& file, JsonLines* lines = nullptr);

/// Returns `pointer` with one more reference token, escaped as in RFC 6901.
std::string child(const std::string& pointer, std::string_view key);
std::string child(const std::string& pointer, std::size_t index);

/// Returns what a string says, and any other value as JSON: `N`, `16`.
std::string plain_text(const Json& value);

/// Formats a JSON value for a message, shortened: `[1, 2, ...`.
std::string summary(const Json& value);

}  // namespace smemtune
