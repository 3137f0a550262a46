#pragma once

#include "tuner/search/replay.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// Strategies replayed over one recording.
struct ReplayedRecording {
  std::string name = {};  ///< Kernel, device, problem, for people.
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
    double evaluations_per_s = 0;  ///< Of this processor, answers and strategy together.
  };
  std::vector<Strategy> strategies = {};
};

/// How it was replayed.
struct ReplaySettings {
  std::uint64_t seeds = 0;
  std::uint64_t evaluations = 0;
  std::uint64_t in_flight = 1;
  std::uint64_t compilers = 1;
};

/// A table for each recording, and one of means over all where there are several.
std::string replay_text(std::span<const ReplayedRecording> recordings,
                        const ReplaySettings& settings);

std::string replay_json(std::span<const ReplayedRecording> recordings,
                        const ReplaySettings& settings);

}  // namespace smemtune
