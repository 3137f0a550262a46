#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace smemtune {

/// One HTML page that holds all it needs, `data` (report_json()) among it, and may load or run
/// nothing else: its Content-Security-Policy names its own scripts and style by their hashes.
/// Whatever text the data holds stays text. Without `charts` (Chart.js's text) it shows tables
/// only. Where the data has a member `live`, the page asks the server that it came from for more.
std::string report_page(const nlohmann::ordered_json& data, const std::string& title,
                        std::string_view charts);

/// Chart.js, where the program was built with it; else empty.
std::string_view embedded_charts();

}  // namespace smemtune
