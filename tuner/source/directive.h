#pragma once

#include "tuner/source/cpp_tokens.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// A preprocessor directive. The name of a `#define` is `define`.
struct Directive {
  std::string name;
  /// The text after the name: joined, without comments, without blanks around it.
  std::string rest;

  bool asks() const;            ///< True for #if and #elif, which have an expression.
  bool is_conditional() const;  ///< True for these, #ifdef and its like, #else and #endif.
};

Directive directive_of(const CppToken& token);

/// Returns the header that an #include names, with its marks, `<cuda_fp16.h>`, `"tile.h"`; empty if
/// there is none.
std::string included(const Directive& directive);

/// A file that a source makes the compiler open, or look for.
struct Include {
  std::size_t line = 0;
  std::string name;         ///< Between the marks.
  bool is_quoted = false;   ///< "..." and not <...>
  bool only_asked = false;  ///< Named by __has_include only: it need not exist.
  std::string refusal;      ///< Why it is not clear which file is opened; empty if it is clear.
};

/// A directive and where it stands.
struct PlacedDirective {
  Directive directive;
  std::size_t line = 0;
  bool is_cut = false;  ///< True if it may go on behind a comment of several lines.
};

/// Returns every directive that any lexer sees in a text: where lexers could differ, text in
/// comments and strings counts as well.
std::vector<PlacedDirective> directives_of(std::string_view text);

/// Returns all includes of a text with these directives, in every branch of #if, so that a compiler
/// opens no other file of the user's. This is the only place that decides which includes are
/// followed. Where lexers could differ, anything that one of them may see counts.
std::vector<Include> includes_of(std::string_view text,
                                 std::span<const PlacedDirective> directives);

/// Returns, for each of the texts that are compiled together, given by their directives, the first
/// #if that may ask for a file without naming `__has_include`: its macros stand for text with a
/// header's name, or with # or ##, which can make one. If there is no such #if, the refusal is
/// empty.
std::vector<Include> hidden_questions(std::span<const std::span<const PlacedDirective>> texts);

/// Returns true if #line may give lines the name of a file, which a compiler then opens to show
/// them.
bool names_lines(std::string_view text);

}  // namespace smemtune
