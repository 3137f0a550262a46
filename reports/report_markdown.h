#pragma once

#include "reports/report_source.h"

#include <string>

namespace smemtune {

/// Returns the findings and tables in Markdown, for pull requests.
std::string report_markdown(const ReportSource& source);

}  // namespace smemtune
