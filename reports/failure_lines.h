#pragma once

#include "tuner/core/result.h"
#include "tuner/core/summary.h"

#include <string>

namespace smemtune {

/// Of what is known of a failure the first line; of a compiler's log, which begins with other
/// things, the first with an error.
std::string telling_line(const Result& result);

/// A line for each reason: "12 constraints/shared_bytes, for example tiled TILE=64: 65536 bytes of
/// ..."; below a heading, or empty where nothing failed.
std::string failure_lines(const ProblemSummary& problem);

}  // namespace smemtune
