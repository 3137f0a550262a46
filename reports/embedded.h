#pragma once

#include <string_view>

// Files that are in the program itself: written by cmake/EmbedText.cmake when it is built.

namespace smemtune::embedded {

extern const std::string_view kPageHtml;  ///< With @NAME@ where something is to be put in.
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;
extern const std::string_view kChartJs;  ///< Chart.js; empty when it was not there at build time.

}  // namespace smemtune::embedded
