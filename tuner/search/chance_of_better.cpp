#include "tuner/search/chance_of_better.h"

#include <algorithm>

namespace smemtune {

namespace {

constexpr double kBegin = 10;
constexpr double kHidden = 0.2;

}  // namespace

void ChanceOfBetter::tell(std::optional<double> time_ms) {
  ++evaluations_;
  if (!time_ms || (last_gain_ > 0 && *time_ms * kGain >= best_ms_)) return;
  best_ms_ = *time_ms;
  last_gain_ = evaluations_;
}

std::optional<double> ChanceOfBetter::after(std::uint64_t all, bool learns) const {
  if (last_gain_ == 0) return std::nullopt;
  const auto n = static_cast<double>(evaluations_);
  const double unseen = std::max(0.0, 1 - n / static_cast<double>(all));
  if (!learns) return unseen;
  const double goes_on = std::min(1.0, (static_cast<double>(last_gain_) + kBegin) / n);
  return unseen * (kHidden + (1 - kHidden) * goes_on);
}

}  // namespace smemtune
