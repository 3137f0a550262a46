#pragma once

#include "db/recording.h"

#include <filesystem>
#include <string_view>

namespace smemtune::db {

/// Reads the text of a Kernel Tuner cache file or of T4. `cut_off`: it is known to end too early.
/// Throws InputError naming the file.
Recording read_recording_json(const std::filesystem::path& file, std::string_view text,
                              bool cut_off);

}  // namespace smemtune::db
