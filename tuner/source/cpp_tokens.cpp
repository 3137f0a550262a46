#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <array>
#include <string>

namespace smemtune {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Bytes above 127 belong to names in UTF-8.
bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<CppToken> tokens() {
    std::vector<CppToken> tokens;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        advance_to(at_ + 1);
        begins_line_ = true;
      } else if (is_blank(c)) {
        ++at_;
      } else if (const std::size_t spliced = splice(at_)) {
        advance_to(at_ + spliced);
      } else if (starts_with("//")) {
        advance_to(end_of_line(at_));
      } else if (starts_with("/*")) {
        advance_to(behind("*/", at_ + 2));
      } else {
        const std::size_t begin = at_;
        const std::size_t line = line_;
        const CppToken::Kind kind = take();
        begins_line_ = false;
        tokens.push_back(
            {.kind = kind, .text = text_.substr(begin, at_ - begin), .begin = begin, .line = line});
      }
    }
    return tokens;
  }

 private:
  bool starts_with(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }

  /// Characters of a backslash that joins two lines, or 0.
  std::size_t splice(std::size_t at) const {
    const std::string_view rest = text_.substr(at);
    return rest.starts_with("\\\n") ? 2 : rest.starts_with("\\\r\n") ? 3 : 0;
  }

  void advance_to(std::size_t end) {
    end = std::min(end, text_.size());
    line_ += static_cast<std::size_t>(std::ranges::count(text_.substr(at_, end - at_), '\n'));
    at_ = end;
  }

  std::size_t behind(std::string_view mark, std::size_t from) const {
    const std::size_t found = from > text_.size() ? std::string_view::npos : text_.find(mark, from);
    return found == std::string_view::npos ? text_.size() : found + mark.size();
  }

  /// Of the line that holds `at` and those that are joined to it; the line feed itself is not in.
  std::size_t end_of_line(std::size_t at) const {
    while (at < text_.size() && text_[at] != '\n') at += std::max<std::size_t>(1, splice(at));
    return std::min(at, text_.size());
  }

  CppToken::Kind take() {
    const char c = text_[at_];
    if (c == '#' && begins_line_) {
      advance_to(end_of_directive());
      return CppToken::Kind::directive;
    }
    if (c == '"' || c == '\'') {
      advance_to(behind_quote(at_));
      return CppToken::Kind::literal;
    }
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      at_ = end_of_number();
      return CppToken::Kind::number;
    }
    if (is_word_character(c)) return take_word();
    at_ += symbol_length();
    return CppToken::Kind::symbol;
  }

  /// A comment of several lines belongs to the directive.
  std::size_t end_of_directive() const {
    std::size_t at = at_;
    while (at < text_.size() && text_[at] != '\n') {
      if (text_.substr(at).starts_with("//")) return end_of_line(at);
      if (text_.substr(at).starts_with("/*")) {
        at = behind("*/", at + 2);
      } else if (text_[at] == '"') {
        at = behind_quote(at);
      } else {
        at += std::max<std::size_t>(1, splice(at));
      }
    }
    return std::min(at, text_.size());
  }

  std::size_t behind_quote(std::size_t at) const {
    const char quote = text_[at++];
    while (at < text_.size() && text_[at] != quote) {
      if (text_[at] == '\n') return at;
      const std::size_t spliced = splice(at);
      at += spliced > 0 ? spliced : text_[at] == '\\' ? 2 : 1;
    }
    return std::min(at + 1, text_.size());
  }

  /// 1'000'000, 0x1.8p-3, 1.5e-3f.
  std::size_t end_of_number() const {
    std::size_t at = at_;
    while (at < text_.size()) {
      const char c = text_[at];
      const char before = at == at_ ? '\0' : text_[at - 1];
      const bool is_exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
      const bool is_hexadecimal = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
      const bool is_sign = (c == '+' || c == '-') && is_exponent &&
                           (!is_hexadecimal || before == 'p' || before == 'P');
      const bool separates = c == '\'' && at + 1 < text_.size() && is_word_character(text_[at + 1]);
      if (!is_word_character(c) && c != '.' && !is_sign && !separates) break;
      ++at;
    }
    return at;
  }

  CppToken::Kind take_word() {
    std::size_t end = at_;
    while (end < text_.size() && is_word_character(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    const char next = end < text_.size() ? text_[end] : '\0';
    static constexpr std::array<std::string_view, 5> kRaw = {"R", "u8R", "uR", "UR", "LR"};
    static constexpr std::array<std::string_view, 4> kEncoding = {"u8", "u", "U", "L"};
    if (next == '"' && std::ranges::find(kRaw, word) != kRaw.end()) {
      const std::size_t open = text_.find('(', end);
      constexpr std::size_t kMaxDelimiter = 16;
      if (open != std::string_view::npos && open - end - 1 <= kMaxDelimiter) {
        const std::string mark = ")" + std::string(text_.substr(end + 1, open - end - 1)) + "\"";
        advance_to(behind(mark, open));
        return CppToken::Kind::literal;
      }
    }
    if ((next == '"' || next == '\'') && std::ranges::find(kEncoding, word) != kEncoding.end()) {
      advance_to(behind_quote(end));
      return CppToken::Kind::literal;
    }
    at_ = end;
    return CppToken::Kind::word;
  }

  std::size_t symbol_length() const {
    static constexpr std::array<std::string_view, 18> kDouble = {
        "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=",
        "&=", "|=", "^=", "++", "--", "::", "->", "&&", "||"};
    return std::ranges::find(kDouble, text_.substr(at_, 2)) != kDouble.end() ? 2 : 1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  bool begins_line_ = true;
};

}  // namespace

std::vector<CppToken> cpp_tokens(std::string_view text) { return Scanner(text).tokens(); }

std::size_t closing(const std::vector<CppToken>& tokens, std::size_t open) {
  if (open >= tokens.size()) return tokens.size();
  const bool is_angle = tokens[open].is("<");
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const CppToken& token = tokens[i];
    if (token.kind != CppToken::Kind::symbol) continue;
    if (is_angle && token.is("<")) ++depth;
    if (is_angle && token.is(">") && --depth == 0) return i;
    if (is_angle && (token.is(";") || token.is("{") || token.is(")"))) return tokens.size();
    if (is_angle && (token.is("(") || token.is("["))) {
      i = closing(tokens, i);
      continue;
    }
    if (is_angle) continue;
    if (token.is("(") || token.is("[") || token.is("{")) ++depth;
    if ((token.is(")") || token.is("]") || token.is("}")) && --depth == 0) return i;
  }
  return tokens.size();
}

}  // namespace smemtune
