#include "tuner/source/host_translation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

namespace smemtune {

namespace {

/// A token of C++, as far as declarations need it told from others.
struct Token {
  enum class Kind { word, literal, symbol };
  Kind kind = Kind::symbol;
  std::string_view text;
  std::size_t begin = 0;  ///< In the source.
  std::size_t end = 0;    ///< Behind the last character.
  std::size_t line = 1;
  bool in_directive = false;  ///< On a line that begins with #.

  bool is(std::string_view other) const { return text == other; }
};

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> tokens() {
    std::vector<Token> tokens;
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '\n') {
        in_directive_ = in_directive_ && position_ > 0 && text_[position_ - 1] == '\\';
        at_line_start_ = true;
        advance(1);
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        advance(1);
      } else if (starts_with("//")) {
        advance(text_.find('\n', position_) - position_);
      } else if (starts_with("/*")) {
        advance_behind("*/", 2);
      } else {
        if (c == '#' && at_line_start_) in_directive_ = true;
        at_line_start_ = false;
        tokens.push_back(token());
      }
    }
    return tokens;
  }

 private:
  bool starts_with(std::string_view prefix) const {
    return text_.substr(position_).starts_with(prefix);
  }

  void advance(std::size_t count) {
    const std::size_t end = position_ + std::min(count, text_.size() - position_);
    line_ += static_cast<std::size_t>(
        std::count(text_.begin() + static_cast<std::ptrdiff_t>(position_),
                   text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    position_ = end;
  }

  void advance_behind(std::string_view mark, std::size_t from) {
    const std::size_t found = text_.find(mark, position_ + from);
    advance(found == std::string_view::npos ? found : found + mark.size() - position_);
  }

  Token token() {
    const std::size_t begin = position_;
    const std::size_t line = line_;
    const char c = text_[begin];
    Token::Kind kind = Token::Kind::symbol;
    if (c == '"' || c == '\'') {
      kind = Token::Kind::literal;
      advance_behind_quote(c);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      kind = Token::Kind::literal;
      std::size_t end = begin;  // 1'000'000 and 1.5e-3f; the sign becomes a symbol.
      while (end < text_.size() &&
             (is_word_character(text_[end]) || text_[end] == '.' || text_[end] == '\'')) {
        ++end;
      }
      advance(end - begin);
    } else if (is_word_character(c)) {
      kind = Token::Kind::word;
      std::size_t end = begin;
      while (end < text_.size() && is_word_character(text_[end])) ++end;
      const std::string_view word = text_.substr(begin, end - begin);
      advance(end - begin);
      if (word.ends_with('R') && starts_with("\"")) {
        kind = Token::Kind::literal;
        const std::size_t open = text_.find('(', position_);
        if (open == std::string_view::npos) {
          advance(open);
        } else {
          const std::string delimiter(text_.substr(position_ + 1, open - position_ - 1));
          advance_behind(")" + delimiter + "\"", open - position_);
        }
      }
    } else {
      advance(1);
    }
    return {.kind = kind,
            .text = text_.substr(begin, position_ - begin),
            .begin = begin,
            .end = position_,
            .line = line,
            .in_directive = in_directive_};
  }

  void advance_behind_quote(char quote) {
    std::size_t end = position_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    advance(end + 1 - position_);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
  bool in_directive_ = false;
  bool at_line_start_ = true;
};

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Index of the token that closes the bracket at `open`, or kNone.
std::size_t closing(const std::vector<Token>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const std::string_view text = tokens[i].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == "]" || text == "}") --depth;
    if (depth == 0) return i;
  }
  return kNone;
}

/// Index of the token that opens the bracket at `close`, or kNone.
std::size_t opening(const std::vector<Token>& tokens, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    const std::string_view text = tokens[i].text;
    if (text == ")" || text == "]" || text == "}") ++depth;
    if (text == "(" || text == "[" || text == "{") --depth;
    if (depth == 0) return i;
  }
  return kNone;
}

class FileTranslator {
 public:
  FileTranslator(const KernelSource::File& file, int number)
      : file_(file), number_(number), tokens_(Scanner(file.text).tokens()) {}

  KernelSource::File translated() {
    for (std::size_t i = 0; i < tokens_.size() && unsupported_.empty();) i = next(i);
    text_ += file_.text.substr(copied_);
    return {.name = file_.name, .text = text_};
  }

  const std::string& inline_ptx() const { return inline_ptx_; }
  const std::string& unsupported() const { return unsupported_; }

