#pragma once

#include "db/comparison.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// In words, of one row: where the winners of its GPUs differ (`TILE: 32 on A100 and A4000; 64 on
/// A6000`), what one configuration for all would keep, and what matters on each.
std::vector<std::string> devices_sentences(const db::Comparison& comparison,
                                           const db::Comparison::Row& row);

/// What the page shows of several GPUs: for each problem the labels, winners, the shares that each
/// one's best keeps on the others, and the sentences.
nlohmann::ordered_json devices_json(const db::Comparison& comparison);

}  // namespace smemtune
