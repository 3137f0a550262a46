#include "tuner/engine/strategy_choice.h"

#include "tuner/core/launch_cost.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

namespace {

constexpr std::string_view kBlind = "random";

/// Returns the configurations that the request names, in its order.
class Listed final : public Strategy {
 public:
  Listed(const ProblemState& state, const std::vector<KernelConfiguration>& only) {
    for (const KernelConfiguration& wanted : only) {
      for (std::size_t i = 0; i < state.kernels.size(); ++i) {
        if (state.kernels[i].kernel().name != wanted.kernel) continue;
        const SearchSpace& space = state.kernels[i].bound.front().search_space();
        const auto index = space.index_of(wanted.configuration);
        if (index) candidates_.push_back({.kernel = i, .configuration = *index});
      }
    }
  }

  std::optional<Candidate> ask() override {
    if (candidates_.empty()) return std::nullopt;
    const Candidate candidate = candidates_.front();
    candidates_.pop_front();
    return candidate;
  }

  void tell(const Candidate&, const Result&) override {}

 private:
  std::deque<Candidate> candidates_;
};

/// Ranks the configurations of the space that were timed in `findings`.
Ranking ranking_of(const Findings& findings, const SearchSpace& space) {
  std::vector<std::pair<double, ConfigurationIndex>> timed;
  for (const auto& [time_ms, configuration] : findings.timed) {
    const auto index = space.index_of(configuration);
    if (index) timed.emplace_back(time_ms, *index);
  }
  std::ranges::sort(timed);
  Ranking ranking = {.place = findings.device + ", " + key(findings.problem), .fastest_first = {}};
  for (const auto& [time_ms, index] : timed) ranking.fastest_first.push_back(index);
  return ranking;
}

/// Returns rankings from elsewhere, the most similar first: for the same problem, then on similar
/// devices, then those of which most is known.
std::vector<Ranking> rankings(const Tuning& tuning, const ProblemState& state,
                              const std::string& kernel, const SearchSpace& space) {
  const TuningOptions& options = tuning.request.options;
  if (options.cold || tuning.log == nullptr || space.size() < 2) return {};
  if (!strategy_info(options.strategy).looks_elsewhere) return {};
  std::vector<const Findings*> found;
  for (const Findings& findings : tuning.findings) {
    if (findings.kernel == kernel) found.push_back(&findings);
  }
  const Problem& problem = state.set.problems.front();
  std::ranges::stable_sort(found, {}, [&](const Findings* findings) {
    return std::pair(findings->problem != problem, findings->device_distance);
  });
  std::vector<Ranking> rankings;
  for (const Findings* findings : found) {
    Ranking ranking = ranking_of(*findings, space);
    if (ranking.fastest_first.empty()) continue;
    rankings.push_back(std::move(ranking));
    if (rankings.size() == kMostFindings) break;
  }
  return rankings;
}

std::vector<SearchedKernel> searched_kernels(const Tuning& tuning, const ProblemState& state) {
  std::vector<SearchedKernel> kernels;
  for (const KernelOnProblems& kernel : state.kernels) {
    const SearchSpace& space = kernel.bound.front().search_space();
    const std::string& name = kernel.kernel().name;
    kernels.push_back(
        {.space = &space,
         .default_configuration = space.index_of(kernel.kernel().default_configuration),
         .rankings = rankings(tuning, state, name, space),
         .cost = [bound = kernel.bound.front(), &device = tuning.device](ConfigurationIndex index,
                                                                         int registers) {
           return launch_cost(bound, bound.search_space().configuration(index), device, registers);
         }});
    for (const Ranking& ranking : kernels.back().rankings) {
      tuning.observer.note(name + ": also tries what was fast on " + ranking.place + " (" +
                           std::to_string(ranking.fastest_first.size()) + " configurations)");
    }
  }
  return kernels;
}

}  // namespace

std::unique_ptr<Strategy> strategy_of(const Tuning& tuning, const ProblemState& state) {
  if (!tuning.request.only.empty()) return std::make_unique<Listed>(state, tuning.request.only);
  const TuningOptions& options = tuning.request.options;
  const std::string_view name = tuning.log == nullptr ? kBlind : options.strategy;
  return make_strategy(name, searched_kernels(tuning, state), options.seed);
}

}  // namespace smemtune
