#pragma once

#include "tuner/core/result.h"
#include "tuner/core/summary.h"

#include <string>

namespace smemtune {

/// Returns the most informative line of a failure's detail: the first one, or in a compiler's log,
/// which begins with other text, the first one that contains an error.
std::string telling_line(const Result& result);

/// Returns a heading and a line for each reason, such as "12 constraints/shared_bytes, for example
/// tiled TILE=64: 65536 bytes of ..."; empty if nothing failed.
std::string failure_lines(const ProblemSummary& problem);

}  // namespace smemtune
