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

/// A kernel whose configurations were all evaluated before; searches of it can be replayed.
struct RecordedKernel {
  struct Answer {
    std::optional<double> time_ms = std::nullopt;  ///< Nullopt if it failed.
    double compile_ms = 0;
    double device_ms = 0;  ///< Time that the device is occupied.
    int registers = 0;     ///< Per thread, the most of its launches; 0: not known.
  };
  SearchSpace space;
  std::vector<Answer> answers;  ///< Indexed by configuration.
  LaunchCost cost = {};         ///< See SearchedKernel.
  /// The one that a run asks for first; nullopt: not known.
  std::optional<ConfigurationIndex> default_configuration = std::nullopt;

  /// The least time; nullopt when everything failed.
  std::optional<double> best_ms() const;
};

struct ReplayOptions {
  std::string strategy;
  std::uint64_t seed = 1;
  std::uint64_t evaluations = 500;
  /// Questions that are asked before the first is answered; 0: as many as a run has with
  /// `compilers` compilers and one device.
  std::size_t in_flight = 1;
  std::size_t compilers = 1;
  std::vector<Ranking> rankings = {};  ///< Results from elsewhere: see SearchedKernel.
};

/// An evaluation of a replay.
struct Replayed {
  ConfigurationIndex configuration = 0;
  /// Quality of the best so far: the optimum's time divided by its time; 0 when there is none.
  double share = 0;
  /// The estimate at that time that something better is left (chance_of_better.h); 1 when nothing
  /// was timed.
  double chance = 1;
  double done_s = 0;  ///< Time at which it was done, by the recorded times.
};

/// Searches with the strategy, in the order in which the live loop asks and tells: `in_flight`
/// questions at a time, told in the order asked, compiled by the first free compiler, run by one
/// device in the order compiled. With the seed of a run of one kernel it asks for the same
/// configurations. Ends early when nothing is left. Throws InputError for an unknown strategy.
std::vector<Replayed> replay(const RecordedKernel& kernel, const ReplayOptions& options);

/// Statistics of replays of one strategy with many seeds.
struct ReplayStatistics {
  /// Distribution over the seeds of the share of the optimum after this many evaluations.
  struct Quality {
    std::uint64_t evaluations = 0;
    double mean = 0;
    double q1 = 0;
    double median = 0;
    double q3 = 0;
  };
  /// Effort of reaching a share of the optimum.
  struct Effort {
    double share = 0;
    std::size_t reached = 0;  ///< Number of seeds that reached it.
    /// Medians over all seeds; seeds that did not reach it count as infinite.
    std::optional<double> evaluations = {};
    std::optional<double> seconds = {};
  };
  /// The runs that would have ended by themselves (kSureChance), judged where they would have.
  struct Ended {
    std::size_t runs = 0;
    std::size_t wrong = 0;                   ///< Runs that left something more than 1 % faster.
    std::optional<double> evaluations = {};  ///< Their median.
    double mean_regret = 0;                  ///< How much slower than the optimum, as a share...
    double worst_regret = 0;                 ///< ... in the mean and at worst.
  };
  std::size_t seeds = 0;
  Ended ended = {};
  std::vector<Quality> qualities = {};
  std::vector<Effort> efforts = {};  ///< For 95 and 99 %.
};

/// Summarizes the runs after `evaluations` evaluations, and after 20, 50, 100, 200 and 500 where
/// these are fewer. REQUIRES: runs is not empty.
ReplayStatistics summarize_replays(std::span<const std::vector<Replayed>> runs,
                                   std::uint64_t evaluations);

}  // namespace smemtune
