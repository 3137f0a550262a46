#pragma once

#include "tuner/init/clang_library.h"
#include "tuner/source/cpp_tokens.h"
#include "tuner/source/kernel_file.h"

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// The syntax tree of a source as clang sees its host part, and its tokens. A header or a name that
/// is missing does not stop it.
class ParsedSource {
 public:
  explicit ParsedSource(const FlatSource& source) : ParsedSource(source, Part::host, {}) {}

  /// Reads the host's part, where a name that nothing declares is a variable, or the device's,
  /// where it is a constant that the command line defines: as the first of the numbers that #if
  /// compares it with, if there are such.
  enum class Part { host, device };
  ParsedSource(const FlatSource& source, Part part, ComparedNumbers compared);
  ~ParsedSource();
  ParsedSource(const ParsedSource&) = delete;
  ParsedSource& operator=(const ParsedSource&) = delete;

  CXCursor root() const { return clang().getTranslationUnitCursor(unit_); }
  const CppTokens& tokens() const { return tokens_; }

  /// The constants and types that nothing declares, in the order of their first uses.
  const std::vector<MissingName>& missing() const { return missing_; }

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
  std::size_t line(CXCursor cursor) const;

 private:
  /// Parses the text with declarations of `unknown_` before it.
  void parse();
  /// Adds the names that nothing declares. Returns true if there are new ones.
  bool find_unknown();
  void leave_out_skipped();
  std::size_t versions() const;
  std::string declaration_for(const std::string& said, std::size_t place);
  std::string declaration_of(const std::string& name, std::size_t place, bool is_called);
  std::string define(const std::string& name) const;
  bool declares(const std::string& name, bool is_type) const;
  void note_missing(const std::string& name, std::size_t place, bool is_type);
  std::string prologue() const;

  std::string text_;
  Part part_;
  ComparedNumbers compared_;
  CppTokens tokens_;
  std::set<std::string> unknown_;  ///< Declarations of names that nothing declares.
  std::vector<MissingName> missing_;
  /// Says which numbers the names in #if stand for: 0 is the source as it is.
  std::size_t version_ = 0;
  /// False until all functions and types are declared: without these, a variable may seem missing.
  bool takes_constants_ = false;
  bool needs_std_ = false;
  CXIndex index_ = nullptr;
  CXTranslationUnit unit_ = nullptr;
};

/// Calls `use` for each declaration of the source, in namespaces as well, but not for namespaces.
void for_each_declaration(CXCursor parent, const std::function<void(CXCursor)>& use);

}  // namespace smemtune
