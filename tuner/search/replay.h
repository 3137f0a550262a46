#pragma once

#include "tuner/core/search_space.h"
#include "tuner/search/strategy.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// A kernel whose configurations were all evaluated before, to search it again from what was found.
struct RecordedKernel {
  struct Answer {
    std::optional<double> time_ms = std::nullopt;  ///< Nullopt: it failed.
    double compile_ms = 0;
    double device_ms = 0;  ///< How long the device is kept.
    int registers = 0;     ///< Per thread, the most of its launches; 0: not known.
  };
  SearchSpace space;
  std::vector<Answer> answers;  ///< By configuration.
  LaunchCost cost = {};         ///< See SearchedKernel.
  /// Which a run asked for first; nullopt: not known.
  std::optional<ConfigurationIndex> default_configuration = std::nullopt;

  /// Nullopt where everything failed.
  std::optional<double> best_ms() const;
};

struct ReplayOptions {
  std::string strategy;
  std::uint64_t seed = 1;
  std::uint64_t evaluations = 500;
  /// Questions that are asked before the first is answered; 0: as many as a run with so many
  /// compilers and one device has.
  std::size_t in_flight = 1;
  std::size_t compilers = 1;
  std::vector<Ranking> rankings = {};  ///< What is known from elsewhere: see SearchedKernel.
};

/// An evaluation of a replay.
struct Replayed {
  ConfigurationIndex configuration = 0;
  double share = 0;  ///< Of the optimum, that the best so far has: its time by the best's. 0: none.
  /// Said then, that something better is left (chance_of_better.h); 1 where nothing was timed.
  double chance = 1;
  double done_s = 0;  ///< When it was done, by the recorded times.
};

/// Searches with the strategy, in the order in which the live loop would ask and tell: so many in
/// flight, told in the order asked, compiled by the first compiler that is free, run by one device
/// in the order compiled. What a run of one kernel asked for, the same seed asks for again. Ends
/// early when nothing is left. Throws InputError for an unknown strategy.
std::vector<Replayed> replay(const RecordedKernel& kernel, const ReplayOptions& options);

/// What replays of one strategy with many seeds came to.
struct ReplayStatistics {
  /// How the share of the optimum after so many evaluations is distributed.
  struct Quality {
    std::uint64_t evaluations = 0;
    double mean = 0;
    double q1 = 0;
    double median = 0;
    double q3 = 0;
  };
  /// What it takes to reach a share of the optimum.
  struct Effort {
    double share = 0;
    std::size_t reached = 0;  ///< Seeds that did.
    /// Medians over all seeds, those that did not reach it counted as infinite.
    std::optional<double> evaluations = {};
    std::optional<double> seconds = {};
  };
  /// Of all numbers of evaluations of the qualities together: how often a run said that the chance
  /// of something better is at most 10 %, and how often there was something more than 1 % faster.
  struct Sure {
    std::size_t said = 0;
    std::size_t wrong = 0;
  };
  std::size_t seeds = 0;
  Sure sure = {};
  std::vector<Quality> qualities = {};
  std::vector<Effort> efforts = {};  ///< To 95 and 99 %.
  /// The mean share after each evaluation.
  std::vector<double> curve = {};
};

/// REQUIRES: runs is not empty. After `evaluations`, and after 20, 50, 100, 200 and 500 where that
/// is fewer.
ReplayStatistics summarize_replays(std::span<const std::vector<Replayed>> runs,
                                   std::uint64_t evaluations);

}  // namespace smemtune
