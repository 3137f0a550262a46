#include "tuner/source/missing_names.h"

#include "tuner/core/expression.h"
#include "tuner/source/directive.h"
#include "tuner/source/kernel_function.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace smemtune {
namespace {

/// Returns true for words of C++ and CUDA that need no declaration, as far as device code has them.
bool is_builtin(std::string_view word) {
  static constexpr std::array<std::string_view, 79> kWords = {
      "void",     "bool",      "char",     "short",     "int",       "long",     "float",
      "double",   "signed",    "unsigned", "size_t",    "half",      "const",    "constexpr",
      "static",   "volatile",  "extern",   "inline",    "struct",    "class",    "union",
      "enum",     "typename",  "template", "auto",      "register",  "if",       "else",
      "for",      "while",     "do",       "switch",    "case",      "default",  "break",
      "continue", "return",    "goto",     "sizeof",    "alignof",   "true",     "false",
      "nullptr",  "this",      "operator", "using",     "namespace", "typedef",  "new",
      "delete",   "public",    "private",  "protected", "friend",    "decltype", "noexcept",
      "asm",      "threadIdx", "blockIdx", "blockDim",  "gridDim",   "warpSize", "dim3",
      "defined",  "NULL",      "INFINITY", "NAN",       "uint",      "uchar",    "ushort",
      "ulong",    "virtual",   "explicit", "mutable",   "final",     "override", "unroll",
      "nounroll", "texture"};
  static constexpr std::array<std::string_view, 11> kBegin = {
      "cuda", "__", "CUDART_", "FLT_", "DBL_", "INT_", "UINT_", "M_", "CHAR_", "LONG_", "SHRT_"};
  const bool is_sized = word.ends_with("_t") && word.find("int") != std::string_view::npos;
  if (std::ranges::find(kWords, word) != kWords.end() || is_sized) return true;
  const bool is_reserved = word.size() > 1 && word[0] == '_' && word[1] >= 'A' && word[1] <= 'Z';
  if (is_reserved) return true;  // Macros of other compilers: `_MSC_VER`.
  const bool is_vector = word.size() > 3 && word.back() >= '1' && word.back() <= '4' &&
                         std::ranges::find(kWords, word.substr(0, word.size() - 1)) != kWords.end();
  return is_vector || std::ranges::any_of(
                          kBegin, [&](std::string_view begin) { return word.starts_with(begin); });
}

/// Finds the missing names in the kept items of a file.
class MissingNamesReader {
 public:
  /// `known`: names that are declared outside of functions, here or in a header.
  MissingNamesReader(const CppTokens& tokens, const std::set<std::string>& known,
                     const Meanings& meanings)
      : tokens_(tokens), known_(known), meanings_(meanings) {}

  void add(const SourceItem& item) {
    if (tokens_[item.first].is("namespace") || tokens_[item.first].is("using")) return;
    add_parameters(item);
    for (std::size_t i = item.first; i < item.end; ++i) {
      if (!tokens_[i].is_word() || !declares(i, item.first)) continue;
      local_.emplace(tokens_[i].text);
      const CppToken& before = tokens_[i - 1];
      if (before.is("typename") || before.is("class")) types_.emplace(tokens_[i].text);
      if (before.is_word() && !is_type(before)) missing_types_.emplace(before.text);
    }
    int depth = 0;  // Depth of square brackets.
    for (std::size_t i = item.first; i < item.end; ++i) {
      const CppToken& token = tokens_[i];
      if (token.is("namespace") || token.is("using")) {
        while (i < item.end && !tokens_[i].is(";")) ++i;
        continue;
      }
      if (token.is("[")) ++depth;
      if (token.is("]")) --depth;
      if (token.kind == CppToken::Kind::directive) add_directive(token);
      if (!token.is_word() || is_foreign(i)) continue;
      use(token.text, token.line, depth > 0);
    }
  }

  std::vector<MissingName> names() {
    std::vector<MissingName> found;
    for (MissingName& name : used_) {
      if (local_.contains(name.name) || optional_.contains(name.name)) continue;
      name.is_type = missing_types_.contains(name.name);
      found.push_back(std::move(name));
    }
    return found;
  }

