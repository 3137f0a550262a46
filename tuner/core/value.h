#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace smemtune {

/// The value of a parameter or of a problem's name: an integer (booleans are 0 and 1) or a word,
/// which is the name of a type (`float`) or an enumerator of the kernel.
using Value = std::variant<std::int64_t, std::string>;

/// Returns whether `text` consists of digits, with or without a minus before them.
bool is_integer_literal(std::string_view text);

/// Formats a value: `32`, `float`.
std::string to_text(const Value& value);

/// Named values, in the order of their names.
using Bindings = std::map<std::string, Value, std::less<>>;

/// Returns the canonical text, `ITEMS=4,THREADS=256`: names sorted, no spaces. It identifies a
/// configuration or a problem wherever one is stored or sent.
std::string key(const Bindings& bindings);

/// Parses the text that key() returned. An integer literal becomes an integer, anything else a
/// word. Throws InputError naming the text when a part is not NAME=VALUE or a name is given twice.
Bindings parse_key(std::string_view text);

using Configuration = Bindings;  ///< Values of a kernel's parameters.
/// Values that the result depends on: sizes, radius, element type.
using Problem = Bindings;

/// Element types of buffers and scalars.
enum class ScalarType {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float8_e4m3,  ///< Has 4 bits of exponent, 3 of mantissa, and no infinity.
  float16,
  bfloat16,
  float32,
  float64
};

/// Returns the type that CUDA C++ spells `name` (`int`, `unsigned char`, `long long`, `__half`,
/// ...; `bool` is uint8), or nullopt.
std::optional<ScalarType> scalar_type(std::string_view name);

/// Returns all names that scalar_type() knows.
std::vector<std::string_view> scalar_type_names();

/// Returns the size of an element in bytes.
std::size_t size_of(ScalarType type);

/// Returns the type's name in CUDA C++: `int`, `unsigned char`, `__half`.
std::string_view cuda_name(ScalarType type);

bool is_floating(ScalarType type);

/// Returns whether tex1Dfetch reads the type as it is stored: float, and integers of 8, 16 and 32
/// bits.
bool is_texel_type(ScalarType type);

}  // namespace smemtune
