#include "tuner/search/model.h"

#include <algorithm>
#include <limits>

namespace smemtune {

namespace {

constexpr int kDrawn = 64;

float distance_between(std::span<const float> one, std::span<const float> other) {
  float sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += (one[i] - other[i]) * (one[i] - other[i]);
  return sum;
}

}  // namespace

std::optional<ConfigurationIndex> Model::ask() {
  if (!cost_ || untried_.is_mostly_taken()) return untried_.take_next();
  std::optional<ConfigurationIndex> cheapest;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kDrawn; ++i) {
    const std::optional<ConfigurationIndex> drawn = untried_.draw(random_);
    if (!drawn) break;
    const double cost = cost_(*drawn, registers_near(*drawn));
    if (!(cost < least)) continue;
    cheapest = drawn;
    least = cost;
  }
  if (!cheapest) return untried_.take_next();
  untried_.take(*cheapest);
  return cheapest;
}

void Model::tell_registers(ConfigurationIndex configuration, int registers) {
  compiled_.push_back({.place = place(configuration), .registers = registers});
}

int Model::registers_near(ConfigurationIndex configuration) const {
  if (compiled_.empty()) return kUsualRegisters;
  const std::vector<float> own = place(configuration);
  return std::ranges::min_element(
             compiled_, {}, [&](const Compiled& one) { return distance_between(one.place, own); })
      ->registers;
}

}  // namespace smemtune
