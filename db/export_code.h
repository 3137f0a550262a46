#pragma once

#include "db/rows.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune::db {

// Stored strings are data and must not become code: names must be identifiers, otherwise the export
// is refused; all other text is escaped or left out.

/// Returns a self-contained C++17 header: for each space, a constexpr table of the best
/// configurations by device and problem, and of the times of the candidates for other sizes, the
/// kernels' default values, and select() (documented in db/EXPORT.md). The same results give the
/// same text. `notes`: lines for human readers, put at the top. Throws InputError naming the space and the name if a name is not valid in C++.
std::string export_header(const std::vector<StoredResult>& best,
                          const std::vector<KernelDefaults>& defaults,
                          const std::string& notes = {},
                          const std::vector<StoredResult>& candidates = {});

/// Returns a line like `#define TILE 32` for every parameter of one configuration, to paste into a
/// kernel. Throws InputError for a name that cannot be a macro, or a word that is neither a type
/// nor an enumerator.
std::string export_defines(const StoredResult& best);

/// Throws InputError, beginning with `what`, unless a program may define this name in C and C++.
void need_name(const std::string& what, const std::string& name);

/// Returns a word that may be code: a type or an enumerator. Otherwise throws InputError, beginning
/// with `what`.
const std::string& need_word(const std::string& what, const std::string& word);

/// Returns true if a word is surely a type: `float`, `unsigned char`, `__half`.
bool is_type(const std::string& word);

/// Returns the text made safe for a comment: ASCII only, no line end, no backslash before one.
std::string for_comment(const std::string& text);

std::string integer_literal(std::int64_t value);

/// Returns the text as a C++ string literal of ASCII characters, with the quotes.
std::string string_literal(const std::string& text);

}  // namespace smemtune::db
