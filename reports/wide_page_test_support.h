#pragma once

#include "reports/table.h"

namespace smemtune {

/// Makes the page wide enough for every table of the tests.
inline const bool kIsWide = (set_page_columns(300), true);

}  // namespace smemtune
