#pragma once

#include "tuner/core/result.h"
#include "tuner/core/search_space.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// A configuration of one of the space's kernels, within this process.
struct Candidate {
  std::size_t kernel = 0;  ///< Index of the kernel among those that are searched.
  ConfigurationIndex configuration = 0;

  auto operator<=>(const Candidate&) const = default;
};

/// The result of another search of the same kernel: for another problem, or on another device.
struct Ranking {
  struct Timed {
    double time_ms = 0;
    ConfigurationIndex configuration = 0;

    auto operator<=>(const Timed&) const = default;
  };
  std::string device;  ///< For people.
  std::vector<Timed> fastest_first;

  bool operator==(const Ranking&) const = default;
};

/// The predicted cost of a configuration with this many registers per thread, without a unit, from
/// what is known before it is compiled (core/launch_cost.h); infinite: it cannot run.
using LaunchCost = std::function<double(ConfigurationIndex, int registers)>;

/// Registers per thread to predict a cost by where none were compiled.
inline constexpr int kUsualRegisters = 32;

/// A kernel to be searched, with what a strategy may know about it.
struct SearchedKernel {
  const SearchSpace* space = nullptr;
  std::optional<ConfigurationIndex> default_configuration;  ///< Nullopt when it is not valid here.
  /// Configurations that an earlier search of the same found near the best, to be tried first.
  std::vector<ConfigurationIndex> first = {};
  std::vector<Ranking> rankings = {};  ///< The most similar place first.
  LaunchCost cost = {};                ///< Empty when nothing is known of its launches.
};

/// Decides which configuration to evaluate next. The caller asks several times before it tells, so
/// that compiling runs ahead; it tells in the order in which it asked. A strategy that learns may be
/// told what is known of others before it is asked for the first time.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// Returns the next configuration, or nullopt when nothing is left to try. Never repeats one.
  virtual std::optional<Candidate> ask() = 0;

  /// Records the result of evaluating `candidate`. Failures are told, too.
  virtual void tell(const Candidate& candidate, const Result& result) = 0;

  /// Returns the estimated probability that an untried configuration is more than `gain` times as
  /// fast as the fastest that was told (chance_of_better.h); nullopt where nothing was timed, where
  /// results do not influence the questions, and for a space that is not listed.
  virtual std::optional<double> chance_of_better(double /*gain*/) { return std::nullopt; }
};

/// Names and one-line descriptions for --help, in order.
struct StrategyInfo {
  std::string name;
  std::string description;
  /// True if results influence its questions, so that questions asked ahead of results cost
  /// quality.
  bool learns = true;
  bool looks_elsewhere = false;  ///< True if it uses rankings.
};
const std::vector<StrategyInfo>& strategies();

/// Returns how many configurations may be asked for and not yet told: as many as compilers and
/// devices need if the strategy learns; else more, which costs nothing.
std::size_t in_flight(bool learns, std::size_t compilers, std::size_t devices);

/// Throws InputError that lists the known names.
const StrategyInfo& strategy_info(std::string_view name);

/// Throws InputError that lists the known names.
std::unique_ptr<Strategy> make_strategy(std::string_view name, std::vector<SearchedKernel> kernels,
                                        std::uint64_t seed);

}  // namespace smemtune
