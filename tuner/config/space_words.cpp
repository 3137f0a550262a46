#include "tuner/config/space_words.h"

#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>

namespace smemtune {
namespace {

/// Parses a finite number that makes up the whole text.
std::optional<double> parse_number(std::string_view text) {
  const std::string number = trimmed(text);
  if (number.empty() || is_letter(number.front())) return std::nullopt;
  const auto value = number_in<double>(number);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// Returns the operands between commas that stand in no parentheses.
std::vector<std::string_view> operands_in(std::string_view text) {
  std::vector<std::string_view> operands;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] != ',' || depth != 0) continue;
    operands.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  operands.push_back(text.substr(begin));
  return operands;
}

}  // namespace

bool is_identifier(std::string_view text) { return text.size() <= kMaxNameBytes && is_name(text); }

bool is_word(std::string_view text) {
  int depth = 0;  // A comma may only stand between template arguments.
  return !text.empty() && text.size() <= kMaxNameBytes && is_letter(text.front()) &&
         text.back() != ' ' && text.find("  ") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [&depth](char c) {
           depth += c == '<' ? 1 : c == '>' ? -1 : 0;
           return is_letter(c) || is_digit(c) || c == ':' || c == '<' || c == '>' || c == ' ' ||
                  (c == ',' && depth > 0);
         });
}

bool holds_word(const Value& value) { return std::holds_alternative<std::string>(value); }

std::vector<std::string> names_of(const Bindings& bindings) {
  return texts_of(bindings, [](const auto& binding) { return binding.first; });
}

std::string listed(std::span<const std::string> names) {
  std::string result;
  for (const std::string& name : names) {
    if (result.size() > 200) return result + ", ...";
    result += (result.empty() ? "" : ", ") + name;
  }
  return result;
}

std::string reserved_meaning(std::string_view name) {
  static const std::set<std::string, std::less<>> functions = {
      "min",  "max",    "abs",    "ceil_div", "round_up", "pow2", "is_pow2", "log2",
      "gcd",  "select", "sizeof", "and",      "or",       "not",  "True",    "False",
      "true", "false",  "sum",    "exp",      "log",      "sqrt"};
  static const std::set<std::string, std::less<>> cpp_words = {
      "alignas", "alignof",   "asm",    "auto",      "blockDim", "blockIdx", "break",    "case",
      "catch",   "class",     "const",  "constexpr", "continue", "decltype", "default",  "delete",
      "do",      "else",      "enum",   "explicit",  "extern",   "for",      "friend",   "goto",
      "gridDim", "if",        "inline", "namespace", "new",      "noexcept", "nullptr",  "operator",
      "private", "protected", "public", "register",  "return",   "signed",   "static",   "struct",
      "switch",  "template",  "this",   "threadIdx", "throw",    "try",      "typedef",  "typename",
      "union",   "unsigned",  "using",  "virtual",   "void",     "volatile", "warpSize", "while"};
  static const Bindings device_limits = device_names(Device{});
  if (functions.contains(name)) return "a word of the expression language";
  if (device_limits.contains(name)) return "a limit of the device";
  if (scalar_type(name)) return "a type";
  if (cpp_words.contains(name)) return "a word of CUDA C++";
  return {};
}

const std::vector<std::string>& type_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const ScalarType type :
         {ScalarType::int8, ScalarType::uint8, ScalarType::int16, ScalarType::uint16,
          ScalarType::int32, ScalarType::uint32, ScalarType::int64, ScalarType::uint64,
          ScalarType::float8_e4m3, ScalarType::float16, ScalarType::bfloat16, ScalarType::float32,
          ScalarType::float64}) {
      names.emplace_back(cuda_name(type));
    }
    return names;
  }();
  return all;
}

