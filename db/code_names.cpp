#include "db/code_names.h"

#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/expression_operations.h"
#include "tuner/core/stored_expressions.h"
#include "tuner/core/text.h"
#include "tuner/core/tokens.h"

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

namespace {

using expressions::Operation;

/// Thrown for an expression that C++ does not have.
class NotExpressible {};

/// Writes one expression as C++, with parentheses round each operation.
class ExpressionWriter {
 public:
  ExpressionWriter(const std::string& text, const BindingsStruct& problem,
                   const BindingsStruct& parameters, std::set<std::string>& limits)
      : tokens_(text), problem_(problem), parameters_(parameters), limits_(limits) {}

  std::string all() {
    const std::string code = conditional();
    if (tokens_.peek().kind != Token::Kind::end) throw NotExpressible();
    return code;
  }

 private:
  std::string conditional() {
    std::string condition = binary(1);
    if (!tokens_.take_if("?")) return condition;
    const std::string yes = conditional();
    tokens_.expect(":");
    return "(" + condition + " ? " + yes + " : " + conditional() + ")";
  }

  std::string binary(int lowest_level) {
    std::string left = unary();
    for (;;) {
      const expressions::BinaryOperator* const known = expressions::find_operator(tokens_.peek());
      if (known == nullptr || known->level < lowest_level) return left;
      tokens_.take();
      const std::string right = binary(known->level + 1);
      left = operation(known->operation, std::string(known->symbol), left, right);
    }
  }

  /// Returns the call of a function where C++'s own operator has no value for some operands.
  static std::string operation(Operation operation, const std::string& symbol,
                               const std::string& left, const std::string& right) {
    switch (operation) {
      case Operation::logical_or:
        return "(" + left + " || " + right + ")";
      case Operation::logical_and:
        return "(" + left + " && " + right + ")";
      case Operation::multiply:
        return call("times", {left, right});
      case Operation::divide:
        return call("quotient", {left, right});
      case Operation::modulo:
        return call("remainder", {left, right});
      case Operation::floor_divide:
      case Operation::power:
        throw NotExpressible();
      default:
        return "(" + left + " " + symbol + " " + right + ")";
    }
  }

  std::string unary() {
    for (const char* symbol : {"!", "~", "-"}) {
      if (tokens_.take_if(symbol)) return "(" + std::string(symbol) + unary() + ")";
    }
    return primary();
  }

  std::string primary() {
    if (tokens_.take_if("(")) {
      std::string inner = conditional();
      tokens_.expect(")");
      return inner;
    }
    const Token token = tokens_.take();
    const std::string text(token.text);
    if (token.kind == Token::Kind::integer) {
      return integer_literal(static_cast<std::int64_t>(token.integer)) + "LL";
    }
    if (token.kind == Token::Kind::quoted) return string_literal(text);
    if (token.kind != Token::Kind::name) throw NotExpressible();
    if (!tokens_.take_if("(")) return value_of(text);
    std::vector<std::string> operands;
    do {
      operands.push_back(conditional());
    } while (tokens_.take_if(","));
    tokens_.expect(")");
    if (text == "sizeof") return "::smemtune::size_of(" + operands.front() + ")";
    const auto known =
        std::ranges::find(expressions::kFunctions, text, &expressions::Function::name);
    if (known == expressions::kFunctions.end() || known->operation == Operation::conditional) {
      throw NotExpressible();
    }
    return call(text, operands);
  }

  /// Returns a call; of more than two operands, one inside the other.
  static std::string call(const std::string& function, const std::vector<std::string>& operands) {
    const std::string begin = "::smemtune::" + function + "(";
    std::string code = operands.front();
    if (operands.size() == 1 && function != "min" && function != "max") return begin + code + ")";
    for (std::size_t i = 1; i < operands.size(); ++i) {
      code = begin + code;
      code += ", " + operands[i] + ")";
    }
    return code;
  }

  std::string value_of(const std::string& name) {
    if (problem_.members().contains(name)) return "problem." + problem_.member(name);
    if (parameters_.members().contains(name)) return "parameters." + parameters_.member(name);
    if (device_names({}).contains(name)) {
      limits_.insert(name);
      return "limits." + name;
    }
    return string_literal(name);
  }

