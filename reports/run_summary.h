#pragma once

#include "reports/also_fits.h"
#include "reports/one_for_all.h"
#include "tuner/core/device.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace smemtune {

/// What a run found, for people: per problem each kernel's best and default side by side, which
/// configuration won, why, what it is tied with, and what was rejected for which reason; where
/// `columns` of a terminal are enough, with bars for the values of parameters.
std::string summary_text(const Space& space, const TuningSummary& summary, const Device& device,
                         std::size_t columns = 0);

/// Where a best was compared with nothing but itself, as loud as what is said of the CPU device;
/// else empty.
std::string unverified_warning(const Space& space, const TuningSummary& summary);

/// What a dry run found: resources and occupancy of every configuration, and why others are
/// rejected.
std::string dry_run_text(const Space& space, const TuningSummary& summary, const Device& device);

/// The same as JSON, `"format": "smemtune-run", "version": 2`, with every result.
std::string summary_json(const Space& space, const TuningSummary& summary, const Device& device,
                         const std::vector<AlsoFits>& also_fits);

/// Of what is known of a failure the first line; of a compiler's log, which begins with other
/// things, the first with an error.
std::string telling_line(const Result& result);

}  // namespace smemtune