  /// Returns the numbers that #if and #elif compare names with, whether these are missing or not.
  const std::map<std::string, std::set<std::int64_t>>& compared() const { return compared_; }

 private:
  const CppToken& at(std::size_t i) const {
    static const CppToken kEnd;
    return i < tokens_.size() ? tokens_[i] : kEnd;
  }

  /// Adds a function's parameters to the local names, and notes their types that nothing declares.
  void add_parameters(const SourceItem& item) {
    if (item.list == kNoToken) return;
    const std::size_t close = std::min(closing(tokens_, item.list), item.end);
    for (const TokenRange& part : split(tokens_, {item.list + 1, close})) {
      const std::optional<KernelParameter> parameter = kernel_parameter(tokens_, part);
      if (!parameter || parameter->name.empty()) continue;
      local_.insert(parameter->name);
      const std::vector<std::string_view> words = identifiers(parameter->type);
      const bool is_plain = words.size() == 1 && words.front() == parameter->type;
      if (is_plain && !is_known_type(parameter->type)) missing_types_.insert(parameter->type);
    }
  }

  /// Returns true for a member, a name of another namespace, or the name of a call.
  bool is_foreign(std::size_t i) const {
    const CppToken& before = at(i - 1);
    const CppToken& after = at(i + 1);
    return before.is(".") || before.is("->") || before.is("::") || after.is("::") || after.is("(");
  }

  bool is_known_type(std::string_view word) const {
    const std::string name(word);
    return is_builtin(word) || known_.contains(name) || types_.contains(name);
  }

  bool is_type(const CppToken& token) const { return token.is_word() && is_known_type(token.text); }

  /// Returns true if the word at i is declared there: `int x`, `T *x`, `int a, x`, `tile<32> x`.
  bool declares(std::size_t i, std::size_t first) const {
    static constexpr std::array<std::string_view, 8> kNoTypes = {
        "return", "case", "else", "goto", "sizeof", "new", "delete", "operator"};
    static constexpr std::array<std::string_view, 8> kEnds = {"=", ";", ",", ")",
                                                              "[", "{", ":", "("};
    if (i == first) return false;
    const CppToken& before = tokens_[i - 1];
    if (before.is_word()) return std::ranges::find(kNoTypes, before.text) == kNoTypes.end();
    if (std::ranges::find(kEnds, at(i + 1).text) == kEnds.end() && !at(i + 1).is(">")) return false;
    if (before.is("*") || before.is("&")) {
      std::size_t type = i - 1;
      while (type > first && (tokens_[type].is("*") || tokens_[type].is("&"))) --type;
      return is_type(tokens_[type]) || tokens_[type].is(">");
    }
    if (before.is(">")) return !at(i + 1).is(")");
    if (!before.is(",")) return false;
    std::size_t begin = i - 1;  // Beginning of the statement.
    int depth = 0;
    constexpr std::size_t kMostTokens = 1000;
    while (begin > first && i - begin < kMostTokens) {
      const CppToken& token = tokens_[begin - 1];
      if (token.is(")") || token.is("]")) ++depth;
      if ((token.is("(") || token.is("[")) && --depth < 0) break;
      if (depth == 0 && (token.is(";") || token.is("{") || token.is("}"))) break;
      --begin;
    }
    return is_type(tokens_[begin]) && (at(begin + 1).is_word() || at(begin + 1).is("*"));
  }

