#pragma once

#include "tuner/core/occupancy_advice.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace smemtune {

/// How many blocks fit and what stops more, each resource's own limit, threads that stand idle, and
/// the steps to a higher occupancy: for people.
std::string occupancy_text(const Device& device, const BlockNeeds& needs);

/// What blocks of so many threads may use at `target_percent`, or that they never reach it: for
/// people.
std::string allowance_text(const Device& device, std::int64_t threads_per_block,
                           double target_percent);

/// The same as JSON.
nlohmann::ordered_json occupancy_json(const Device& device, const BlockNeeds& needs);
nlohmann::ordered_json allowance_json(const Device& device, std::int64_t threads_per_block,
                                      double target_percent);

}  // namespace smemtune
