#include "tuner/source/cpp_tokens.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace smemtune {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  ///< In UTF-8.

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/// Returns the length of a backslash and line end that join two lines at the beginning of `rest`,
/// or 0.
std::size_t splice(std::string_view rest) {
  if (!rest.starts_with('\\')) return 0;
  return rest.starts_with("\\\n") ? 2 : rest.starts_with("\\\r\n") ? 3 : 0;
}

/// Returns the offset behind the next `mark` from `from` on, or the text's end.
std::size_t behind(std::string_view text, std::string_view mark, std::size_t from) {
  const std::size_t found = from > text.size() ? std::string_view::npos : text.find(mark, from);
  return found == std::string_view::npos ? text.size() : found + mark.size();
}

/// Returns the end of the line of `at`, with lines that are joined to it, before its line feed.
std::size_t end_of_line(std::string_view text, std::size_t at) {
  while (true) {
    at = std::min(text.find_first_of("\\\n", at), text.size());
    if (at == text.size() || text[at] == '\n') return at;
    at += std::max<std::size_t>(1, splice(text.substr(at)));
  }
}

/// Returns the offset behind a string, which ends with its line if nothing closes it.
std::size_t behind_quote(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) {
    if (text[at] == '\n') return at;
    const std::size_t spliced = splice(text.substr(at));
    at += spliced > 0 ? spliced : text[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
}

bool begins_number(std::string_view rest) {
  return is_digit(rest[0]) || (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1]));
}

/// Returns the offset behind the number at `begin`: 1'000'000, 0x1.8p-3, 1.5e-3f.
std::size_t behind_number(std::string_view text, std::size_t begin) {
  std::size_t at = begin;
  while (at < text.size()) {
    const char c = text[at];
    const char before = at == begin ? '\0' : text[at - 1];
    const bool is_exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
    const bool is_hexadecimal = text.substr(begin, 2) == "0x" || text.substr(begin, 2) == "0X";
    const bool is_sign = (c == '+' || c == '-') && is_exponent &&
                         (!is_hexadecimal || before == 'p' || before == 'P');
    const bool separates = c == '\'' && at + 1 < text.size() && is_word_character(text[at + 1]);
    if (!is_word_character(c) && c != '.' && !is_sign && !separates) break;
    ++at;
  }
  return at;
}

/// Returns true if a quotation mark behind `word` begins a raw string.
bool is_raw_prefix(std::string_view word) {
  return is_one_of(word, {"R", "u8R", "uR", "UR", "LR"});
}

/// Returns the word that ends `line`; may be empty.
std::string_view last_word(std::string_view line) {
  std::size_t begin = line.size();
  while (begin > 0 && is_word_character(line[begin - 1])) --begin;
  return line.substr(begin);
}

/// Returns the end of the raw string whose quotation mark is at `quote`, `)mark"`; empty if none
/// begins there.
std::string raw_string_end(std::string_view text, std::size_t quote) {
  constexpr std::size_t kMaxDelimiter = 16;
  const std::size_t length = text.substr(quote, kMaxDelimiter + 2).find('(');
  if (length == std::string_view::npos) return {};
  return ")" + std::string(text.substr(quote + 1, length - 1)) + "\"";
}

/// Returns true if, on a preprocessor line, the name of a header follows `line`, in which // and /*
/// begin no comment.
bool names_header_next(std::string_view line) {
  static constexpr std::array<std::string_view, 7> kBefore = {
      "include",        "include_next",        "import",      "embed",
      "__has_include(", "__has_include_next(", "__has_embed("};
  std::string letters;
  for (const char c : line.substr(line.size() - std::min<std::size_t>(line.size(), 40))) {
    if (!is_blank(c)) letters += c;
  }
  return std::ranges::any_of(kBefore,
                             [&](std::string_view before) { return letters.ends_with(before); });
}

