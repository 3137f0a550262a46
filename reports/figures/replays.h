#pragma once

#include "reports/replay_report.h"

#include <span>
#include <string>

namespace smemtune {

/// The mean share of the optimum over evaluations, a curve for each strategy, a plot for each
/// recording, as SVG.
std::string replays_figure(std::span<const ReplayedRecording> recordings);

}  // namespace smemtune
