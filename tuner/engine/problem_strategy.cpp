#include "tuner/engine/problem_strategy.h"

#include "tuner/core/hash.h"
#include "tuner/core/launch_cost.h"
#include "tuner/core/text.h"
#include "tuner/search/chance_of_better.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

namespace {

// A configuration that took at most so many times as long as the winner there may be the best here,
// on a board whose clocks or memory are a little different. More than so many are seldom so near.
constexpr double kNear = 1.03;
constexpr std::size_t kMostNear = 8;

std::optional<double> time_of(const PriorTimings& prior_timings, const Configuration& wanted) {
  const auto found = std::ranges::find(prior_timings.timed, wanted,
                                       [](const auto& timed) { return timed.second; });
  return found == prior_timings.timed.end() ? std::nullopt : std::optional(found->first);
}

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

std::optional<Candidate> candidate_of(const ProblemState& state, const std::string& kernel,
                                      const Configuration& configuration) {
  for (std::size_t i = 0; i < state.kernels.size(); ++i) {
    if (state.kernels[i].kernel().name != kernel) continue;
    const auto index = state.kernels[i].bound.front().search_space().index_of(configuration);
    if (index) return Candidate{.kernel = i, .configuration = *index};
  }
  return std::nullopt;
}

std::string kernels_sha256(const ProblemState& state) {
  std::vector<std::string> hashes;
  for (const KernelOnProblems& kernel : state.kernels) hashes.push_back(kernel.hash);
  std::ranges::sort(hashes);
  std::string text;
  for (const std::string& hash : hashes) text += hash + "\n";
  return sha256(text);
}

SearchedBefore::SearchedBefore(const Tuning& tuning, const ProblemState& state, double percent) {
  if (!(percent > 0)) return;
  const std::string kernels = kernels_sha256(state);
  const auto is_here = [&](const PriorTimings& prior) {
    return prior.device_distance == 0 && prior.problem == state.set.problems.front();
  };
  const PriorTimings* from = nullptr;
  for (const PriorTimings& prior : tuning.prior_timings) {
    if (!is_here(prior) || !prior.winner || (prior.is_in_log && !tuning.request.options.resume)) {
      continue;
    }
    const Searched& searched = prior.winner->searched;
    if (searched.percent > percent || searched.valid != state.summary.valid ||
        searched.kernels_sha256 != kernels) {
      continue;
    }
    const auto winner = candidate_of(state, prior.kernel, prior.winner->configuration);
    if (!winner || (searched_ && searched_->chance_of_better <= searched.chance_of_better))
      continue;
    searched_ = searched;
    winner_ = *winner;
    cubin_sha256_ = prior.winner->cubin_sha256;
    from = &prior;
  }
  if (from == nullptr) return;
  if (!from->is_in_log) searched_->elsewhere += searched_->evaluated;
  missing_.insert(winner_);
  for (const KernelOnProblems& kernel : state.kernels) {
    const auto its =
        candidate_of(state, kernel.kernel().name, kernel.kernel().default_configuration);
    if (its) missing_.insert(*its);
  }
  if (from->is_in_log) return;
  first_.push_back(winner_);
  const std::optional<double> winner_ms = time_of(*from, from->winner->configuration);
  for (const PriorTimings& prior : tuning.prior_timings) {
    if (winner_ms && is_here(prior)) add(state, prior, kNear * *winner_ms);
  }
}

void SearchedBefore::add(const ProblemState& state, const PriorTimings& prior_timings,
                         double most_ms) {
  std::vector<std::pair<double, Candidate>> near;
  for (const auto& [time_ms, configuration] : prior_timings.timed) {
    if (time_ms > most_ms) continue;
    const auto candidate = candidate_of(state, prior_timings.kernel, configuration);
    if (candidate) near.emplace_back(time_ms, *candidate);
  }
  std::ranges::sort(near);
  for (const auto& [time_ms, candidate] : near) {
    if (first_.size() > kMostNear || !missing_.insert(candidate).second) continue;
    first_.push_back(candidate);
  }
}

void SearchedBefore::tell(const Candidate& candidate, const Result& result) {
  if (!searched_) return;
  missing_.erase(candidate);
  const std::optional<double> time_ms = result.time_ms();
  if (candidate == winner_) {
    is_refuted_ = !time_ms || cubin_sha256_.empty() || result.cubin_sha256 != cubin_sha256_;
  }
  if (!time_ms) return;
  // A few samples of a short kernel differ by more than a search looks for.
  const Measurement& measured = result.measurement;
  const bool has_interval = measured.has_median() && measured.median_low_ms > 0;
  if (candidate == winner_) winner_low_ms_ = has_interval ? measured.median_low_ms : *time_ms;
  const double high_ms = has_interval ? measured.median_high_ms : *time_ms;
  best_high_ms_ = std::min(best_high_ms_.value_or(high_ms), high_ms);
}

std::optional<std::size_t> SearchedBefore::missing() const {
  if (!searched_ || is_refuted_ || searched_->chance_of_better > kSureChance) return std::nullopt;
  return missing_.empty() && !confirmed() ? std::nullopt : std::optional(missing_.size());
}

std::optional<Searched> SearchedBefore::confirmed() const {
  if (!missing_.empty() || is_refuted_ || !winner_low_ms_) return std::nullopt;
  if (*best_high_ms_ * (1 + searched_->percent / 100) < *winner_low_ms_) return std::nullopt;
  return searched_;
}

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
