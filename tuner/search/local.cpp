#include "tuner/search/local.h"

#include <span>

namespace smemtune {

namespace {

constexpr std::size_t kFirstPoints = 10;
constexpr std::uint64_t kMostStepsAway = 4;

}  // namespace

std::optional<ConfigurationIndex> Local::ask() {
  if (first_asked_ < kFirstPoints) {
    ++first_asked_;
    return untried_.take_next();
  }
  while (!neighbors_.empty()) {
    const ConfigurationIndex neighbor = neighbors_.back();
    neighbors_.pop_back();
    if (untried_.take(neighbor)) return neighbor;
  }
  current_.reset();  // The next configuration competes with its own neighbors only.
  return best_ ? take_away_from_best() : untried_.take_next();
}

std::optional<ConfigurationIndex> Local::take_away_from_best() {
  ConfigurationIndex at = best_->configuration;
  const std::uint64_t steps = 2 + below(random_, kMostStepsAway - 1);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::vector<ConfigurationIndex> neighbors = untried_.space().neighbors(at);
    if (neighbors.empty()) break;
    at = neighbors[static_cast<std::size_t>(below(random_, neighbors.size()))];
  }
  if (untried_.take(at)) return at;
  return untried_.take_next();
}

void Local::tell(ConfigurationIndex configuration, std::optional<double> time_ms) {
  if (!time_ms) return;
  const Timed told = {.configuration = configuration, .time_ms = *time_ms};
  if (!best_ || told.time_ms < best_->time_ms) best_ = told;
  if (!current_ || told.time_ms < current_->time_ms) descend_from(told);
}

void Local::descend_from(const Timed& start) {
  current_ = start;
  neighbors_ = untried_.neighbors(start.configuration);
  shuffle(std::span(neighbors_), random_);
}

}  // namespace smemtune
