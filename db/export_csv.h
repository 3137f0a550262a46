#pragma once

#include "db/result_store.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// The best configurations as CSV (RFC 4180, lines end in LF; columns in db/EXPORT.md). Text that a
/// spreadsheet would take for a formula gets an apostrophe before it; control characters become
/// spaces. The same results give the same text.
std::string export_csv(const std::vector<StoredResult>& best);

/// A cell of such a table: stored text, which may come from anywhere; and a number, empty for what
/// is none.
std::string csv_text(const std::string& text);
std::string csv_number(double value);

}  // namespace smemtune::db