 private:
  std::string place(std::size_t i) const {
    return file_.name + ":" + std::to_string(tokens_[i].line);
  }

  std::size_t refuse(std::size_t i, const std::string& what) {
    unsupported_ = what + ", " + place(i);
    return tokens_.size();
  }

  std::size_t next(std::size_t i) {
    const Token& token = tokens_[i];
    if (token.in_directive && token.is("#")) return directive(i);
    if (token.is("{")) braces_.push_back(opens_function(i));
    if (token.is("}") && !braces_.empty()) braces_.pop_back();
    if (token.kind != Token::Kind::word) return i + 1;
    if (token.is("asm") || token.is("__asm__") || token.is("__asm")) return assembly(i);
    if (token.is("__cluster_dims__")) return refuse(i, "thread block clusters");
    if (token.is("__shared__")) return shared_declaration(i);
    return i + 1;
  }

  std::size_t directive(std::size_t hash) {
    if (hash + 2 >= tokens_.size() || !tokens_[hash + 1].is("include")) return hash + 1;
    const std::size_t end = std::min(file_.text.find('\n', tokens_[hash].begin), file_.text.size());
    std::string_view name =
        std::string_view(file_.text).substr(tokens_[hash + 1].end, end - tokens_[hash + 1].end);
    name.remove_prefix(std::min(name.find_first_not_of(" \t<\""), name.size()));
    name = name.substr(0, name.find_first_of(">\""));
    constexpr std::array<std::string_view, 9> kMissing = {
        "mma.h",   "cooperative_groups/", "cuda/", "cub/", "cute/", "nv/", "cutlass/",
        "thrust/", "cuda_awbarrier"};
    const bool missing = name != "cooperative_groups/reduce.h" &&
                         std::ranges::any_of(kMissing, [&](std::string_view prefix) {
                           return name.starts_with(prefix);
                         });
    return missing ? refuse(hash, "<" + std::string(name) + ">") : hash + 1;
  }

  /// Whether the brace begins a block of statements, not a namespace or a class.
  bool opens_function(std::size_t brace) const {
    if (!braces_.empty() && braces_.back()) return true;
    for (std::size_t i = brace; i-- > 0;) {
      const Token& token = tokens_[i];
      if (token.in_directive || token.is(";") || token.is("{") || token.is("}")) return true;
      if (token.is(")")) {
        // Arguments of a template in a class's head are no function's: they are in < >.
        return true;
      }
      if (token.is("namespace") || token.is("class") || token.is("struct") || token.is("union") ||
          token.is("enum") || token.is("extern")) {
        return false;
      }
    }
    return true;
  }

  std::size_t assembly(std::size_t first) {
    std::size_t open = first + 1;
    while (open < tokens_.size() && tokens_[open].kind == Token::Kind::word) ++open;
    const std::size_t close =
        open < tokens_.size() && tokens_[open].is("(") ? closing(tokens_, open) : kNone;
    if (close == kNone) return refuse(first, "inline PTX");
    if (inline_ptx_.empty()) inline_ptx_ = place(first);
    replace(first, close, "smemtune_inline_ptx()");
    return close + 1;
  }

