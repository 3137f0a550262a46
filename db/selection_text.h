#pragma once

namespace smemtune::db {

/// tuner/core/selection.h, as it was compiled in: exported headers begin with it.
const char* selection_text();

}  // namespace smemtune::db
