#pragma once

#include "reports/report_source.h"
#include "reports/version_diff.h"

#include <string>
#include <string_view>
#include <variant>

namespace smemtune {

/// Reads a document that smemtune wrote: of a run or a dry run (`--json`), of stored results
/// (`list --results --json`), or of two versions (`diff --json`). `name` is the file's, for errors.
/// Throws InputError with it and the place.
std::variant<ReportSource, VersionDiff> read_document(const std::string& name,
                                                      std::string_view text);

}  // namespace smemtune
