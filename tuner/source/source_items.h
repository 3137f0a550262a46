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
  std::size_t first = 0;  ///< Tokens...
  std::size_t end = 0;    ///< ... behind the last.
  std::vector<std::string> declares;
  std::vector<std::string> uses;
  std::string what;             ///< For people.
  bool is_kernel = false;       ///< __global__
  bool is_host = false;         ///< A function that only the host has.
  bool is_operator = false;     ///< Of types; it is not called by a name and declares none.
  std::string name_space;       ///< Of what is in it, `a::b::`.
  std::size_t body = kNoToken;  ///< Token of a function's {.
  std::size_t list = kNoToken;  ///< Token of a function's (.
  std::size_t name = kNoToken;  ///< Token of a function's name.
  /// The innermost groups that it lies in, kNoToken: none.
  std::size_t name_space_group = kNoToken;
  std::size_t condition_group = kNoToken;

  bool is_code() const { return kind == Kind::declaration || kind == Kind::define; }
};

/// A namespace, or a conditional with its branches.
struct SourceGroup {
  std::vector<std::size_t> marks;  ///< Items: #if, #else, #endif; the namespace's { and }.
  std::size_t end = 0;             ///< Behind the last item that it encloses.
};

struct SourceItems {
  std::vector<SourceItem> items;
  std::vector<SourceGroup> spaces;
  std::vector<SourceGroup> conditions;
};

/// Of any tokens whatever.
SourceItems read_items(const CppTokens& tokens);

/// Words that take a list in parentheses before a function's name.
bool is_attribute(std::string_view word);

}  // namespace smemtune
