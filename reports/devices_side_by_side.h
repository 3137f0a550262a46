#pragma once

#include "db/comparison.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// Returns sentences about one row: where the winners of its GPUs differ (`TILE: 32 on A100 and
/// A4000; 64 on A6000`), what one configuration for all would keep, and what matters on each GPU.
std::vector<std::string> devices_sentences(const db::Comparison& comparison,
                                           const db::Comparison::Row& row);

/// Returns what the page shows for several GPUs: for each problem the winners, the shares that each
/// GPU's best and one configuration for all keep on the others, and what parameters explain.
nlohmann::ordered_json devices_json(const db::Comparison& comparison);

}  // namespace smemtune
