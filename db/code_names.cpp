#include "db/code_names.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace smemtune::db {

namespace {

constexpr std::size_t kMaxNameBytes = 64;

// Keywords, and macros that any program may define.
constexpr std::string_view kReserved[] = {
    "alignas",      "alignof",      "and",           "and_eq",
    "asm",          "auto",         "bitand",        "bitor",
    "bool",         "break",        "case",          "catch",
    "char",         "char16_t",     "char32_t",      "char8_t",
    "class",        "co_await",     "co_return",     "co_yield",
    "compl",        "concept",      "const",         "const_cast",
    "consteval",    "constexpr",    "constinit",     "continue",
    "decltype",     "default",      "delete",        "do",
    "double",       "dynamic_cast", "else",          "enum",
    "explicit",     "export",       "extern",        "false",
    "float",        "for",          "friend",        "goto",
    "if",           "inline",       "int",           "linux",
    "long",         "mutable",      "namespace",     "new",
    "noexcept",     "not",          "not_eq",        "nullptr",
    "operator",     "or",           "or_eq",         "private",
    "protected",    "public",       "register",      "reinterpret_cast",
    "requires",     "return",       "short",         "signed",
    "sizeof",       "static",       "static_assert", "static_cast",
    "struct",       "switch",       "template",      "this",
    "thread_local", "throw",        "true",          "try",
    "typedef",      "typeid",       "typename",      "union",
    "unix",         "unsigned",     "using",         "virtual",
    "void",         "volatile",     "wchar_t",       "while",
    "xor",          "xor_eq",       "defined",       "NULL",
    "assert",       "errno",        "EOF",
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_reserved(std::string_view name) {
  return std::ranges::find(kReserved, name) != std::end(kReserved);
}

/// Returns true if a program may define this name: an identifier that is not reserved for the
/// compiler (`__LINE__`, `_T`).
bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes || is_digit(text.front())) return false;
  if (text.find("__") != std::string_view::npos) return false;
  if (text.front() == '_' && (text.size() == 1 || !(text[1] >= 'a' && text[1] <= 'z'))) {
    return false;
  }
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

/// Returns true for words as space files have them: `float`, `unsigned char`,
/// `cuda::std::plus<float>`.
bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && (is_letter(text[0]) || text[0] == '_') &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '_' || c == ':' || c == '<' || c == '>' ||
                  c == ' ';
         });
}

}  // namespace

Names::Names(std::string what, std::set<std::string> taken)
    : what_(std::move(what)), taken_(std::move(taken)) {}

void Names::add(const std::string& name) {
  if (names_.contains(name)) return;
  if (!is_name(name)) {
    throw InputError(what_ + " " + string_literal(name) + " cannot be a name in C++");
  }
  std::string used = name;
  while (is_reserved(used) || taken_.contains(used)) used += '_';
  taken_.insert(used);
  names_[name] = used;
}

BindingsStruct::BindingsStruct(std::string name, const std::string& what)
    : name_(std::move(name)), members_(what, {name_}) {}

void BindingsStruct::add(const Bindings& bindings) {
  for (const auto& [name, value] : bindings) {
    members_.add(name);
    if (std::holds_alternative<std::string>(value)) words_.insert(name);
  }
}

std::string BindingsStruct::definition() const {
  std::string text = "struct " + name_ + " {\n";
  for (const auto& [name, member] : members_.all()) {
    text += std::string("  ") + (words_.contains(name) ? "::std::string_view " : "long long ") +
            member + ";\n";
  }
  return text + "};\n";
}

std::string BindingsStruct::value(const Bindings& bindings) const {
  std::string text;
  for (const auto& [name, member] : members_.all()) {
    const auto found = bindings.find(name);
    const bool known = found != bindings.end();
    text += text.empty() ? "" : ", ";
    if (words_.contains(name)) {
      text += string_literal(known ? to_text(found->second) : "");
    } else {
      text += integer_literal(known ? std::get<std::int64_t>(found->second) : 0);
    }
  }
  return "{" + text + "}";
}

std::string BindingsStruct::ratio_functions() const {
  std::string words;
  std::string sizes;
  for (const auto& [name, member] : members_.all()) {
    const std::string both = "(one." + member + ", other." + member + ")";
    if (words_.contains(name)) {
      words += "  if (one." + member + " != other." + member +
               ") {\n    ratio = ::smemtune::times_ratio(ratio, ::smemtune::type_ratio(" +
               "::smemtune::size_of(one." + member + "), ::smemtune::size_of(other." + member +
               ")));\n  }\n";
    } else {
      sizes += "  ratio = ::smemtune::times_ratio(ratio, ::smemtune::size_ratio" + both + ");\n";
    }
  }
  const std::string parameters =
      "[[maybe_unused]] const " + name_ + "& one, [[maybe_unused]] const " + name_ + "& other) {\n";
  return "constexpr double word_ratio(" + parameters + "  double ratio = 1;\n" + words +
         "  return ratio;\n}\n\nconstexpr double times_sizes(double ratio, " + parameters + sizes +
         "  return ratio;\n}\n\nconstexpr double size_ratio(const " + name_ + "& one, const " +
         name_ + "& other) {\n  return times_sizes(word_ratio(one, other), one, other);\n}\n";
}

Bindings BindingsStruct::words_of(const Bindings& bindings) const {
  Bindings words = bindings;
  std::erase_if(words, [this](const auto& one) { return !words_.contains(one.first); });
  return words;
}

std::string string_literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (is_letter(c) || is_digit(c) ||
        std::string_view(" _=,.:;<>()[]{}+-*/@#%&|!^~'$").find(c) != std::string_view::npos) {
      literal += c;
    } else {
      // An octal escape ends after three digits, whatever follows; `?` might begin a trigraph.
      const auto byte = static_cast<unsigned char>(c);
      literal += {'\\', static_cast<char>('0' + byte / 64), static_cast<char>('0' + byte / 8 % 8),
                  static_cast<char>('0' + byte % 8)};
    }
  }
  return literal + "\"";
}

std::string for_comment(const std::string& text) {
  std::string result;
  for (const char c : text.substr(0, 256)) {
    const bool plain = is_letter(c) || is_digit(c) ||
                       std::string_view(" _=,.:;%*<>()+-@/").find(c) != std::string_view::npos;
    result += plain ? c : '.';
  }
  return result;
}

std::string integer_literal(std::int64_t value) {
  // The smallest integer cannot be written as a single literal.
  return value == INT64_MIN ? "-9223372036854775807LL - 1" : std::to_string(value);
}

void need_name(const std::string& what, const std::string& name) {
  if (is_name(name) && !is_reserved(name)) return;
  throw InputError(what + " " + string_literal(name) + " cannot be a name in C++");
}

const std::string& need_word(const std::string& what, const std::string& word) {
  if (is_word(word)) return word;
  throw InputError(what + " is " + string_literal(word) +
                   ", which is neither a type nor an enumerator");
}

bool is_type(const std::string& word) {
  static constexpr std::array<std::string_view, 4> kValues = {"true", "false", "nullptr", "NULL"};
  if (std::ranges::find(kValues, word) != kValues.end()) return false;
  return word.starts_with("__") || is_reserved(word.substr(0, word.find(' ')));
}

}  // namespace smemtune::db
