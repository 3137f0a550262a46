#include "tuner/engine/left_to_evaluate.h"

#include "tuner/search/chance_of_better.h"

#include <algorithm>
#include <map>
#include <vector>

namespace smemtune {

namespace {

/// Returns true if a configuration that was given up early is as fast as the best that its kernel
/// has in full. A long launch of a kernel that is far behind the others shows enough of it.
bool may_be_best(std::span<const SeenTimes> times, std::size_t kernel, const Result& result) {
  if (!result.lost_early()) return false;
  const double time_ms = result.time_ms().value_or(0);
  if (time_ms > times[kernel].least_full_ms()) return false;
  const double least_ms = std::ranges::min(times, {}, &SeenTimes::least_full_ms).least_full_ms();
  return time_ms < kLongLaunch_ms || time_ms <= kDoubtfulToAny * least_ms;
}

/// Returns the fastest few that a few samples do not tell apart, the fastest first.
std::vector<const Entry*> fastest_few(const ProblemState& state) {
  constexpr std::size_t kMost = 3;
  std::vector<const Entry*> few;
  for (const Entry& entry : state.entries) {
    if (entry.result.timed() && !entry.result.given_up) few.push_back(&entry);
  }
  std::ranges::stable_sort(few, {}, [](const Entry* one) { return one->result.time_ms(); });
  few.resize(std::min(few.size(), kMost));
  std::erase_if(few, [&](const Entry* one) {
    return *one->result.time_ms() > LastGain::kGain * *few.front()->result.time_ms();
  });
  return few;
}

/// Returns the configurations in which one parameter has the value before or after in its list.
std::vector<ConfigurationIndex> steps_from(const SearchSpace& space,
                                           ConfigurationIndex configuration) {
  const std::vector<std::size_t> from = space.value_indices(configuration);
  std::vector<ConfigurationIndex> steps = space.neighbors(configuration);
  std::erase_if(steps, [&](ConfigurationIndex one) {
    const std::vector<std::size_t> to = space.value_indices(one);
    const auto [here, there] = std::ranges::mismatch(from, to);
    return std::max(*here, *there) - std::min(*here, *there) > 1;
  });
  return steps;
}

}  // namespace

std::set<Candidate> given_up_too_early(const ProblemState& state,
                                       std::span<const SeenTimes> times) {
  const auto leader = std::ranges::min_element(times, {}, &SeenTimes::least_full_ms);
  std::set<Candidate> candidates;
  std::map<std::size_t, const Entry*> fastest;
  for (const Entry& entry : state.entries) {
    const std::size_t kernel = entry.candidate.kernel;
    const bool is_of_leader = &times[kernel] == &*leader;
    if (is_of_leader && entry.result.is_default && entry.result.lost_early()) {
      candidates.insert(entry.candidate);
    }
    if (!may_be_best(times, kernel, entry.result)) continue;
    const Entry*& its = fastest[kernel];
    if (its == nullptr || entry.result.time_ms() < its->result.time_ms()) its = &entry;
  }
  for (const auto& [kernel, entry] : fastest) candidates.insert(entry->candidate);
  return candidates;
}

std::set<Candidate> beside_fastest(const ProblemState& state) {
  std::set<Candidate> beside;
  for (const Entry* const entry : fastest_few(state)) {
    const std::size_t kernel = entry->candidate.kernel;
    const SearchSpace& space = state.kernels[kernel].bound.front().search_space();
    for (const ConfigurationIndex one : steps_from(space, entry->candidate.configuration)) {
      beside.insert({.kernel = kernel, .configuration = one});
    }
  }
  for (const Entry& entry : state.entries) beside.erase(entry.candidate);
  return beside;
}

}  // namespace smemtune
