#pragma once

#include "db/result_store.h"

#include <string>
#include <vector>

namespace smemtune::db {

// Stored strings are data, and must not become code: names are identifiers or refused, all other
// text is escaped or left out.

/// A self-contained C++17 header: for each space a constexpr table of what is best, by device and
/// problem, the kernels' default values, and select() (docs in db/EXPORT.md). The same results give
/// the same text. `notes`: lines for people, at its head. Throws InputError naming the space and
/// the name that is no C++ name.
std::string export_header(const std::vector<StoredResult>& best,
                          const std::vector<KernelDefaults>& defaults,
                          const std::string& notes = {});

/// `#define TILE 32` for every parameter of one configuration, to be pasted. Throws InputError for
/// a name that is no macro's, or a word that is no type or enumerator.
std::string export_defines(const StoredResult& best);

/// As a C++ string literal of ASCII characters, with the quotes.
std::string string_literal(const std::string& text);

}  // namespace smemtune::db
