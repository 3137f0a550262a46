#pragma once

#include <string>
#include <string_view>

namespace smemtune {

/// One printable line in which nothing is markup of HTML, SVG or XML, in attributes neither.
std::string for_html(std::string_view text);

}  // namespace smemtune
