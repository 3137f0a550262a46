#include "tuner/engine/searched_before.h"

#include "tuner/core/hash.h"
#include "tuner/search/chance_of_better.h"

#include <algorithm>

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

}  // namespace smemtune
