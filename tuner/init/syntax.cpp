#include "tuner/init/syntax.h"

#include <algorithm>
#include <utility>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;

constexpr int kDeepest = 1000;

bool is_assignment(std::string_view sign) {
  return sign.ends_with('=') && !is_one_of(sign, {"==", "!=", "<=", ">="});
}

/// Returns true for a child that is an expression or a statement of its own.
bool is_part(CXCursor child) {
  const CXCursorKind kind = ParsedSource::kind(child);
  return (kind >= CXCursor_FirstExpr && kind <= CXCursor_LastExpr) ||
         (kind >= CXCursor_FirstStmt && kind <= CXCursor_LastStmt) || kind == CXCursor_VarDecl;
}

class Builder {
 public:
  explicit Builder(const ParsedSource& source) : source_(source), tokens_(source.tokens()) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the source's statements, within a limit.
  Syntax build(CXCursor cursor) {
    if (depth_ == kDeepest) return {};
    ++depth_;
    Syntax built = whole(cursor);
    built.whole = source_.range(cursor);
    --depth_;
    return built;
  }

 private:
  struct Child {
    CXCursor cursor;
    TokenRange range;
  };

  std::vector<Child> children(CXCursor cursor) const {
    std::vector<Child> children;
    for (const CXCursor child : ParsedSource::children(cursor)) {
      const TokenRange range = source_.range(child);
      if (!is_part(child) || range.empty()) continue;
      // The function behind a class's operator stands where the operator does.
      const bool is_sign = tokens_[range.first].kind == CppToken::Kind::symbol &&
                           ParsedSource::name(child).starts_with("operator") &&
                           (range.end <= range.first + 2 || tokens_[range.first].is("["));
      if (!is_sign) children.push_back({child, range});
    }
    return children;
  }

  Syntax whole(CXCursor cursor) {
    const TokenRange range = source_.range(cursor);
    Syntax syntax = {.range = range, .cursor = cursor};
    switch (ParsedSource::kind(cursor)) {
      case CXCursor_CompoundStmt:
      case CXCursor_DeclStmt:
      case CXCursor_CXXTryStmt:
      case CXCursor_LabelStmt:
      case CXCursor_CaseStmt:
      case CXCursor_DefaultStmt:
        syntax.kind = Kind::block;
        syntax.text = range.empty() ? "" : std::string(tokens_[range.first].text);
        add_parts(children(cursor), syntax);
        return syntax;
      case CXCursor_SwitchStmt:
      case CXCursor_CXXForRangeStmt:
        syntax.kind =
            ParsedSource::kind(cursor) == CXCursor_SwitchStmt ? Kind::choice : Kind::list_loop;
        add_parts(children(cursor), syntax);
        return syntax;
      case CXCursor_CXXCatchStmt:  // Nothing runs through it if all goes well.
        return syntax;
      case CXCursor_VarDecl:
        return variable(std::move(syntax));
      case CXCursor_IfStmt:
        return branch(std::move(syntax));
      case CXCursor_ForStmt:
      case CXCursor_WhileStmt:
      case CXCursor_DoStmt:
        return loop(std::move(syntax));
      case CXCursor_ReturnStmt:
      case CXCursor_BreakStmt:
      case CXCursor_ContinueStmt:
      case CXCursor_GotoStmt:
        syntax.kind = Kind::leave;
        if (ParsedSource::kind(cursor) == CXCursor_ReturnStmt) syntax.text = "return";
        add_parts(children(cursor), syntax);
        return syntax;
      case CXCursor_UnaryExpr:  // `sizeof` uses no value.
        return syntax;
      default:
        return expression(std::move(syntax));
    }
  }

  void add_parts(const std::vector<Child>& children, Syntax& syntax) {
    for (const Child& child : children) syntax.parts.push_back(build(child.cursor));
  }

  /// Reads `name = value`, `name(value)`, `name[n] = {...}`.
  Syntax variable(Syntax syntax) {
    syntax.kind = Kind::variable;
    syntax.text = ParsedSource::name(syntax.cursor);
    std::size_t i = syntax.range.first;
    while (i < syntax.range.end && !tokens_[i].is(syntax.text)) ++i;
    const std::size_t name = i;
    if (i++ == syntax.range.end) i = 0;  // A macro declares it.
    while (i < syntax.range.end && tokens_[i].is("[")) i = closing(tokens_, i) + 1;
    for (const Child& child : children(syntax.cursor)) {
      if (child.range.first == name) {  // A constructor's call, with its arguments.
        add_parts(children(child.cursor), syntax);
      } else if (child.range.first >= i) {
        syntax.parts.push_back(build(child.cursor));
      }
    }
    return syntax;
  }