std::string refused_option(const std::string& option) {
  const auto refused_value = [&](std::string_view name, auto&& allowed,
                                 const std::string& range = "") -> std::string {
    const std::string_view value = std::string_view(option).substr(name.size());
    return allowed(value) ? "" : quote(value) + " is not a value of " + std::string(name) + range;
  };
  const auto is_one_of = [](std::initializer_list<std::string_view> values) {
    return [values = std::vector<std::string_view>(values)](std::string_view value) {
      return std::find(values.begin(), values.end(), value) != values.end();
    };
  };
  for (const std::string_view plain :
       {"--use_fast_math", "-lineinfo", "--extra-device-vectorization", "--device-int128"}) {
    if (option == plain) return {};
  }
  for (const std::string_view name : {"--fmad=", "--ftz=", "--prec-div=", "--prec-sqrt=", "-fmad=",
                                      "-ftz=", "-prec-div=", "-prec-sqrt="}) {
    if (option.starts_with(name)) return refused_value(name, is_one_of({"true", "false"}));
  }
  if (option.starts_with("--std=")) {
    return refused_value("--std=", is_one_of({"c++14", "c++17", "c++20"}));
  }
  if (option.starts_with("--maxrregcount=")) {
    const auto is_count = [](std::string_view value) {
      const auto count = number_in<int>(value);
      return count && *count >= 16 && *count <= 255;
    };
    return refused_value("--maxrregcount=", is_count, ", which takes 16 to 255");
  }
  if (option.starts_with("-D") && !option.starts_with("-D=")) {
    const std::string_view macro = std::string_view(option).substr(2);
    const std::size_t equals = macro.find('=');
    if (!is_identifier(macro.substr(0, equals))) {
      return quote(macro.substr(0, equals)) + " is not the name of a macro";
    }
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : macro.substr(equals + 1);
    const bool simple =
        value.size() <= kMaxNameBytes && std::all_of(value.begin(), value.end(), [](char c) {
          return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '+';
        });
    return simple ? "" : "a macro's value may have letters, digits, _ . + and - only";
  }
  for (const std::string_view name : {"-I", "--include-path", "--pre-include", "-include"}) {
    if (option.starts_with(name)) {
      return "it would read files elsewhere; folders are named by \"include\"";
    }
  }
  for (const std::string_view name : {"-arch", "--gpu-architecture", "--gpu-code", "-code"}) {
    if (option.starts_with(name)) return "the device decides the architecture";
  }
  return "only --use_fast_math, --fmad=, --ftz=, --prec-div=, --prec-sqrt=, --maxrregcount=, "
         "--std=, --extra-device-vectorization, --device-int128, -lineinfo and -DNAME=VALUE may be "
         "given" +
         suggestion(option.substr(0, option.find('=') + 1),
                    std::vector<std::string>{"--fmad=", "--ftz=", "--prec-div=", "--prec-sqrt=",
                                             "--maxrregcount=", "--std="});
}

std::optional<std::int64_t> struct_bytes(std::string_view type) {
  if (!type.starts_with("bytes(") || !type.ends_with(")")) return std::nullopt;
  constexpr std::int64_t kMost = 4096;
  const auto bytes = number_in<std::int64_t>(type.substr(6, type.size() - 7));
  if (bytes && *bytes >= 1 && *bytes <= kMost) return bytes;
  throw InputError(quote(type) + " does not have 1 to " + std::to_string(kMost) + " bytes");
}