  TokenStream tokens_;
  const BindingsStruct& problem_;
  const BindingsStruct& parameters_;
  std::set<std::string>& limits_;
};

/// Returns a condition as C++; `false` if it is no expression or cannot be written so.
std::string code_of(const std::string& text, const BindingsStruct& problem,
                    const BindingsStruct& parameters, std::set<std::string>& limits) {
  Scope scope;
  scope.add_constants(device_names({}));
  for (const BindingsStruct* of : {&problem, &parameters}) {
    for (const auto& [name, member] : of->members()) {
      if (scope.contains(name)) continue;
      scope.add_variable(name, 0, of->is_word(name) ? Scope::Kind::word : Scope::Kind::integer);
    }
  }
  if (!compile_condition(text, scope)) return "false";
  try {
    return ExpressionWriter(text, problem, parameters, limits).all();
  } catch (const ExpressionError&) {
    return "false";
  } catch (const NotExpressible&) {
    return "false";
  }
}

/// Returns a function that returns the size of a type in bytes, 0 for other words. It compares with
/// names of the same length only, as compilers limit how much they evaluate.
std::string size_function() {
  std::map<std::size_t, std::string> cases;
  for (const auto& [name, bytes] : type_sizes()) {
    cases[name.size()] +=
        "      if (type == " + string_literal(name) + ") return " + std::to_string(bytes) + ";\n";
  }
  std::string text =
      "constexpr long long size_of(::std::string_view type) {\n  switch (type.size()) {\n";
  for (const auto& [length, tests] : cases) {
    text += "    case " + std::to_string(length) + ":\n" + tests + "      return 0;\n";
  }
  return text + "    default:\n      return 0;\n  }\n}\n";
}

}  // namespace

std::string constraint_functions() {
  constexpr const char* kArithmetic = R"text(
#ifndef SMEMTUNE_CONSTRAINTS
#define SMEMTUNE_CONSTRAINTS
namespace smemtune {

// Functions that constraints call. A division by 0 gives 0, a product that is too large the largest number.
constexpr long long times(long long a, long long b) {
  constexpr long long kMost = 0x7FFFFFFFFFFFFFFF;
  const double product = static_cast<double>(a) * static_cast<double>(b);
  return product > 9e18 ? kMost : product < -9e18 ? -kMost : a * b;
}
constexpr long long quotient(long long a, long long b) { return b == 0 ? 0 : a / b; }
constexpr long long remainder(long long a, long long b) { return b == 0 ? 0 : a % b; }
constexpr long long min(long long a, long long b) { return a < b ? a : b; }
constexpr long long max(long long a, long long b) { return a < b ? b : a; }
constexpr long long abs(long long a) { return a < 0 ? -a : a; }
constexpr long long ceil_div(long long a, long long b) {
  const long long rest = remainder(a, b);
  return quotient(a, b) + (rest != 0 && (rest < 0) == (b < 0) ? 1 : 0);
}
constexpr long long round_up(long long a, long long b) { return ceil_div(a, b) * b; }
constexpr long long pow2(long long n) { return n < 0 || n > 62 ? 0 : 1LL << n; }
constexpr bool is_pow2(long long a) { return a > 0 && (a & (a - 1)) == 0; }
constexpr long long log2(long long a) {
  long long log = 0;
  for (; a > 1; a /= 2) ++log;
  return log;
}
constexpr long long gcd(long long a, long long b) {
  while (b != 0) {
    const long long rest = a % b;
    a = b;
    b = rest;
  }
  return abs(a);
}

)text";
  return kArithmetic + size_function() + "\n}  // namespace smemtune\n#endif\n";
}

ConstraintsCode::ConstraintsCode(const BindingsStruct& problem, const BindingsStruct& parameters,
                                 const std::vector<Condition>& conditions) {
  std::string functions;
  for (const Condition& condition : conditions) {
    std::string cases;
    for (const auto& [kernel, texts] : condition.of_kernels) {
      std::string all;
      for (const std::string& text : texts) {
        all +=
            (all.empty() ? "" : " &&\n             ") + code_of(text, problem, parameters, limits_);
      }
      if (!all.empty()) cases += "    case Kernel::" + kernel + ":\n      return " + all + ";\n";
    }
    functions += "// " + condition.comment + "\nconstexpr bool " + condition.function +
                 "([[maybe_unused]] Kernel kernel,\n"
                 "    [[maybe_unused]] const Parameters& parameters,\n"
                 "    [[maybe_unused]] const Problem& problem,\n"
                 "    [[maybe_unused]] const Limits& limits) {\n";
    if (!cases.empty()) {
      functions += "  switch (kernel) {\n" + cases + "    default:\n      break;\n  }\n";
    }
    functions += "  return true;\n}\n\n";
  }
  definitions_ = "// Limits of a device that constraints name.\nstruct Limits {\n";
  for (const std::string& name : limits_) definitions_ += "  long long " + name + ";\n";
  definitions_ += "};\n\n";
  definitions_ += functions;
}

std::string ConstraintsCode::limits(const Bindings& device) const {
  std::string text;
  for (const std::string& name : limits_) {
    const auto value = device.find(name);
    text += (text.empty() ? "" : ", ") + (value == device.end() ? "0" : to_text(value->second));
  }
  return "{" + text + "}";
}

}  // namespace smemtune::db
