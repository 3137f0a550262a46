#pragma once

#include "db/rows.h"

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

/// Returns the text of tuner/core/selection.h, which is compiled in: exported headers begin with
/// it.
const char* selection_text();

/// Returns a line like `#define TILE 32` for every parameter of one configuration, to paste into a
/// kernel. Throws InputError for a name that cannot be a macro, or a word that is neither a type
/// nor an enumerator.
std::string export_defines(const StoredResult& best);

}  // namespace smemtune::db
