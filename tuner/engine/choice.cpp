#include "tuner/engine/choice.h"

#include <algorithm>
#include <tuple>

namespace smemtune {

namespace {

int registers(const Result& result) {
  int most = 0;
  for (const LaunchResult& launch : result.launches) {
    most = std::max(most, launch.resources.registers_per_thread);
  }
  return most;
}

bool preferred(const Result& a, const Result& b) {
  const auto rank = [](const Result& r) {
    return std::tuple(!r.chosen, r.shared_bytes(), registers(r), r.measurement.median_ms, r.kernel,
                      key(r.configuration));
  };
  return rank(a) < rank(b);
}

}  // namespace

std::vector<const Result*> tied_with(const Result& first, const std::vector<const Result*>& results,
                                     double tie_percent) {
  std::vector<const Result*> tied = {&first};
  const double most_ms = first.measurement.median_ms * (1 + tie_percent / 100);
  for (const Result* other : results) {
    const bool is_tied = other->stage == Stage::final && other->measurement.median_ms <= most_ms;
    if (is_tied && other != &first) tied.push_back(other);
  }
  return tied;
}

const Result& choose(std::vector<const Result*> equals, double tie_percent) {
  const auto median_ms = [](const Result* result) { return result->measurement.median_ms; };
  std::ranges::sort(equals, {}, median_ms);
  const double most_ms = median_ms(equals.front()) * (1 + tie_percent / 100);
  const auto slower = std::ranges::upper_bound(equals, most_ms, {}, median_ms);
  return **std::ranges::min_element(
      equals.begin(), slower, [](const Result* a, const Result* b) { return preferred(*a, *b); });
}

}  // namespace smemtune
