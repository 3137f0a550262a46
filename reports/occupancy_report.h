#pragma once

#include "tuner/core/occupancy_advice.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace smemtune {

/// Returns text that explains how many blocks fit and what limits them: each resource's own limit,
/// idle threads, and the changes that lead to a higher occupancy.
std::string occupancy_text(const Device& device, const BlockNeeds& needs);

/// Returns text about the resources that blocks of this many threads may use at `target_percent`,
/// or that they cannot reach it.
std::string allowance_text(const Device& device, std::int64_t threads_per_block,
                           double target_percent);

/// Returns the same information as JSON.
nlohmann::ordered_json occupancy_json(const Device& device, const BlockNeeds& needs);
nlohmann::ordered_json allowance_json(const Device& device, std::int64_t threads_per_block,
                                      double target_percent);

}  // namespace smemtune
