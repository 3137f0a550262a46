#pragma once

#include <string>
#include <string_view>

namespace smemtune {

/// Returns one printable line without any markup of HTML; safe in attributes, too.
std::string for_html(std::string_view text);

}  // namespace smemtune