/// Appends to `line` what the preprocessor sees of a preprocessor line from `at` on, including a
/// comment of several lines. Returns its end, before the line feed.
std::size_t scan_directive(std::string_view text, std::size_t at, std::string& line) {
  while (at < text.size() && text[at] != '\n') {
    const std::string_view rest = text.substr(at);
    std::size_t length = 1;
    if (rest.starts_with("//")) return end_of_line(text, at);
    if (rest.starts_with("/*")) {
      at = behind(text, "*/", at + 2);
      line += ' ';
      continue;
    }
    if (const std::size_t spliced = splice(rest)) {
      at += spliced;
      continue;
    }
    if (begins_number(rest) && (line.empty() || !is_word_character(line.back()))) {
      length = behind_number(text, at) - at;
    } else if (rest[0] == '"' && is_raw_prefix(last_word(line))) {
      const std::string_view line_left = rest.substr(0, rest.find('\n'));
      const std::string mark = raw_string_end(text, at);
      length = mark.empty() ? behind_quote(text, at) - at : behind(line_left, mark, 0);
    } else if (rest[0] == '"' || rest[0] == '\'') {
      length = behind_quote(text, at) - at;
    } else if (rest[0] == '<' && names_header_next(line)) {
      const std::size_t end = rest.find_first_of(">\n");
      if (end != std::string_view::npos && rest[end] == '>') length = end + 1;
    }
    line += rest.substr(0, length);
    at += length;
  }
  return std::min(at, text.size());
}

class Scanner {
 public:
  explicit Scanner(std::string_view text)
      : text_(text), at_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0) {}

  CppTokens tokens() {
    CppTokens tokens;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        advance_to(at_ + 1);
        begins_line_ = true;
      } else if (is_blank(c)) {
        ++at_;
      } else if (const std::size_t spliced = splice(text_.substr(at_))) {
        advance_to(at_ + spliced);
      } else if (c == '/' && starts_with("//")) {
        advance_to(end_of_line(text_, at_));
      } else if (c == '/' && starts_with("/*")) {
        advance_to(behind(text_, "*/", at_ + 2));
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

  void advance_to(std::size_t end) {
    end = std::min(end, text_.size());
    line_ += static_cast<std::size_t>(std::ranges::count(text_.substr(at_, end - at_), '\n'));
    at_ = end;
  }

  CppToken::Kind take() {
    const char c = text_[at_];
    if (begins_line_ && (c == '#' || starts_with("%:"))) {
      std::string line;
      advance_to(scan_directive(text_, at_, line));
      return CppToken::Kind::directive;
    }
    if (c == '"' || c == '\'') {
      advance_to(behind_quote(text_, at_));
      return CppToken::Kind::literal;
    }
    if (begins_number(text_.substr(at_))) {
      at_ = behind_number(text_, at_);
      return CppToken::Kind::number;
    }
    if (is_word_character(c)) return take_word();
    at_ += symbol_length();
    return CppToken::Kind::symbol;
  }

  CppToken::Kind take_word() {
    std::size_t end = at_;
    while (end < text_.size() && is_word_character(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    const char next = end < text_.size() ? text_[end] : '\0';
    if (next == '"' && is_raw_prefix(word)) {
      if (const std::string mark = raw_string_end(text_, end); !mark.empty()) {
        advance_to(behind(text_, mark, end + mark.size() - 1));
        return CppToken::Kind::literal;
      }
    }
    if ((next == '"' || next == '\'') && is_one_of(word, {"u8", "u", "U", "L"})) {
      advance_to(behind_quote(text_, end));
      return CppToken::Kind::literal;
    }
    at_ = end;
    return CppToken::Kind::word;
  }

  std::size_t symbol_length() const {
    constexpr std::string_view kBeforeEqual = "=!<>+-*/%&|^";
    constexpr std::string_view kTwice = "+-:&|";
    const char first = text_[at_];
    const char second = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    const bool is_double = (second == '=' && kBeforeEqual.find(first) != std::string_view::npos) ||
                           (second == first && kTwice.find(first) != std::string_view::npos) ||
                           (first == '-' && second == '>');
    return is_double ? 2 : 1;
  }

  std::string_view text_;
  std::size_t at_;
  std::size_t line_ = 1;
  bool begins_line_ = true;
};

}  // namespace

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

CppTokens cpp_tokens(std::string_view text) { return Scanner(text).tokens(); }

std::string joined_lines(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string joined;
  std::size_t taken = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t spliced = splice(text.substr(at))) {
      at += spliced;
      ++taken;
      continue;
    }
    // A part ends before a backslash or behind its line.
    std::size_t end = std::min(text.find_first_of("\\\n", at), text.size());
    if (end < text.size() && (end == at || text[end] == '\n')) ++end;
    joined += text.substr(at, end - at);
    if (joined.back() == '\n') joined.append(std::exchange(taken, 0), '\n');
    at = end;
  }
  return joined;
}

