#pragma once

#include "db/recording.h"

#include <filesystem>
#include <functional>
#include <string>

namespace smemtune::db {

/// Takes the evaluations out of what has been read so far.
using TakePart = std::function<void(Recording& so_far)>;

/// Reads the text of a Kernel Tuner cache file, of T4 or of KTT's output. `cut_off`: the text is
/// known to be truncated. With `take_part`, evaluations are passed on in parts, so that few are in
/// memory at a time; the values of each parameter are then only those that the file lists. Throws
/// InputError naming the file.
Recording read_recording_json(const std::filesystem::path& file, std::string text, bool cut_off,
                              const TakePart& take_part = {});

}  // namespace smemtune::db
