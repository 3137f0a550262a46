#pragma once

#include "db/result_reader.h"

#include <filesystem>

namespace smemtune::cli {

/// Number of characters of a run's id that are shown.
inline constexpr std::size_t kShownIdCharacters = 8;

/// Throws InputError with the nearest stored name if `asked` names a space, device, run, kernel or
/// size of a problem that is not stored in `database`. REQUIRES: nothing matches `asked`.
void refuse_unknown(const std::filesystem::path& database, const db::Query& asked,
                    const db::ResultReader& store);

}  // namespace smemtune::cli
