#pragma once

#include "reports/report_source.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace smemtune {

/// Returns one self-contained HTML page that includes `data` (report_json()) and cannot load or run
/// anything else: its Content-Security-Policy lists its own scripts and style by their hashes. Text
/// in the data can never become markup. Without `charts` (the text of Chart.js), the page shows
/// only tables. If the data has a member `live`, the page polls the server that it came from for
/// updates.
std::string report_page(const nlohmann::ordered_json& data, const std::string& title,
                        std::string_view charts);

/// Returns Chart.js if the program was built with it; otherwise empty.
std::string_view embedded_charts();

/// Returns the data that the page draws; written as a document, `"format": "smemtune-report",
/// "version": 1`. Configurations are stored in columns of numbers, and each word appears once in a
/// list.
nlohmann::ordered_json report_json(const ReportSource& source);

}  // namespace smemtune