  /// Returns the tokens between the parentheses of `if (...)`.
  TokenRange header(TokenRange statement) const {
    std::size_t open = statement.first;
    while (open < statement.end && !tokens_[open].is("(")) ++open;
    return {open + 1, std::min(closing(tokens_, open), statement.end)};
  }

  Syntax branch(Syntax syntax) {
    syntax.kind = Kind::branch;
    const TokenRange head = header(syntax.range);
    syntax.parts.emplace_back();
    for (const Child& child : children(syntax.cursor)) {
      Syntax part = build(child.cursor);
      if (child.range.first < head.end) {
        syntax.parts.front() = std::move(part);
      } else {
        syntax.parts.push_back(std::move(part));
      }
    }
    return syntax;
  }

  Syntax loop(Syntax syntax) {
    syntax.kind = Kind::loop;
    syntax.parts.resize(4);
    const std::vector<Child> all = children(syntax.cursor);
    if (all.empty() || syntax.range.empty()) return syntax;
    const CXCursorKind kind = ParsedSource::kind(syntax.cursor);
    const bool is_do = kind == CXCursor_DoStmt;
    syntax.text = is_do ? "do" : kind == CXCursor_ForStmt ? "for" : "while";
    const Child& body = is_do ? all.front() : all.back();
    const TokenRange head =
        header(is_do ? TokenRange{body.range.end, syntax.range.end} : syntax.range);
    for (const Child& child : all) {
      std::size_t place = Syntax::kCondition;
      if (&child == &body) {
        place = Syntax::kBody;
      } else if (syntax.text == "for") {
        place = 0;  // The number of semicolons before it.
        for (std::size_t i = head.first; i < child.range.first; ++i) {
          if (tokens_[i].is(";")) ++place;
        }
      }
      if (place < syntax.parts.size()) syntax.parts[place] = build(child.cursor);
    }
    return syntax;
  }

  /// Returns the tokens of a range without blanks.
  std::string sign(std::size_t first, std::size_t end) const {
    std::string text;
    for (std::size_t i = first; i < end; ++i) text += tokens_[i].text;
    return text;
  }

  Syntax expression(Syntax syntax) {
    const CXCursorKind kind = ParsedSource::kind(syntax.cursor);
    const std::vector<Child> all = children(syntax.cursor);
    const bool is_reference = kind == CXCursor_DeclRefExpr && !syntax.range.empty();
    if (is_reference) {
      syntax.kind = Kind::name;
      syntax.text = plain_name(syntax.range);
      return syntax;
    }
    if (kind == CXCursor_MemberRefExpr) {
      syntax.kind = Kind::member;
      syntax.text = ParsedSource::name(syntax.cursor);
      add_parts(all, syntax);
      return syntax;
    }
    if (syntax.range.empty() || all.empty()) return leaf(std::move(syntax));
    const bool is_cast = kind >= CXCursor_CXXStaticCastExpr && kind <= CXCursor_CXXConstCastExpr;
    const bool is_plain = kind == CXCursor_CStyleCastExpr || kind == CXCursor_ParenExpr;
    if (is_cast || is_plain) return build(all.back().cursor);
    return all.size() == 1 ? of_one(std::move(syntax), all[0]) : of_several(std::move(syntax), all);
  }

  /// Returns the name in `ns::name<A, B>`.
  std::string plain_name(TokenRange range) const {
    std::size_t name = range.first;
    while (name + 2 < range.end && tokens_[name + 1].is("::")) name += 2;
    if (tokens_[name].is("::") && name + 1 < range.end) ++name;
    return std::string(tokens_[name].text);
  }

  Syntax leaf(Syntax syntax) {
    const TokenRange range = syntax.range;
    if (range.empty()) return syntax;
    const bool is_call = range.end > range.first + 2 && tokens_[range.end - 1].is(")") &&
                         tokens_[range.end - 2].is("(");
    syntax.text = is_call ? plain_name({range.first, range.end - 2}) : joined(tokens_, range);
    const CXCursorKind kind = ParsedSource::kind(syntax.cursor);
    const bool is_literal =
        (kind >= CXCursor_IntegerLiteral && kind <= CXCursor_CharacterLiteral) ||
        kind == CXCursor_CXXBoolLiteralExpr;
    syntax.kind = is_literal                       ? Kind::literal
                  : is_call                        ? Kind::call
                  : range.end > range.first + 1    ? Kind::other
                  : tokens_[range.first].is_word() ? Kind::name
                                                   : Kind::literal;
    if (is_call) {
      syntax.parts.push_back({.kind = Kind::name, .text = syntax.text, .range = range});
    }
    return syntax;
  }

