#include "tuner/search/chance_follower.h"

#include <algorithm>

namespace smemtune {

void ChanceFollower::tell(std::optional<double> time_ms, bool estimates) {
  constexpr std::uint64_t kEvery = 4;
  gains_.tell(time_ms);
  if (!estimates || gains_.last_gain() == 0 || !all_) return;
  const double untried =
      std::max(0.0, 1 - static_cast<double>(gains_.evaluations()) / static_cast<double>(*all_));
  if (!learns_) {
    now_ = untried;
  } else if (untried == 0) {
    now_ = 0;
  } else if (gains_.evaluations() % kEvery == 0) {
    now_ = strategy_.chance_of_better(gain_);
  }
}

}  // namespace smemtune
