#include "tuner/search/chance_of_better.h"

#include <algorithm>
#include <cmath>

namespace smemtune {

namespace {

// See chance_of_better().
constexpr double kLogOdds = 7.43;
constexpr double kExpectedPower = 0.4;
constexpr double kEvaluationsPower = 1.6;
constexpr double kLeastExpected = 1e-3;  // A model that is surer than this is not believed.

constexpr double kHidden = 0.02;

double untried_share(std::uint64_t all, std::uint64_t evaluated) {
  if (evaluated >= all) return 0;
  return 1 - static_cast<double>(evaluated) / static_cast<double>(all);
}

}  // namespace

double chance_of_better(const SearchedSoFar& searched) {
  const double untried = untried_share(searched.all, searched.evaluated);
  if (!(untried > 0)) return 0;
  const double expected = std::clamp(searched.expected.value_or(1), kLeastExpected, 1.0);
  const double evaluated = static_cast<double>(std::max<std::uint64_t>(1, searched.evaluated));
  const double odds = std::exp(kLogOdds + kExpectedPower * std::log(expected) -
                               kEvaluationsPower * std::log(evaluated));
  return untried * odds / (1 + odds);
}

double chance_of_all(double nothing_better, std::uint64_t all, std::uint64_t evaluated) {
  return 1 - nothing_better * (1 - kHidden * untried_share(all, evaluated));
}

double evaluations_until(double chance, double least, std::uint64_t evaluated) {
  const auto odds = [](double of) { return std::max(1e-9, of - kHidden) / (1 - of); };
  if (!(chance > least)) return static_cast<double>(evaluated);
  if (chance >= 1) return HUGE_VAL;
  return static_cast<double>(evaluated) *
         std::pow(odds(chance) / odds(least), 1 / kEvaluationsPower);
}

void LastGain::tell(std::optional<double> time_ms) {
  ++evaluations_;
  if (!time_ms || (last_gain_ > 0 && *time_ms * kGain >= best_ms_)) return;
  best_ms_ = *time_ms;
  last_gain_ = evaluations_;
}

}  // namespace smemtune
