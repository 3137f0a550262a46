#pragma once

#include "tuner/source/cpp_tokens.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// A piece of a source at the outermost level, or in a namespace: a declaration, a preprocessor
/// line, or the mark of a namespace.
struct SourceItem {
  enum class Kind { declaration, include, define, conditional, pragma, open, close };
  Kind kind = Kind::declaration;
  std::size_t first = 0;  ///< Tokens from here...
  std::size_t end = 0;    ///< ... to before here.
  std::vector<std::string> declares;
  std::vector<std::string> uses;
  std::string what;        ///< A description for people.
  bool is_kernel = false;  ///< __global__
  bool is_host = false;    ///< True for a function that only the host has.
  /// True for an operator of types; it is not called by name and declares none.
  bool is_operator = false;
  std::string name_space;       ///< The namespace of its contents, `a::b::`.
  std::size_t body = kNoToken;  ///< Token of a function's {.
  std::size_t list = kNoToken;  ///< Token of a function's (.
  std::size_t name = kNoToken;  ///< Token of a function's name.
  /// The innermost groups that it lies in; kNoToken if there is none.
  std::size_t name_space_group = kNoToken;
  std::size_t condition_group = kNoToken;

  bool is_code() const { return kind == Kind::declaration || kind == Kind::define; }
};

/// A namespace, or a conditional with its branches.
struct SourceGroup {
  /// Items of its marks: #if, #else, #endif; the namespace's { and }.
  std::vector<std::size_t> marks;
  std::size_t end = 0;  ///< Index behind the last enclosed item.
};

/// A conditional that an item lies in, and its branch: its last mark before the item.
struct SourceBranch {
  const std::vector<std::size_t>* marks = nullptr;
  std::size_t number = 0;  ///< Index of that mark in `marks`.

  std::size_t mark() const { return (*marks)[number]; }
};

struct SourceItems {
  std::vector<SourceItem> items;
  std::vector<SourceGroup> spaces;
  std::vector<SourceGroup> conditions;

  /// Returns the conditionals that an item lies in, the innermost first.
  std::vector<SourceBranch> branches_of(const SourceItem& item) const;
};

/// Reads the items of any tokens.
SourceItems read_items(const CppTokens& tokens);

/// Returns true for words that take a list in parentheses before a function's name.
bool is_attribute(std::string_view word);

}  // namespace smemtune
