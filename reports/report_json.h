#pragma once

#include "reports/report_source.h"

#include <nlohmann/json_fwd.hpp>

namespace smemtune {

/// What the page draws, a document of `"format": "smemtune-report", "version": 1` when it is
/// written. Configurations stand in columns of numbers, words once in a list.
nlohmann::ordered_json report_json(const ReportSource& source);

}  // namespace smemtune
