#pragma once

#include "tuner/init/clang_library.h"
#include "tuner/source/cpp_tokens.h"
#include "tuner/source/flat_source.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// The syntax tree of a source as clang sees its host part, and its tokens. A header or a name that
/// is missing does not stop it.
class ParsedSource {
 public:
  explicit ParsedSource(const FlatSource& source);
  ~ParsedSource();
  ParsedSource(const ParsedSource&) = delete;
  ParsedSource& operator=(const ParsedSource&) = delete;

  CXCursor root() const { return clang().getTranslationUnitCursor(unit_); }
  const CppTokens& tokens() const { return tokens_; }

  /// Returns the cursor's parts in their order.
  static std::vector<CXCursor> children(CXCursor cursor);

  /// Returns the kind of a cursor, the name that it has or refers to.
  static CXCursorKind kind(CXCursor cursor) { return clang().getCursorKind(cursor); }
  static std::string name(CXCursor cursor) {
    return clang().text(clang().getCursorSpelling(cursor));
  }

  /// Returns a variable's type: `const int`.
  static std::string type(CXCursor cursor) {
    return clang().text(clang().getTypeSpelling(clang().getCursorType(cursor)));
  }

  /// Returns the type behind all names, pointers and arrays of a variable's: `float`.
  static std::string element_type(CXCursor cursor);

  /// Returns true if the cursor belongs to the text, not to a header of the system.
  static bool is_own(CXCursor cursor);

  /// Returns the tokens of a cursor; empty if it has none of its own.
  TokenRange range(CXCursor cursor) const;
  std::string text(CXCursor cursor) const { return joined(tokens_, range(cursor)); }
  std::size_t line(CXCursor cursor) const;

 private:
  /// Parses the text with declarations of `unknown_` before it.
  void parse();
  /// Adds the names that nothing declares. Returns true if there are new ones.
  bool find_unknown();
  std::string prologue() const;

  std::string text_;
  CppTokens tokens_;
  std::set<std::string> unknown_;
  bool needs_std_ = false;
  CXIndex index_ = nullptr;
  CXTranslationUnit unit_ = nullptr;
};

}  // namespace smemtune
