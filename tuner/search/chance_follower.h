#pragma once

#include "tuner/search/chance_of_better.h"
#include "tuner/search/strategy.h"

#include <cstdint>
#include <optional>

namespace smemtune {

/// Follows a search and what it may have missed. A strategy that learns is asked after every fourth
/// result, always the same ones, since its questions may depend on it; one that does not leaves
/// what is better wherever it has not looked yet.
class ChanceFollower {
 public:
  /// `all`: number of configurations; nullopt: too many to count. The strategy must outlive this.
  ChanceFollower(Strategy& strategy, std::optional<std::uint64_t> all, bool learns,
                 double gain = LastGain::kGain)
      : strategy_(strategy), all_(all), learns_(learns), gain_(gain) {}

  /// Records a result that the strategy was told; nullopt: it failed. `estimates`: false leaves
  /// now() as it is, which takes no time.
  void tell(std::optional<double> time_ms, bool estimates = true);

  /// Returns the chance that something more than `gain` times as fast is left; nullopt where
  /// nothing is known of it.
  std::optional<double> now() const { return now_; }

  const LastGain& last_gain() const { return gains_; }

 private:
  Strategy& strategy_;
  std::optional<std::uint64_t> all_;
  bool learns_;
  double gain_;
  LastGain gains_;
  std::optional<double> now_;
};

}  // namespace smemtune
