#pragma once

#include "db/rows.h"
#include "tuner/core/whole_file.h"

#include <functional>
#include <string>
#include <vector>

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

// One kernel's best configurations in the forms of libraries that choose by size or architecture.
// Stored text never becomes code or a key of another kind: names and words are checked or refused.

/// Returns the JSON that vLLM reads for its fused kernels: by the one size in which the problems
/// differ (of a single problem: its only size, or M), the parameters. Throws InputError if the
/// results are of several kernels or devices, or differ in anything else.
std::string export_vllm(const std::vector<StoredResult>& best);

/// Returns a C++ header with a policy hub as CUB has it: a chain of policies, one for each compute
/// capability, whose members are the parameters. Throws InputError if the results are of several
/// kernels or problems, or of several devices with one compute capability, and for a name or a word
/// that is not valid in C++.
std::string export_cub(const std::vector<StoredResult>& best);

}  // namespace smemtune::db
