#pragma once

#include <string_view>

// Files that are embedded in the program; cmake/EmbedText.cmake generates their definitions at
// build time.

namespace smemtune::embedded {

extern const std::string_view kPageHtml;  ///< Contains placeholders of the form @NAME@.
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;
extern const std::string_view kChartJs;  ///< Chart.js; empty if it was not available at build time.

}  // namespace smemtune::embedded
