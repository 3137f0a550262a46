#pragma once

#include "db/rows.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// Returns the best configurations as CSV (RFC 4180 with LF line ends; columns are listed in
/// db/EXPORT.md). Text that a spreadsheet would take for a formula is prefixed with an apostrophe;
/// control characters become spaces. The same results give the same text.
std::string export_csv(const std::vector<StoredResult>& best);

/// Returns one cell of such a table: escaped text from any source, or a number, which is empty if
/// it is not finite.
std::string csv_text(const std::string& text);
std::string csv_number(double value);

}  // namespace smemtune::db
