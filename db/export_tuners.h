#pragma once

#include "db/rows.h"

#include <string>
#include <vector>

// Exports in the file formats of other tuners. Both functions throw InputError unless all results
// are of one kernel, device and problem. Only the newest result of each configuration is written;
// results that are correct but not timed are left out.

namespace smemtune::db {

/// Returns a cache file of Kernel Tuner (schema 1.1.0), with which it can replay or continue a
/// search.
std::string export_kernel_tuner(const std::vector<StoredResult>& results);

/// Returns T4 1.0.0, the results format of the FAIR benchmark suite.
std::string export_t4(const std::vector<StoredResult>& results);

}  // namespace smemtune::db
