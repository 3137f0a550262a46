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
  std::size_t kernel = 0;  ///< Number of the kernel among those that are searched.
  ConfigurationIndex configuration = 0;

  auto operator<=>(const Candidate&) const = default;
};

/// How another search of the same kernel ended: for another problem, or on another device.
struct Ranking {
  std::string place;  ///< For people: the device, the problem.
  std::vector<ConfigurationIndex> fastest_first;

  bool operator==(const Ranking&) const = default;
};

/// What a configuration may cost with so many registers per thread, in no unit, by what is known
/// before it is compiled (core/launch_cost.h); infinite: it cannot run.
using LaunchCost = std::function<double(ConfigurationIndex, int registers)>;

/// What a strategy may know of the kernels it searches.
struct SearchedKernel {
  const SearchSpace* space = nullptr;
  std::optional<ConfigurationIndex> default_configuration;  ///< Nullopt when it is not valid here.
  std::vector<Ranking> rankings = {};                       ///< The most alike place first.
  LaunchCost cost = {};  ///< Empty: nothing is known of its launches.
};

/// Decides which configuration to evaluate next. The caller asks several times before it tells, so
/// that compiling runs ahead; it tells in the order in which it asked.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// The next configuration, or nullopt when nothing is left to try. Never repeats an answer.
  virtual std::optional<Candidate> ask() = 0;

  /// What the evaluation of `candidate` found. Failures are told too.
  virtual void tell(const Candidate& candidate, const Result& result) = 0;
};

/// Names and one-line descriptions for --help, in order.
struct StrategyInfo {
  std::string name;
  std::string description;
  /// What it is told changes what it asks for, so that what is asked for blindly costs.
  bool learns = true;
  bool looks_elsewhere = false;  ///< It uses rankings.
};
const std::vector<StrategyInfo>& strategies();

/// How many configurations are in flight, asked for and not yet told: as many as compilers and
/// devices need where what is told changes what is asked for; else more, which costs nothing.
std::size_t in_flight(bool learns, std::size_t compilers, std::size_t devices);

/// Throws InputError naming the known ones.
const StrategyInfo& strategy_info(std::string_view name);

/// Throws InputError likewise.
std::unique_ptr<Strategy> make_strategy(std::string_view name, std::vector<SearchedKernel> kernels,
                                        std::uint64_t seed);

}  // namespace smemtune
