#pragma once

#include "tuner/init/parsed_source.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

/// A statement or expression as clang reads it, without casts, parentheses and conversions.
struct Syntax {
  enum class Kind {
    block,     ///< Parts: statements, or the variables of one declaration. `text`: its first token.
    variable,  ///< `text`: its name. Part: its initial value, if it has one.
    branch,    ///< Parts: condition, then, and else if there is one.
    loop,      ///< `text`: for, while or do. Parts: see below; one that is missing is empty.
    list_loop,    ///< Parts: variable, list, body.
    choice,       ///< switch. The last part is its body, with blocks for `case` and `default`.
    leave,        ///< return, as its text says; break, continue, goto
    assignment,   ///< `text`: `=`, `+=`, ...
    unary,        ///< `text`: its sign, `++` on either side.
    binary,       ///< `text`: its sign.
    conditional,  ///< `a ? b : c`
    element,      ///< Parts: array, index.
    member,       ///< `text`: its name. Part: the object, if it is written.
    call,         ///< `text`: the function's name without namespaces. Parts: function, arguments.
    name,
    literal,
    other  ///< Anything else, with its expressions as parts.
  };
  static constexpr std::size_t kBeginning = 0, kCondition = 1, kStep = 2,
                               kBody = 3;  // A loop's parts.

  Kind kind = Kind::other;
  std::string text = {};
  std::vector<Syntax> parts = {};
  TokenRange range = {};  ///< Without parentheses around all of it.
  TokenRange whole = {};  ///< The range includes parentheses and casts.
  CXCursor cursor = {};

  bool is(Kind other, std::string_view its_text) const { return kind == other && text == its_text; }
  bool is_name(std::string_view its_text) const { return is(Kind::name, its_text); }
  /// Returns true for `++a` and `a--`.
  bool steps() const { return is(Kind::unary, "++") || is(Kind::unary, "--"); }
  bool is_empty() const { return kind == Kind::other && parts.empty() && range.empty(); }
};

/// Returns the syntax of a cursor. What lies deeper in it than any program is left out.
Syntax syntax_of(const ParsedSource& source, CXCursor cursor);

/// Returns the name and the first value of a loop's counter, of `int k = 0` or `k = 0`; nullptr if
/// the loop begins otherwise.
std::pair<std::string, const Syntax*> counted_from(const Syntax& loop);

/// Returns the tokens of a block before each of its parts, and those behind the last: what clang
/// could not resolve and left out.
std::vector<TokenRange> gaps_in(const Syntax& block);

/// Calls `use` for a syntax and all of its parts, the whole first.
void for_each(const Syntax& syntax, const std::function<void(const Syntax&)>& use);

/// Returns true if `holds` is true for the syntax or one of its parts.
bool has_any(const Syntax& syntax, const std::function<bool(const Syntax&)>& holds);

}  // namespace smemtune