InitText parse_init(std::string_view text) {
  if (text.find("[") < text.find("=")) {
    Init init;
    init.kind = Init::Kind::definition;
    init.definition = text;
    return {.init = init};
  }
  static const std::vector<std::string> forms = {"uniform",  "normal",      "iota", "zero",
                                                 "constant", "permutation", "file"};
  const std::size_t open = text.find('(');
  const std::string name(text.substr(0, open));
  std::vector<std::string_view> words;
  if (open != std::string_view::npos) {
    if (text.back() != ')') throw InputError(quote(text) + " lacks a ')' at its end");
    words = operands_in(text.substr(open + 1, text.size() - open - 2));
  }
  if (name == "file") {
    if (words.size() != 1 || words[0].size() < 3 || words[0].front() != '"' ||
        words[0].back() != '"') {
      throw InputError(quote(text) + " is not of the form file(\"NAME.npy\")");
    }
    Init init;
    init.kind = Init::Kind::file;
    init.file.path = std::string(words[0].substr(1, words[0].size() - 2));
    return {.init = init};
  }
  InitText result;
  std::vector<double> numbers;
  bool all_are_numbers = true;
  for (const std::string_view word : words) {
    const std::optional<double> number = parse_number(word);
    if (!number && trimmed(word).empty()) {
      throw InputError(quote(word) + " in " + quote(text) + " is not a number");
    }
    numbers.push_back(number.value_or(0));
    result.numbers.push_back(trimmed(word));
    all_are_numbers = all_are_numbers && number;
  }
  if (all_are_numbers) result.numbers.clear();
  const auto init = [&](Init::Kind kind, std::vector<std::size_t> counts, const char* form) {
    if (std::find(counts.begin(), counts.end(), numbers.size()) == counts.end() ||
        (numbers.empty() && open != std::string_view::npos)) {
      throw InputError(quote(text) + " is not of the form " + form);
    }
    result.init.kind = kind;
    if (!numbers.empty()) result.init.a = numbers[0];
    if (numbers.size() > 1) result.init.b = numbers[1];
    const std::string fault = result.numbers.empty() ? init_fault(result.init) : "";
    if (!fault.empty()) throw InputError(quote(text) + ": " + fault);
    return result;
  };
  if (name == "uniform") {
    return init(numbers.empty() ? Init::Kind::full_range : Init::Kind::uniform, {0, 2},
                "uniform or uniform(LOW, HIGH)");
  }
  if (name == "normal") {
    if (numbers.empty()) result.init.b = 1;
    return init(Init::Kind::normal, {0, 2}, "normal or normal(MEAN, DEVIATION)");
  }
  if (name == "iota") return init(Init::Kind::iota, {0}, "iota");
  if (name == "zero") return init(Init::Kind::zero, {0}, "zero");
  if (name == "constant") return init(Init::Kind::constant, {1}, "constant(NUMBER)");
  if (name == "permutation") return init(Init::Kind::permutation, {0}, "permutation");
  throw InputError(quote(name) + " is not one of " + listed(forms) + suggestion(name, forms));
}

namespace {

bool is_name_of_function(std::string_view name) {
  if (name.starts_with("::")) name.remove_prefix(2);
  return is_qualified_name(name);
}

/// Returns the parts between commas that stand in no parentheses and in no template arguments.
std::vector<std::string> template_arguments_in(std::string_view text) {
  std::vector<std::string> arguments(1);
  int round = 0;
  int angle = 0;
  char before = ' ';
  for (const char c : text) {
    round += c == '(' ? 1 : c == ')' ? -1 : 0;
    // A comparison has a space before its `<`.
    if (c == '<' && (is_letter(before) || is_digit(before))) ++angle;
    if (c == '>' && angle > 0) --angle;
    before = c;
    if (c == ',' && round == 0 && angle == 0) {
      arguments.emplace_back();
    } else if (c != ' ' || !arguments.back().empty()) {
      arguments.back() += c;
    }
  }
  for (std::string& argument : arguments) argument = trimmed(argument);
  return arguments;
}

/// Returns the name of the function that a cast takes: `ns::go` of `(void (*)(int))ns::go<4>`.
std::string cast_function(std::string_view text) {
  while (!text.empty() && (text.back() == ')' || text.back() == ' ')) text.remove_suffix(1);
  if (text.ends_with('>')) {
    int angle = 0;
    while (!text.empty()) {
      angle += text.back() == '>' ? 1 : text.back() == '<' ? -1 : 0;
      text.remove_suffix(1);
      if (angle == 0) break;
    }
  }
  std::size_t begin = text.size();
  while (begin > 0 &&
         (is_letter(text[begin - 1]) || is_digit(text[begin - 1]) || text[begin - 1] == ':')) {
    --begin;
  }
  return std::string(text.substr(begin));
}

}  // namespace

std::pair<std::string, std::vector<std::string>> split_entry(const std::string& entry) {
  if (is_cast(entry)) {
    const std::string name = cast_function(entry);
    if (!is_name_of_function(name))
      throw InputError(quote(entry) + " does not end with a function");
    return {name, {}};
  }
  const std::size_t open = entry.find('<');
  const std::string name = trimmed(entry.substr(0, open));
  if (!is_name_of_function(name)) throw InputError(quote(name) + " is not the name of a function");
  if (open == std::string::npos) return {name, {}};
  if (entry.back() != '>') throw InputError(quote(entry) + " lacks a '>' at its end");
  const std::string inner = entry.substr(open + 1, entry.size() - open - 2);
  if (trimmed(inner).empty()) return {name, {}};  // All arguments have defaults.
  const std::vector<std::string> arguments = template_arguments_in(inner);
  for (const std::string& argument : arguments) {
    if (argument.empty()) throw InputError(quote(entry) + " has an empty template argument");
  }
  return {name, arguments};
}

}  // namespace smemtune
