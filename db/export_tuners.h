#pragma once

#include "db/result_store.h"

#include <string>
#include <vector>

// Results in the files of other tuners. Both throw InputError unless the results are of one kernel
// on one device for one problem. Of each configuration the newest result counts; one that was right
// and not timed is left out.

namespace smemtune::db {

/// A cache file of Kernel Tuner (schema 1.1.0): it can be searched again there, or gone on with.
std::string export_kernel_tuner(const std::vector<StoredResult>& results);

/// T4 1.0.0, the results format of the FAIR benchmark suite.
std::string export_t4(const std::vector<StoredResult>& results);

}  // namespace smemtune::db
