#pragma once

#include "db/layered_store.h"

#include <string>
#include <vector>

namespace smemtune::cli {

/// Sets the space of `query` to the name under which its results are stored, and where `given` is a
/// space's file also the file and its kernels' versions as they are now: what is stale is judged by
/// them. Where the file cannot be read as a space, stderr says so and what was measured last counts.
void ask_for_space(db::Query& query, const std::string& given);

/// Fills StoredResult::stale_because of those of `results` that are stale, by the space file that
/// their run was given and Query::space_file as it is now. Does nothing where no file was given.
void explain_stale(std::vector<db::StoredResult>& results, const db::Query& query,
                   const db::LayeredStore& store);

/// `stale: its tolerance has changed since`; empty for a result that is not stale.
std::string stale_text(const db::StoredResult& stored);

}  // namespace smemtune::cli
