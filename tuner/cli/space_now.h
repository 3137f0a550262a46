#pragma once

#include "db/result_reader.h"

#include <string>
#include <vector>

namespace smemtune::cli {

/// Sets the space of `query` to the name under which its results are stored. If `given` is a space
/// file, also sets the file and the current versions of its kernels, by which results are judged
/// stale. If the file cannot be read as a space, this is reported on stderr and the version
/// measured last counts.
void ask_for_space(db::Query& query, const std::string& given);

/// Fills StoredResult::stale_because of the stale ones among `results`, by comparing the space file
/// that their run was given with Query::space_file as it is now. Does nothing if no file was given.
void explain_stale(std::vector<db::StoredResult>& results, const db::Query& query,
                   const db::ResultReader& store);

/// Returns text like `stale: its tolerance has changed since`; empty if the result is not stale.
std::string stale_text(const db::StoredResult& stored);

}  // namespace smemtune::cli
