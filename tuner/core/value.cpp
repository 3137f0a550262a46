#include "tuner/core/value.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>

namespace smemtune {

namespace {

struct TypeName {
  std::string_view name;
  ScalarType type;
};

// The first name of a type is the one that cuda_name() returns. `long` has 64 bits on all hosts of
// this project (LP64), and in NVRTC there.
constexpr TypeName kTypeNames[] = {
    {"signed char", ScalarType::int8},
    {"char", ScalarType::int8},
    {"int8_t", ScalarType::int8},
    {"unsigned char", ScalarType::uint8},
    {"uint8_t", ScalarType::uint8},
    {"bool", ScalarType::uint8},
    {"short", ScalarType::int16},
    {"short int", ScalarType::int16},
    {"int16_t", ScalarType::int16},
    {"unsigned short", ScalarType::uint16},
    {"unsigned short int", ScalarType::uint16},
    {"uint16_t", ScalarType::uint16},
    {"int", ScalarType::int32},
    {"signed int", ScalarType::int32},
    {"int32_t", ScalarType::int32},
    {"unsigned int", ScalarType::uint32},
    {"unsigned", ScalarType::uint32},
    {"uint32_t", ScalarType::uint32},
    {"long long", ScalarType::int64},
    {"long long int", ScalarType::int64},
    {"long", ScalarType::int64},
    {"int64_t", ScalarType::int64},
    {"unsigned long long", ScalarType::uint64},
    {"unsigned long long int", ScalarType::uint64},
    {"unsigned long", ScalarType::uint64},
    {"uint64_t", ScalarType::uint64},
    {"size_t", ScalarType::uint64},
    {"__nv_fp8_e4m3", ScalarType::float8_e4m3},
    {"__half", ScalarType::float16},
    {"half", ScalarType::float16},
    {"__nv_bfloat16", ScalarType::bfloat16},
    {"nv_bfloat16", ScalarType::bfloat16},
    {"float", ScalarType::float32},
    {"double", ScalarType::float64},
};

/// Appends a word in the form used in keys: a comma in it gets a backslash, and so does each
/// backslash directly before a comma or at the end, so that no two words give the same text.
void append_word(std::string& text, std::string_view word) {
  std::size_t backslashes = 0;  // Number of backslashes directly before this place.
  for (const char c : word) {
    if (c == ',') {
      text.append(backslashes, '\\');
      text += '\\';
    }
    backslashes = c == '\\' ? backslashes + 1 : 0;
    text += c;
  }
  text.append(backslashes, '\\');
}

/// Returns the end of the value at the beginning of `text`: a comma without a backslash, or the end
/// of the text.
std::size_t end_of_value(std::string_view text) {
  std::size_t backslashes = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' && backslashes % 2 == 0) return i;
    backslashes = text[i] == '\\' ? backslashes + 1 : 0;
  }
  return text.size();
}

/// Returns the word from which append_word() made `text`.
std::string word_of_key(std::string_view text) {
  std::string word;
  std::size_t backslashes = 0;
  const auto end_run = [&](bool before_comma_or_end) {
    word.append(before_comma_or_end ? backslashes / 2 : backslashes, '\\');
    backslashes = 0;
  };
  for (const char c : text) {
    if (c == '\\') {
      ++backslashes;
      continue;
    }
    end_run(c == ',');
    word += c;
  }
  end_run(true);
  return word;
}

}  // namespace

bool is_integer_literal(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string to_text(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  return std::get<std::string>(value);
}

std::string key(const Bindings& bindings) {
  std::array<char, 24> digits{};
  constexpr std::size_t kUsualBytes = 20;  // Usual size of a name and its value.
  std::string text;
  text.reserve(kUsualBytes * bindings.size());
  for (const auto& [name, value] : bindings) {
    if (!text.empty()) text += ',';
    text += name;
    text += '=';
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      text.append(digits.data(),
                  std::to_chars(digits.data(), digits.data() + digits.size(), *integer).ptr);
    } else {
      append_word(text, std::get<std::string>(value));
    }
  }
  return text;
}

Bindings parse_key(std::string_view text) {
  Bindings bindings;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = end_of_value(rest);
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size()) {
      throw InputError("'" + std::string(text) + "': '" + std::string(part) +
                       "' is not NAME=VALUE");
    }
    const std::string name(part.substr(0, equals));
    const std::string word = word_of_key(part.substr(equals + 1));
    Value value = word;
    if (is_integer_literal(word)) {
      const auto integer = number_in<std::int64_t>(word);
      if (!integer) {
        throw InputError("'" + std::string(text) + "': " + std::string(word) + " of " + name +
                         " does not fit 64 bits");
      }
      value = *integer;
    }
    if (!bindings.emplace(name, std::move(value)).second) {
      throw InputError("'" + std::string(text) + "': " + name + " is given twice");
    }
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) {
      throw InputError("'" + std::string(text) + "': nothing follows the last comma");
    }
  }
  return bindings;
}

std::optional<ScalarType> scalar_type(std::string_view name) {
  for (const TypeName& known : kTypeNames) {
    if (known.name == name) return known.type;
  }
  return std::nullopt;
}

std::vector<std::string_view> scalar_type_names() {
  std::vector<std::string_view> names;
  for (const TypeName& type : kTypeNames) names.push_back(type.name);
  return names;
}

std::size_t size_of(ScalarType type) {
  switch (type) {
    case ScalarType::int8:
    case ScalarType::uint8:
    case ScalarType::float8_e4m3:
      return 1;
    case ScalarType::int16:
    case ScalarType::uint16:
    case ScalarType::float16:
    case ScalarType::bfloat16:
      return 2;
    case ScalarType::int32:
    case ScalarType::uint32:
    case ScalarType::float32:
      return 4;
    case ScalarType::int64:
    case ScalarType::uint64:
    case ScalarType::float64:
      break;
  }
  return 8;
}

std::string_view cuda_name(ScalarType type) {
  const auto* const known = std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                                         [type](const TypeName& t) { return t.type == type; });
  return known->name;
}

bool is_floating(ScalarType type) {
  return type == ScalarType::float8_e4m3 || type == ScalarType::float16 ||
         type == ScalarType::bfloat16 || type == ScalarType::float32 || type == ScalarType::float64;
}

bool is_texel_type(ScalarType type) {
  return type == ScalarType::float32 || (!is_floating(type) && size_of(type) <= 4);
}

}  // namespace smemtune
