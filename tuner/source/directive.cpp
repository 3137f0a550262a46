#include "tuner/source/directive.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <utility>

namespace smemtune {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// The header's name with its marks at the beginning of `text`, or empty.
std::string_view header_name(std::string_view text) {
  if (text.size() < 2 || (text.front() != '<' && text.front() != '"')) return {};
  const std::size_t end = text.find(text.front() == '<' ? '>' : '"', 1);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

/// Of <...>, which the compiler looks for among its own headers: nothing that could lead elsewhere.
bool is_plain(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  return !name.empty() && name.front() != '/' && name.find("..") == std::string_view::npos &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

Include named(std::string_view marked, std::size_t line) {
  Include include = {.line = line,
                     .name = std::string(marked.substr(1, marked.size() - 2)),
                     .is_quoted = marked.front() == '"',
                     .refusal = {}};
  if (!include.is_quoted && !is_plain(include.name)) {
    include.refusal =
        "a header in < > is the compiler's own; name a file of yours in quotation marks";
  }
  return include;
}

/// Reads the directives of one text.
class IncludeReader {
 public:
  std::vector<Include> read(std::string_view text) {
    for (const CppToken& token : cpp_tokens(text)) {
      if (token.kind == CppToken::Kind::directive) {
        read_directive(directive_of(token), token.line);
      } else if (token.kind == CppToken::Kind::literal) {
        read_raw_string(token.text, token.line);
      }
    }
    for (const std::string_view trigraph : {"?"
                                            "?=",
                                            "?"
                                            "?/"}) {
      const std::size_t at = text.find(trigraph);
      if (at == std::string_view::npos) continue;
      const auto line = std::count(text.begin(), text.begin() + static_cast<long>(at), '\n') + 1;
      refuse(static_cast<std::size_t>(line), std::string(trigraph),
             "a trigraph, which only some compilers read; write the character itself");
    }
    return std::move(found_);
  }

 private:
  void refuse(std::size_t line, std::string name, std::string why) {
    found_.push_back({.line = line, .name = std::move(name), .refusal = std::move(why)});
  }

  void read_directive(const Directive& directive, std::size_t line) {
    if (directive.name == "include") {
      const std::string_view marked = header_name(directive.rest);
      if (!marked.empty()) {
        found_.push_back(named(marked, line));
      } else {
        refuse(line, directive.rest, "a macro decides which file this is; name the file");
      }
    } else if (directive.name == "include_next" || directive.name == "import" ||
               directive.name == "embed") {
      refuse(line, directive.rest, "#" + directive.name + " cannot be followed; use #include");
    }
    read_questions(directive, line);
  }

  /// `__has_include("x.h")`; `defined(__has_include)` asks for nothing.
  void read_questions(const Directive& directive, std::size_t line) {
    const std::string_view rest = directive.rest;
    for (const std::string_view word : identifiers(rest)) {
      if (!word.starts_with("__has_include") && word != "__has_embed") continue;
      const auto at = static_cast<std::size_t>(word.data() - rest.data());
      std::string_view before = without_blanks(rest.substr(0, at));
      if (before.ends_with('(')) before = without_blanks(before.substr(0, before.size() - 1));
      if (before.ends_with("defined") || directive.name.starts_with("ifdef") ||
          directive.name.starts_with("ifndef") || directive.name.starts_with("elifdef") ||
          directive.name.starts_with("elifndef")) {
        continue;
      }
      const std::string_view after = without_blanks(rest.substr(at + word.size()));
      const bool asks = directive.name == "if" || directive.name == "elif";
      const std::string_view marked = after.starts_with('(')
                                          ? header_name(without_blanks(after.substr(1)))
                                          : std::string_view();
      if (!asks || word != "__has_include" || marked.empty()) {
        refuse(line, std::string(word), "it is not clear which file it asks for");
        continue;
      }
      found_.push_back(named(marked, line));
      found_.back().only_asked = true;
    }
  }

  /// A lexer that passes over what #if leaves out line by line may see a directive where others see
  /// a raw string.
  void read_raw_string(std::string_view text, std::size_t first_line) {
    std::size_t line = first_line;
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at)) {
      ++line;
      const std::size_t begin = text.find_first_not_of(kBlanks, ++at);
      if (begin == std::string_view::npos) return;
      const std::string_view rest = text.substr(begin);
      if (!rest.starts_with('#') && !rest.starts_with("%:")) continue;
      const CppToken token = {.kind = CppToken::Kind::directive, .text = rest, .line = line};
      read_directive(directive_of(token), line);
    }
  }

  std::vector<Include> found_;
};

}  // namespace

bool Directive::is_conditional() const {
  return name.starts_with("if") || name.starts_with("el") || name == "endif";
}

Directive directive_of(const CppToken& token) {
  const std::string line = directive_line(token.text);
  std::string_view text = without_blanks(line);
  text = without_blanks(text.substr(text.starts_with("%:") ? 2 : text.starts_with('#') ? 1 : 0));
  const auto end = std::ranges::find_if_not(text, is_letter);
  const auto length = static_cast<std::size_t>(end - text.begin());
  return {.name = std::string(text.substr(0, length)),
          .rest = std::string(without_blanks(text.substr(length)))};
}

std::string included(const Directive& directive) {
  return std::string(header_name(directive.rest));
}

std::vector<Include> includes_of(std::string_view text) { return IncludeReader().read(text); }

}  // namespace smemtune
