#pragma once

#include "reports/replay_report.h"

#include <span>
#include <string>

namespace smemtune {

/// Returns an SVG with the mean share of the optimum over the number of evaluations: a plot for
/// each recording, with a curve for each strategy.
std::string replays_figure(std::span<const ReplayedRecording> recordings);

}  // namespace smemtune