  std::size_t shared_declaration(std::size_t keyword) {
    if (tokens_[keyword].in_directive) return refuse(keyword, "__shared__ in a macro");
    bool dynamic = false;
    std::string type;
    std::string alignment;

    // What may stand before the keyword.
    std::size_t first = keyword;
    while (first > 0 && !tokens_[first - 1].in_directive) {
      const Token& before = tokens_[first - 1];
      if (before.is("extern")) {
        dynamic = true;
      } else if (before.is("volatile") || before.is("const")) {
        type += std::string(before.text) + " ";
      } else if (before.is(")")) {
        const std::size_t open = opening(tokens_, first - 1);
        if (open == kNone || open == 0 || !is_alignment(tokens_[open - 1])) break;
        alignment += "alignas" + text_between(open, first - 1) + " ";
        first = open - 1;
        continue;
      } else if (!before.is("static") && !before.is("__device__")) {
        break;
      }
      --first;
    }

    std::size_t end = keyword + 1;
    while (end < tokens_.size() && !tokens_[end].is(";")) {
      if (tokens_[end].is("{") || tokens_[end].is("}")) {
        return refuse(keyword, "a __shared__ variable of a type without a name");
      }
      if (tokens_[end].is("(") || tokens_[end].is("[")) {
        end = closing(tokens_, end);
        if (end == kNone) break;
      }
      ++end;
    }
    if (end >= tokens_.size()) return refuse(keyword, "a __shared__ declaration without an end");

    // From the right: NAME [N] [M], NAME [N], ..., until what is left is the type.
    struct Variable {
      std::string name;
      std::string dimensions;
    };
    std::vector<Variable> variables;
    std::size_t last = end;
    for (;;) {
      Variable variable;
      std::size_t name = last - 1;
      while (name > keyword && tokens_[name].is("]")) {
        name = opening(tokens_, name);
        if (name == kNone || name <= keyword) break;
        --name;
      }
      if (name == kNone || name <= keyword + 1 || tokens_[name].kind != Token::Kind::word) {
        return refuse(keyword, "a __shared__ declaration of this form");
      }
      variable.name = tokens_[name].text;
      if (name + 1 < last) variable.dimensions = text_between(name + 1, last - 1);
      variables.push_back(variable);
      last = name;
      if (!tokens_[name - 1].is(",")) break;
      last = name - 1;
    }
    std::ranges::reverse(variables);

    for (std::size_t i = keyword + 1; i < last; ++i) {
      const Token& token = tokens_[i];
      if (token.is("extern")) {
        dynamic = true;
      } else if (is_alignment(token) && i + 1 < last && tokens_[i + 1].is("(")) {
        const std::size_t close = closing(tokens_, i + 1);
        if (close == kNone || close >= last) {
          return refuse(keyword, "a __shared__ declaration of this form");
        }
        alignment += "alignas" + text_between(i + 1, close) + " ";
        i = close;
      } else if (!token.is("static")) {
        type += token.text;
        if (i + 1 == last || tokens_[i + 1].begin > token.end) type += " ";
      }
    }
    if (type.empty()) return refuse(keyword, "a __shared__ declaration of this form");

    // Outside functions the address is found when an OS thread first asks for it; there it stays.
    const bool in_function = !braces_.empty() && braces_.back();
    const std::string reference = in_function ? "auto& " : "static thread_local auto& ";
    std::string declarations;
    for (const Variable& variable : variables) {
      const std::string whole_type = type + variable.dimensions;
      if (dynamic) {
        declarations +=
            reference + variable.name + " = ::smemtune::dynamic_shared<" + whole_type + ">(); ";
        continue;
      }
      const std::string tag =
          "smemtune_shared_" + std::to_string(number_) + "_" + std::to_string(declared_++);
      declarations += "struct " + alignment + tag +
                      " { static constexpr const char* name() { return \"" + variable.name +
                      "\"; } }; " + reference + variable.name + " = ::smemtune::shared<" +
                      whole_type + ", " + tag + ">(); ";
    }
    replace(first, end, declarations);
    return end + 1;
  }

  static bool is_alignment(const Token& token) {
    return token.is("alignas") || token.is("__align__");
  }

  /// Of tokens first to last, in one line.
  std::string text_between(std::size_t first, std::size_t last) const {
    std::string text;
    for (std::size_t i = first; i <= last; ++i) {
      text += tokens_[i].text;
      if (i < last && tokens_[i + 1].begin > tokens_[i].end) text += " ";
    }
    return text;
  }

  /// Puts `text` in the place of tokens first to last, and as many line ends as they had.
  void replace(std::size_t first, std::size_t last, const std::string& text) {
    text_ += file_.text.substr(copied_, tokens_[first].begin - copied_);
    text_ += text;
    const bool in_directive = tokens_[first].in_directive;
    for (std::size_t i = tokens_[first].begin; i < tokens_[last].end; ++i) {
      if (file_.text[i] == '\n') text_ += in_directive ? "\\\n" : "\n";
    }
    copied_ = tokens_[last].end;
  }

  const KernelSource::File& file_;
  int number_;
  std::vector<Token> tokens_;
  std::vector<bool> braces_;  ///< Of each open brace, whether statements stand in it.
  std::string text_;
  std::size_t copied_ = 0;  ///< How far text_ has the source.
  int declared_ = 0;
  std::string inline_ptx_;
  std::string unsupported_;
};

}  // namespace

HostTranslation translate_for_host(const KernelSource& source) {
  HostTranslation translation;
  int number = 0;
  for (const KernelSource::File& file : source.files) {
    FileTranslator translator(file, number++);
    translation.source.files.push_back(translator.translated());
    if (translation.inline_ptx.empty()) translation.inline_ptx = translator.inline_ptx();
    if (translation.unsupported.empty()) translation.unsupported = translator.unsupported();
  }
  return translation;
}

}  // namespace smemtune
