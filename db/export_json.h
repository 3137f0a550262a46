#pragma once

#include "db/result_store.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// The best configurations as JSON, `"format": "smemtune-best", "version": 1` (docs in
/// db/EXPORT.md): per space, kernel, device and problem the parameters, launch shape, time,
/// throughput, occupancy, resources and provenance. Ends with a newline. Only verified results are
/// ever in it.
std::string export_json(const std::vector<StoredResult>& best);

/// Writes a file whole or not at all: a temporary beside it, fsync, rename. "-" is standard output.
/// Throws InputError when the place cannot be written.
void write_whole_file(const std::filesystem::path& file, const std::string& text);

}  // namespace smemtune::db
