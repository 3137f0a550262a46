#pragma once

#include "db/rows.h"
#include "tuner/core/whole_file.h"

#include <functional>

// Exports in the file formats of other tuners, of the results of one kernel on one device for one
// problem, each configuration once. They are written while they are read.

namespace smemtune::db {

/// Gives all results to what it is called with, and the same whenever it is called.
using EachResult = std::function<void(const std::function<void(StoredResult&&)>&)>;

/// Writes a cache file of Kernel Tuner (schema 1.1.0), with which it can replay or continue a
/// search. REQUIRES: there are results. Reads them twice: its head has the values of all.
void export_kernel_tuner(const EachResult& each, const TextSink& out);

/// Writes T4 1.0.0, the results format of the FAIR benchmark suite.
void export_t4(const EachResult& each, const TextSink& out);

}  // namespace smemtune::db
