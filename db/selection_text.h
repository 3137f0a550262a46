#pragma once

namespace smemtune::db {

/// Returns the text of tuner/core/selection.h, which is compiled in: exported headers begin with
/// it.
const char* selection_text();

}  // namespace smemtune::db
