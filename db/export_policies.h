#pragma once

#include "db/rows.h"

#include <string>
#include <vector>

namespace smemtune::db {

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