bool is_told_apart(std::string_view joined) {
  constexpr int kMaxRawStrings = 100;  // Most raw strings on a line; the end of each is looked for.
  for (std::size_t begin = 0; begin < joined.size();) {
    const std::size_t end = std::min(joined.find('\n', begin), joined.size());
    const std::string_view line = joined.substr(begin, end - begin);
    begin = end + 1;
    // On a preprocessor line, < may begin a name as well.
    const std::size_t quote = std::min(line.find_first_of("\"'"),
                                       line.find('<', std::min(line.find('#'), line.find("%:"))));
    if (quote == std::string_view::npos) continue;
    const std::size_t open = line.rfind("/*");
    const bool opens = open != std::string_view::npos && open > quote;
    if (opens && line.find("*/", open + 2) == std::string_view::npos) return false;
    int raw_strings = 0;
    for (std::size_t at = line.find('"'); at != std::string_view::npos;
         at = line.find('"', at + 1)) {
      if (!is_raw_prefix(last_word(line.substr(0, at)))) continue;
      const std::string mark = raw_string_end(line, at);
      if (mark.empty() || line.find(mark, at) == std::string_view::npos) return false;
      if (++raw_strings > kMaxRawStrings) return false;
    }
  }
  return true;
}

std::string directive_line(std::string_view text) {
  std::string line;
  scan_directive(text, 0, line);
  return line;
}

std::size_t closing(const CppTokens& tokens, std::size_t open) {
  if (open >= tokens.size()) return tokens.size();
  const bool is_angle = tokens[open].is("<");
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const CppToken& token = tokens[i];
    if (token.kind != CppToken::Kind::symbol) continue;
    if (is_angle && token.is("<")) ++depth;
    if (is_angle && token.is(">") && --depth == 0) return i;
    if (is_angle && token.is(";", "{", ")")) return tokens.size();
    if (is_angle && token.is("(", "[")) {
      i = closing(tokens, i);
      continue;
    }
    if (is_angle) continue;
    if (token.is("(", "[", "{")) ++depth;
    if (token.is(")", "]", "}") && --depth == 0) return i;
  }
  return tokens.size();
}

std::size_t opening(const CppTokens& tokens, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    const CppToken& token = tokens[i];
    if (token.is(")", "]", "}")) ++depth;
    if (token.is("(", "[", "{")) --depth;
    if (depth == 0) return i;
  }
  return kNoToken;
}

std::size_t opening_angle(const CppTokens& tokens, std::size_t close, std::size_t first) {
  constexpr std::size_t kMost = 1000;
  int depth = 0;
  for (std::size_t i = close + 1; i-- > first && close - i < kMost;) {
    if (tokens[i].is(">")) ++depth;
    if (tokens[i].is("<") && --depth == 0) return i;
    if (tokens[i].is(";", "{")) break;
  }
  return kNoToken;
}

std::vector<TokenRange> split(const CppTokens& tokens, TokenRange range) {
  std::vector<TokenRange> parts;
  std::size_t begin = range.first;
  for (std::size_t i = range.first; i < range.end; ++i) {
    const CppToken& token = tokens[i];
    if (token.is("(", "[", "{")) i = std::min(closing(tokens, i), range.end);
    if (token.is("<")) {
      const std::size_t close = closing(tokens, i);
      if (close < range.end) i = close;
    }
    if (i < range.end && tokens[i].is(",")) {
      parts.push_back({begin, i});
      begin = i + 1;
    }
  }
  if (begin < range.end) parts.push_back({begin, range.end});
  return parts;
}

std::string joined(const CppTokens& tokens, TokenRange range) {
  std::string text;
  for (std::size_t i = range.first; i < range.end && i < tokens.size(); ++i) {
    if (i > range.first && tokens[i].begin > tokens[i - 1].end()) text += ' ';
    const bool is_number = tokens[i].kind == CppToken::Kind::number;
    for (const char c : tokens[i].text) {
      if (!is_number || c != '\'') text += c;
    }
  }
  return text;
}

std::vector<std::string> texts(const CppTokens& tokens, const std::vector<TokenRange>& ranges) {
  std::vector<std::string> result;
  for (const TokenRange& range : ranges) result.push_back(joined(tokens, range));
  return result;
}

void blank(std::string& text, std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

std::vector<std::string_view> identifiers(std::string_view text) {
  std::vector<std::string_view> result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word_character(text[end])) ++end;
    // A number's suffix, as in 1ull, is not a name.
    if (end > i && !is_digit(text[i])) result.push_back(text.substr(i, end - i));
    i = end > i ? end : i + 1;
  }
  return result;
}

}  // namespace smemtune
