#pragma once

#include "tuner/search/replay.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// Strategies replayed over one recording.
struct ReplayedRecording {
  std::string name = {};  ///< Kernel, device and problem, for display.
  std::string file;
  std::string device;
  std::string kernel;
  std::string problem;
  std::uint64_t configurations = 0;
  std::uint64_t failed = 0;
  double best_ms = 0;
  struct Strategy {
    std::string name;
    ReplayStatistics statistics;
    /// Evaluations per second on this processor, including the lookup of answers.
    double evaluations_per_s = 0;
  };
  std::vector<Strategy> strategies = {};
};

/// How the recordings were replayed.
struct ReplaySettings {
  std::uint64_t seeds = 0;
  std::uint64_t evaluations = 0;
  std::uint64_t in_flight = 1;
  std::uint64_t compilers = 1;
};

/// Returns a table for each recording, and one of the means if there are several.
std::string replay_text(std::span<const ReplayedRecording> recordings,
                        const ReplaySettings& settings);

std::string replay_json(std::span<const ReplayedRecording> recordings,
                        const ReplaySettings& settings);

}  // namespace smemtune
