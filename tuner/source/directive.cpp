#include "tuner/source/directive.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace smemtune {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Returns the header's name with its marks at the beginning of `text`, or an empty text.
std::string_view header_name(std::string_view text) {
  if (text.size() < 2 || (text.front() != '<' && text.front() != '"')) return {};
  constexpr std::size_t kMaxBytes = 4096;  // Length of a path.
  const std::size_t end = text.substr(0, kMaxBytes).find(text.front() == '<' ? '>' : '"', 1);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

constexpr std::string_view kHasInclude = "__has_include";
constexpr std::string_view kHeaderLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";

/// Returns true if the name in <...>, which the compiler looks for among its own headers, can lead
/// nowhere else.
bool is_plain(std::string_view name) {
  return !name.empty() && name.front() != '/' && name.find("..") == std::string_view::npos &&
         name.find_first_not_of(kHeaderLetters) == std::string_view::npos;
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

/// Returns true for a macro of the toolkit's that asks for a header: _CCCL_HAS_INCLUDE.
bool stands_for_has_include(std::string_view word) {
  return word.find("HAS_INCLUDE") != std::string_view::npos ||
         (word.find("has_include") != std::string_view::npos && !word.starts_with(kHasInclude));
}

/// Returns true if an expression contains a header's name, something from which the preprocessor
/// can make one, or another name of __has_include.
bool may_ask_for_header(std::string_view text) {
  if (text.find_first_of("\"#") != std::string_view::npos) return true;
  if (text.find("%:") != std::string_view::npos) return true;
  if (std::ranges::any_of(identifiers(text), stands_for_has_include)) return true;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    const std::string_view marked = header_name(text.substr(at));
    if (marked.size() > 2 && marked.find_first_not_of(kHeaderLetters, 1) == marked.size() - 1) {
      return true;
    }
  }
  return false;
}

/// Returns the header that `__has_include` at `word` of `text` asks for, as in `("x.h"`; empty if
/// that is not clear.
std::string_view asked_header(std::string_view text, std::string_view word) {
  const auto end = static_cast<std::size_t>(word.data() - text.data()) + word.size();
  const std::string_view after = without_blanks(text.substr(end));
  return after.starts_with('(') ? header_name(without_blanks(after.substr(1))) : std::string_view();
}

/// Reads the directives of one text.
class IncludeReader {
 public:
  std::vector<Include> read(std::string_view text, std::span<const PlacedDirective> directives) {
    for (const auto& [directive, line, is_cut] : directives) {
      read_directive(directive, line);
      if (is_cut && (directive.name.empty() || directive.asks())) {
        refuse(line, "#" + directive.name,
               "a comment of several lines in it, where compilers could differ on what is one");
      }
    }
    refuse_where(text, std::string_view("\0", 1), "a NUL character, at which some compilers stop");
    for (const std::string_view trigraph : {"?"
                                            "?=",
                                            "?"
                                            "?/"}) {
      refuse_where(text, trigraph,
                   "a trigraph, which only some compilers read; write the character itself");
    }
    return std::move(found_);
  }

 private:
  void refuse(std::size_t line, std::string name, std::string why) {
    found_.push_back({.line = line, .name = std::move(name), .refusal = std::move(why)});
  }

  void refuse_where(std::string_view text, std::string_view what, const char* why) {
    const std::size_t at = text.find(what);
    if (at == std::string_view::npos) return;
    const auto line = std::count(text.begin(), text.begin() + static_cast<long>(at), '\n') + 1;
    refuse(static_cast<std::size_t>(line), std::string(what), why);
  }

  void read_directive(const Directive& directive, std::size_t line) {
    if (directive.rest.starts_with('\\')) {
      refuse(line, directive.name + directive.rest, "a directive's name is written in letters");
    } else if (directive.name == "include") {
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

  /// Reads `__has_include("x.h")`; `defined(__has_include)` asks for nothing.
  void read_questions(const Directive& directive, std::size_t line) {
    const std::string_view rest = directive.rest;
    for (const std::string_view word : identifiers(rest)) {
      if (!word.starts_with(kHasInclude) && word != "__has_embed") continue;
      const auto at = static_cast<std::size_t>(word.data() - rest.data());
      std::string_view before = without_blanks(rest.substr(0, at));
      if (before.ends_with('(')) before = without_blanks(before.substr(0, before.size() - 1));
      if (before.ends_with("defined") || directive.name.starts_with("ifdef") ||
          directive.name.starts_with("ifndef") || directive.name.starts_with("elifdef") ||
          directive.name.starts_with("elifndef")) {
        continue;
      }
      const std::string_view marked = asked_header(rest, word);
      if (!directive.asks() || word != kHasInclude || marked.empty()) {
        refuse(line, std::string(word), "it is not clear which file it asks for");
        continue;
      }
      found_.push_back(named(marked, line));
      found_.back().only_asked = true;
    }
  }

  std::vector<Include> found_;
};

/// Returns an #if's expression without its questions by name: for headers, and clang's for its
/// warnings.
std::string without_questions(const std::string& expression) {
  std::string_view rest = expression;
  std::string result;
  for (const std::string_view word : identifiers(expression)) {
    if (word != kHasInclude && word != "__has_warning") continue;
    const std::string_view marked = asked_header(expression, word);
    // It asks for none, or lies in another one's header name.
    if (marked.empty() || word.data() < rest.data()) continue;
    result.append(rest.data(), word.data());
    const char* const end = marked.data() + marked.size();
    rest = {end, static_cast<std::size_t>(expression.data() + expression.size() - end)};
  }
  return result + std::string(rest);
}

}  // namespace

bool Directive::asks() const { return name == "if" || name == "elif"; }

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

std::vector<PlacedDirective> directives_of(std::string_view text) {
  std::vector<PlacedDirective> found;
  const std::string joined = joined_lines(text);
  if (is_told_apart(joined)) {
    for (const CppToken& token : cpp_tokens(joined)) {
      if (token.kind != CppToken::Kind::directive) continue;
      found.push_back({.directive = directive_of(token), .line = token.line});
    }
    return found;
  }
  const std::string_view all = joined;
  std::size_t line = 1;
  // A directive begins its line, or follows the end of a comment.
  for (std::size_t at = 0; at < all.size(); ++at) {
    const bool begins_line = at == 0 || all[at - 1] == '\n';
    if (at > 0 && begins_line) ++line;
    if (!begins_line && !all.substr(0, at).ends_with("*/")) continue;
    const std::size_t begin = std::min(all.find_first_not_of(kBlanks, at), all.size());
    const std::string_view rest = all.substr(begin, all.find('\n', begin) - begin);
    if (!rest.starts_with('#') && !rest.starts_with("%:")) continue;
    const std::size_t comment = rest.rfind("/*");
    const bool is_cut =
        comment != std::string_view::npos && rest.find("*/", comment + 2) == std::string_view::npos;
    const CppToken token = {.kind = CppToken::Kind::directive, .text = rest, .line = line};
    found.push_back({.directive = directive_of(token), .line = line, .is_cut = is_cut});
  }
  return found;
}

std::vector<Include> includes_of(std::string_view text,
                                 std::span<const PlacedDirective> directives) {
  return IncludeReader().read(text, directives);
}

bool names_lines(std::string_view text) {
  return std::ranges::any_of(directives_of(text), [](const PlacedDirective& found) {
    const Directive& directive = found.directive;
    return directive.name == "line" || (directive.name.empty() && !directive.rest.empty());
  });
}

std::vector<Include> hidden_questions(std::span<const std::span<const PlacedDirective>> texts) {
  std::set<std::string, std::less<>> suspects;  // Macros that may make a header's name.
  // For each macro, the macros whose body names it.
  std::multimap<std::string, std::string, std::less<>> users;
  for (const std::span<const PlacedDirective> directives : texts) {
    for (const PlacedDirective& found : directives) {
      const std::string_view rest = found.directive.rest;
      const std::vector<std::string_view> names = identifiers(rest);
      if (found.directive.name != "define" || names.empty()) continue;
      const std::string name(names.front());
      const auto behind = static_cast<std::size_t>(names.front().data() - rest.data());
      const bool asks = may_ask_for_header(rest.substr(behind + name.size()));
      if (asks || found.is_cut) suspects.insert(name);
      for (const std::string_view used : std::set(names.begin() + 1, names.end())) {
        users.emplace(used, name);
      }
    }
  }
  std::vector<std::string> open(suspects.begin(), suspects.end());
  while (!open.empty()) {
    const auto [first, last] = users.equal_range(std::exchange(open.back(), {}));
    open.pop_back();
    for (auto user = first; user != last; ++user) {
      if (suspects.insert(user->second).second) open.push_back(user->second);
    }
  }
  std::vector<Include> found(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const PlacedDirective& asking : texts[i]) {
      if (!asking.directive.asks() || !found[i].refusal.empty()) continue;
      const std::string expression = without_questions(asking.directive.rest);
      bool is_suspect = may_ask_for_header(expression);
      std::string_view before;
      for (const std::string_view name : identifiers(expression)) {
        is_suspect = is_suspect || (before != "defined" && suspects.contains(name));
        before = name;
      }
      if (!is_suspect) continue;
      found[i] = {.line = asking.line,
                  .name = "#" + asking.directive.name + " " + asking.directive.rest,
                  .refusal = "its macros may ask for a file; ask with __has_include itself"};
    }
  }
  return found;
}

}  // namespace smemtune
