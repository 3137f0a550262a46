#pragma once

#include "tuner/source/cpp_tokens.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// A preprocessor directive: `#define`'s name is `define`, its rest what follows.
struct Directive {
  std::string name;
  std::string rest;  ///< Joined, without comments, without blanks around it.

  bool asks() const;            ///< #if and #elif, which have an expression.
  bool is_conditional() const;  ///< These, #else, #endif and theirs.
};

Directive directive_of(const CppToken& token);

/// The header that an #include names with its marks, `<cuda_fp16.h>`, `"tile.h"`; empty: none.
std::string included(const Directive& directive);

/// A file that a source makes the compiler open, or look for.
struct Include {
  std::size_t line = 0;
  std::string name;         ///< Between the marks.
  bool is_quoted = false;   ///< "..." and not <...>
  bool only_asked = false;  ///< By __has_include: it need not be there.
  std::string refusal;      ///< Why it is not clear which file is opened; empty: it is.
};

/// All of them, in every branch of #if, so that a compiler opens no other file of the user's: the
/// one place that decides what is followed. Where lexers could differ, what any of them may see
/// counts.
std::vector<Include> includes_of(std::string_view text);

/// For each of the texts that are compiled together, the first #if that may ask for a file without
/// naming `__has_include`: what its macros stand for has a header's name, or # or ##, which make
/// one. Where there is none, the refusal is empty.
std::vector<Include> hidden_questions(std::span<const std::string_view> texts);

/// Whether #line may give lines the name of a file, which a compiler then opens to show them.
bool names_lines(std::string_view text);

}  // namespace smemtune
