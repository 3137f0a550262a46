#include "tuner/core/tokens.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace smemtune {
namespace {

constexpr std::uint64_t kTwoTo63 = std::uint64_t{1} << 63;

// Sorted by length, longest first, so that `**` is not read as two `*`.
constexpr std::array<std::string_view, 30> kSymbols = {
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%",
    "<",  ">",  "!",  "~",  "&",  "|",  "^",  "?",  ":",  "(",  ")", "[", "]", ",", "="};

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  std::vector<Token> tokens() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      tokens.push_back(next());
      if (tokens.back().kind == Token::Kind::end) return tokens;
    }
  }

 private:
  char letter(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  Token token(Token::Kind kind, std::size_t end) {
    const Token token = {.kind = kind, .text = text_.substr(at_, end - at_), .column = at_ + 1};
    at_ = end;
    return token;
  }

  Token next() {
    if (at_ == text_.size()) return token(Token::Kind::end, at_);
    const char first = text_[at_];
    if (is_digit(first) || (first == '.' && is_digit(letter(at_ + 1)))) return number();
    if (is_letter(first)) {
      std::size_t end = at_;
      while (is_letter(letter(end)) || is_digit(letter(end)) || is_dot_in_name(end)) ++end;
      const std::string_view name = text_.substr(at_, end - at_);
      const bool is_operator = name == "and" || name == "or" || name == "not";
      return token(is_operator ? Token::Kind::symbol : Token::Kind::name, end);
    }
    if (first == '\'' || first == '"') return quoted_word(first);
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) == symbol) {
        return token(Token::Kind::symbol, at_ + symbol.size());
      }
    }
    fail_at(text_, at_ + 1, "unexpected character " + in_quotes(text_.substr(at_, 1)));
  }

  /// Names of facts have dots: `energy.mean_watts`.
  bool is_dot_in_name(std::size_t at) const {
    return letter(at) == '.' && is_letter(letter(at + 1));
  }

  Token quoted_word(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail_at(text_, at_ + 1, "the quote is never closed");
    Token word = token(Token::Kind::quoted, end + 1);
    word.text = word.text.substr(1, word.text.size() - 2);
    return word;
  }

  Token number() {
    const bool is_hexadecimal = letter(at_) == '0' && (letter(at_ + 1) | 0x20) == 'x';
    std::size_t end = at_;
    bool is_real = false;
    if (is_hexadecimal) {
      end += 2;
    } else {
      while (is_digit(letter(end))) ++end;
      if (letter(end) == '.') {
        is_real = true;
        for (++end; is_digit(letter(end));) ++end;
      }
      const std::size_t sign = letter(end + 1) == '+' || letter(end + 1) == '-' ? 1 : 0;
      if ((letter(end) | 0x20) == 'e' && is_digit(letter(end + 1 + sign))) {
        is_real = true;
        for (end += 2 + sign; is_digit(letter(end));) ++end;
      }
    }
    while (is_letter(letter(end)) || is_digit(letter(end))) ++end;
    Token number = token(is_real ? Token::Kind::real : Token::Kind::integer, end);
    read_value(number, is_hexadecimal);
    return number;
  }

  void read_value(Token& number, bool is_hexadecimal) const {
    const std::string shown = in_quotes(number.text);
    std::string_view digits = number.text;
    if (is_hexadecimal) digits.remove_prefix(2);
    const char* const end = digits.data() + digits.size();
    if (number.kind == Token::Kind::real) {
      const auto [rest, error] = std::from_chars(digits.data(), end, number.real);
      if (error != std::errc{}) fail_at(text_, number.column, shown + " is out of range");
      if (rest != end) fail_at(text_, number.column, shown + " is not a number");
      return;
    }
    if (!is_hexadecimal && digits.size() > 1 && digits.front() == '0') {
      fail_at(text_, number.column,
              shown + " has a leading zero, which means octal to some and decimal to others");
    }
    const auto [rest, error] =
        std::from_chars(digits.data(), end, number.integer, is_hexadecimal ? 16 : 10);
    if (error == std::errc::invalid_argument || rest != end) {
      fail_at(text_, number.column, shown + " is not a number");
    }
    if (error != std::errc{} || number.integer > kTwoTo63) {
      fail_at(text_, number.column, shown + " is out of the range of 64-bit integers");
    }
    number.real = static_cast<double>(number.integer);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

void fail_at(std::string_view text, std::size_t column, const std::string& message) {
  constexpr std::size_t kShown = 160;
  std::string shown(text);
  if (shown.size() > kShown) {
    const std::size_t begin = std::min(column > kShown / 2 ? column - kShown / 2 : 0,  //
                                       shown.size() - kShown);
    const bool reaches_end = begin + kShown == shown.size();
    shown = (begin > 0 ? "..." : "") + shown.substr(begin, kShown) + (reaches_end ? "" : "...");
  }
  throw ExpressionError(in_quotes(shown) + " column " + std::to_string(column) + ": " + message);
}

TokenStream::TokenStream(std::string_view text) : text_(text) {
  if (text.size() > kMaxCharacters) {
    fail_at(text, kMaxCharacters + 1,
            "the text has " + std::to_string(text.size()) + " characters, at most " +
                std::to_string(kMaxCharacters) + " are allowed");
  }
  tokens_ = Tokenizer(text).tokens();
}

const Token& TokenStream::peek(std::size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

Token TokenStream::take() {
  const Token token = peek();
  ++position_;
  return token;
}

bool TokenStream::take_if(std::string_view symbol) {
  if (!peek().is(symbol)) return false;
  ++position_;
  return true;
}

void TokenStream::expect(std::string_view symbol) {
  if (take_if(symbol)) return;
  const Token& found = peek();
  const bool at_end = found.kind == Token::Kind::end;
  fail(found.column, "expected " + in_quotes(symbol) +
                         (at_end ? " at the end" : " before " + in_quotes(found.text)));
}

void TokenStream::expect_end() const {
  const Token& found = peek();
  if (found.kind == Token::Kind::end) return;
  if (found.is("=")) fail(found.column, "'=' is not an operator; did you mean '=='?");
  fail(found.column, "expected an operator before " + in_quotes(found.text));
}

void TokenStream::fail(std::size_t column, const std::string& message) const {
  fail_at(text_, column, message);
}

Nesting::Nesting(const TokenStream& tokens, std::size_t& depth) : depth_(depth) {
  if (depth_ == kMaxDepth) {
    tokens.fail(tokens.peek().column,
                "nested more than " + std::to_string(kMaxDepth) + " levels deep");
  }
  ++depth_;
}

}  // namespace smemtune
