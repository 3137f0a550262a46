#include "tuner/engine/problem_strategy.h"

#include "tuner/core/launch_cost.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

namespace {

constexpr std::string_view kBlind = "random";

/// Asks for the configurations of a list, in its order.
class Listed final : public Strategy {
 public:
  Listed(const ProblemState& state, const std::vector<KernelConfiguration>& only) {
    for (const KernelConfiguration& wanted : only) {
      const auto candidate = candidate_of(state, wanted.kernel, wanted.configuration);
      if (candidate) candidates_.push_back(*candidate);
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

/// Ranks the configurations of the space that have a time in `prior_timings`.
Ranking ranking_of(const PriorTimings& prior_timings, const SearchSpace& space) {
  Ranking ranking = {.device = prior_timings.device, .fastest_first = {}};
  for (const auto& [time_ms, configuration] : prior_timings.timed) {
    const auto index = space.index_of(configuration);
    if (index) ranking.fastest_first.push_back({.time_ms = time_ms, .configuration = *index});
  }
  std::ranges::sort(ranking.fastest_first);
  return ranking;
}

/// Returns rankings from elsewhere, the most similar first: for the same problem, then on similar
/// devices, then those of which most is known.
std::vector<Ranking> rankings(const Tuning& tuning, const ProblemState& state,
                              const std::string& kernel, const SearchSpace& space) {
  const TuningOptions& options = tuning.request.options;
  if (options.cold || tuning.log == nullptr || space.size() < 2) return {};
  if (!strategy_info(options.strategy).looks_elsewhere) return {};
  std::vector<const PriorTimings*> found;
  for (const PriorTimings& prior_timings : tuning.prior_timings) {
    if (prior_timings.kernel == kernel && !prior_timings.is_in_log) found.push_back(&prior_timings);
  }
  const Problem& problem = state.set.problems.front();
  std::ranges::stable_sort(found, {}, [&](const PriorTimings* prior_timings) {
    return std::pair(prior_timings->problem != problem, prior_timings->device_distance);
  });
  std::vector<Ranking> rankings;
  for (const PriorTimings* prior_timings : found) {
    Ranking ranking = ranking_of(*prior_timings, space);
    if (ranking.fastest_first.empty()) continue;
    rankings.push_back(std::move(ranking));
    if (rankings.size() == kMostPriorTimings) break;
  }
  return rankings;
}

/// Returns what a strategy searches. Adds to `told` what it is told of other problems and devices.
std::vector<SearchedKernel> searched_kernels(const Tuning& tuning, const ProblemState& state,
                                             const SearchedBefore& before, std::string& told) {
  std::vector<SearchedKernel> kernels;
  std::set<std::string> devices;
  std::size_t tried = 0;
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
    for (const Candidate& first : before.first()) {
      if (first.kernel + 1 == kernels.size()) kernels.back().first.push_back(first.configuration);
    }
    for (const Ranking& ranking : kernels.back().rankings) {
      devices.insert(ranking.device);
      tried += ranking.fastest_first.size();
    }
  }
  if (tried > 0) {
    told = "also tries what was fast on " +
           joined(std::vector(devices.begin(), devices.end()), ", ") + ": " +
           counted(tried, "configuration");
  }
  return kernels;
}

}  // namespace

bool learns(const Tuning& tuning) {
  return tuning.log != nullptr && tuning.request.only.empty() &&
         strategy_info(tuning.request.options.strategy).learns;
}

std::unique_ptr<Strategy> listed(const ProblemState& state,
                                 const std::vector<KernelConfiguration>& only) {
  return std::make_unique<Listed>(state, only);
}

double until_percent(const Tuning& tuning, const ProblemState& state) {
  // A curve that a space predicts needs all of its points.
  const auto predicts = [](const KernelOnProblems& kernel) {
    return kernel.kernel().expect.has_value();
  };
  if (!learns(tuning) || std::ranges::any_of(state.kernels, predicts)) return 0;
  return tuning.request.options.budget.until();
}

std::vector<Configuration> known_configurations(const Tuning& tuning, const ProblemState& state,
                                                const KernelOnProblems& kernel) {
  return tuning.log->known({.kernel_hash = kernel.hash,
                            .kernel = kernel.kernel().name,
                            .problem = state.set.problems.front(),
                            .configuration = {}});
}

PlannedSearch plan_search(Tuning& tuning, const ProblemState& state) {
  const double percent = until_percent(tuning, state);
  PlannedSearch search = {.before = SearchedBefore(tuning, state, percent), .strategy = nullptr};
  if (!search.before.is_in_log() && tuning.further_elsewhere) {
    const auto read = std::exchange(tuning.further_elsewhere, nullptr);
    std::ranges::move(read(), std::back_inserter(tuning.prior_timings));
    search.before = SearchedBefore(tuning, state, percent);
  }
  if (!tuning.request.only.empty()) {
    search.strategy = listed(state, tuning.request.only);
    return search;
  }
  const TuningOptions& options = tuning.request.options;
  const std::string_view name = tuning.log == nullptr ? kBlind : options.strategy;
  search.strategy = make_strategy(name, searched_kernels(tuning, state, search.before, search.told),
                                  options.seed);
  return search;
}

}  // namespace smemtune