  void add_directive(const CppToken& token) {
    const Directive directive = directive_of(token);
    const CppTokens rest = cpp_tokens(directive.rest);
    if (directive.name == "ifdef" || directive.name == "ifndef") {
      for (const CppToken& word : rest) optional_.emplace(word.text);
    }
    const bool decides = directive.name == "if" || directive.name == "elif";
    const bool unrolls = directive.name == "pragma" && !rest.empty() && rest[0].is("unroll");
    std::size_t first = 0;
    std::set<std::string_view> own;  // The arguments of a macro.
    if (directive.name == "define") {
      first = 1;
      if (rest.size() > 1 && rest[1].is("(") && rest[1].begin == rest[0].end()) {
        first = std::min(closing(rest, 1), rest.size());
        for (std::size_t i = 2; i < first; ++i) own.insert(rest[i].text);
      }
    } else if (!decides && !unrolls) {
      return;
    }
    for (std::size_t i = first; i < rest.size(); ++i) {
      if (!rest[i].is_word() || own.contains(rest[i].text)) continue;
      const bool asks = i > 0 && (rest[i - 1].is("defined") ||
                                  (i > 1 && rest[i - 1].is("(") && rest[i - 2].is("defined")));
      const bool calls = i + 1 < rest.size() && (rest[i + 1].is("(") || rest[i + 1].is("::"));
      const bool member = i > 0 && (rest[i - 1].is(".") || rest[i - 1].is("->"));
      if (asks) optional_.emplace(rest[i].text);
      if (asks || calls || member) continue;
      const std::string_view name = meaning(rest[i].text);
      if (decides) compare(std::string(name), rest, i);
      use(name, token.line, decides || unrolls);
    }
  }

  /// Returns what a macro stands for if it is only another name.
  std::string_view meaning(std::string_view word) const {
    const auto found = meanings_.find(std::string(word));
    if (found == meanings_.end() || found->second.size() != 1) return word;
    const std::string& text = found->second.front();
    const std::vector<std::string_view> words = identifiers(text);
    return words.size() == 1 && words.front().size() == text.size() ? words.front() : word;
  }

  void compare(const std::string& name, const CppTokens& rest, std::size_t i) {
    const auto symbol = [&](std::size_t j) {
      return j < rest.size() && rest[j].kind == CppToken::Kind::symbol ? rest[j].text
                                                                       : std::string_view();
    };
    const auto number = [&](std::size_t j) {
      return j < rest.size() ? whole_number(rest[j].text) : std::nullopt;
    };
    const auto equals = [](std::string_view text) { return text == "==" || text == "!="; };
    if (equals(symbol(i + 1)) && number(i + 2)) {
      compared_[name].insert(*number(i + 2));
    } else if (i > 1 && equals(symbol(i - 1)) && number(i - 2)) {
      compared_[name].insert(*number(i - 2));
    } else {
      const std::string_view before = i > 0 ? symbol(i - 1) : "";
      const std::string_view after = symbol(i + 1);
      const auto joins = [](std::string_view text) {
        return text.empty() || text == "&&" || text == "||" || text == "!" || text == "(" ||
               text == ")";
      };
      if (joins(before) && joins(after)) compared_[name].insert({0, 1});
    }
  }

  void use(std::string_view word, std::size_t line, bool is_constant) {
    if (is_builtin(word) || known_.contains(std::string(word))) return;
    const auto [place, is_new] = places_.emplace(word, used_.size());
    if (is_new) used_.push_back({.name = std::string(word), .line = line});
    MissingName& name = used_[place->second];
    name.is_constant = name.is_constant || is_constant;
  }

  const CppTokens& tokens_;
  const std::set<std::string>& known_;
  const Meanings& meanings_;
  std::set<std::string> local_;     ///< Names declared in functions.
  std::set<std::string> optional_;  ///< Names that the source asks for with `defined`.
  std::set<std::string> types_;     ///< Template parameters that are types.
  std::set<std::string> missing_types_;
  std::map<std::string, std::set<std::int64_t>> compared_;
  std::vector<MissingName> used_;
  std::map<std::string, std::size_t, std::less<>> places_;  ///< Index in used_, by name.
};

}  // namespace

MissingNames missing_names(const CppTokens& tokens, const std::vector<const SourceItem*>& items,
                           const std::set<std::string>& known, const Meanings& meanings) {
  MissingNamesReader reader(tokens, known, meanings);
  for (const SourceItem* const item : items) reader.add(*item);
  return {.names = reader.names(), .compared = reader.compared()};
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  const bool is_calculated = text.find_first_not_of("0123456789 ()+-*/<>") == text.npos &&
                             text.find_first_of("+-*/<") != text.npos;
  if (is_calculated) {
    try {
      return Expression::compile(text, Scope()).evaluate();
    } catch (const ExpressionError&) {
      return std::nullopt;
    }
  }
  while (!text.empty() && (text.front() == ' ' || text.front() == '(')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == ')' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace smemtune
