#pragma once

#include "db/layered_store.h"

#include <filesystem>

namespace smemtune::cli {

/// Of a run's id.
inline constexpr std::size_t kShownIdCharacters = 8;

/// To be called where nothing matches `asked`: throws InputError where it names a space, a device,
/// a run, a kernel or a size of a problem that is not stored in `database`, with the nearest that
/// is.
void refuse_unknown(const std::filesystem::path& database, const db::Query& asked,
                    const db::LayeredStore& store);

}  // namespace smemtune::cli
