#pragma once

#include <string_view>

// Files that are in the program itself: written by cmake/EmbedText.cmake when it is built.

namespace smemtune::embedded {

extern const std::string_view page_html;  ///< With @NAME@ where something is to be put in.
extern const std::string_view page_css;
extern const std::string_view page_js;
extern const std::string_view chart_js;  ///< Chart.js; empty when it was not there at build time.

}  // namespace smemtune::embedded
