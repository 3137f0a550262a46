#pragma once

#include "reports/report_source.h"

#include <nlohmann/json_fwd.hpp>

namespace smemtune {

/// Returns the data that the page draws; written as a document, `"format": "smemtune-report",
/// "version": 1`. Configurations are stored in columns of numbers, and each word appears once in a
/// list.
nlohmann::ordered_json report_json(const ReportSource& source);

}  // namespace smemtune