  /// Reads `-a`, `a++`, `f()`, `T(a)`, `(T)a`, `a.b` of a type that is not known.
  Syntax of_one(Syntax syntax, const Child& child) {
    const TokenRange range = syntax.range;
    const std::string before = sign(range.first, child.range.first);
    const std::string behind = sign(child.range.end, range.end);
    const bool is_unary = is_one_of(before, {"++", "--", "*", "&", "-", "+", "!", "~"}) ||
                          (before.empty() && (behind == "++" || behind == "--"));
    Syntax inner = build(child.cursor);
    if (is_unary) {
      syntax.kind = Kind::unary;
      syntax.text = before.empty() ? behind : before;
    } else if (before.empty() && (behind.starts_with(".") || behind.starts_with("->"))) {
      syntax.kind = Kind::member;
      syntax.text = tokens_[range.end - 1].text;
    } else if (before.empty() && behind == "()") {
      syntax.kind = Kind::call;
      syntax.text = inner.text;
    } else if (before.ends_with("(") && before.size() > 1 && !before.ends_with(">(") &&
               tokens_[range.first].is_word()) {
      return call_of(std::move(syntax), {child});
    } else {
      return inner;  // A cast, parentheses, a conversion.
    }
    syntax.parts.push_back(std::move(inner));
    return syntax;
  }

  /// Reads the call of a constructor.
  Syntax call_of(Syntax syntax, const std::vector<Child>& arguments) {
    syntax.kind = Kind::call;
    syntax.text = plain_name(syntax.range);
    syntax.parts.push_back({.kind = Kind::name, .text = syntax.text, .range = syntax.range});
    add_parts(arguments, syntax);
    return syntax;
  }

  Syntax of_several(Syntax syntax, const std::vector<Child>& all) {
    const std::string between = sign(all[0].range.end, all[1].range.first);
    const std::string before = sign(syntax.range.first, all[0].range.first);
    const bool is_constructor = before.ends_with("(") && before.size() > 1;
    if (is_constructor) return call_of(std::move(syntax), all);
    add_parts(all, syntax);
    const bool has_two = all.size() == 2;
    if (between == "?") {
      syntax.kind = Kind::conditional;
    } else if (between == "[" && has_two) {
      syntax.kind = Kind::element;
    } else if (between.ends_with("(") && before.empty()) {
      syntax.kind = Kind::call;
      syntax.text = syntax.parts.front().text;
    } else if (has_two && before.empty() && !between.empty() && between != "," &&
               between.find_first_of("(){};") == std::string::npos) {
      syntax.kind = is_assignment(between) ? Kind::assignment : Kind::binary;
      syntax.text = between;
    }
    return syntax;
  }

  const ParsedSource& source_;
  const CppTokens& tokens_;
  int depth_ = 0;
};

}  // namespace

Syntax syntax_of(const ParsedSource& source, CXCursor cursor) {
  return Builder(source).build(cursor);
}

std::pair<std::string, const Syntax*> counted_from(const Syntax& loop) {
  const Syntax* first = &loop.parts[Syntax::kBeginning];
  if (first->kind == Kind::block && first->parts.size() == 1) first = first->parts.data();
  if (first->kind == Kind::variable && first->parts.size() == 1) {
    return {first->text, first->parts.data()};
  }
  if (!first->is(Kind::assignment, "=")) return {};
  return {first->parts[0].text, &first->parts[1]};
}

std::vector<TokenRange> gaps_in(const Syntax& block) {
  std::vector<TokenRange> gaps;
  std::size_t read = block.range.first;
  for (const Syntax& part : block.parts) {
    gaps.push_back({read, part.whole.first});
    read = std::max(read, part.whole.end);
  }
  gaps.push_back({read, block.range.end});
  return gaps;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
void for_each(const Syntax& syntax, const std::function<void(const Syntax&)>& use) {
  use(syntax);
  for (const Syntax& part : syntax.parts) for_each(part, use);
}

// NOLINTNEXTLINE(misc-no-recursion): likewise.
bool has_any(const Syntax& syntax, const std::function<bool(const Syntax&)>& holds) {
  return holds(syntax) || std::ranges::any_of(syntax.parts, [&](const Syntax& part) {
           return has_any(part, holds);
         });
}

}  // namespace smemtune
