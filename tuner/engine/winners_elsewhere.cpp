#include "tuner/engine/winners_elsewhere.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/engine/search.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace smemtune {

namespace {

bool times_winners_elsewhere(const TuningRequest& request) {
  return request.only.empty() && request.problems.size() > 1;
}

/// A problem and the other problems' winners that nothing is known of there.
struct Missing {
  std::size_t problem = 0;
  std::vector<KernelConfiguration> winners;
};

bool is_known(const Tuning& tuning, const ProblemSummary& problem, const Result& winner) {
  const bool is_here = std::ranges::any_of(problem.results, [&](const Result& one) {
    return one.kernel == winner.kernel && one.configuration == winner.configuration;
  });
  const auto hash = tuning.hashes.find(winner.kernel);
  if (is_here || hash == tuning.hashes.end()) return true;
  return tuning.log
      ->find({.kernel_hash = hash->second,
              .kernel = winner.kernel,
              .problem = problem.problem,
              .configuration = winner.configuration})
      .has_value();
}

/// Returns what is missing, of the problem that is prepared fastest first.
std::vector<Missing> missing(const Tuning& tuning) {
  const std::vector<ProblemSummary>& problems = tuning.summary.problems;
  std::vector<Missing> all;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    Missing one = {.problem = i, .winners = {}};
    for (const ProblemSummary& other : problems) {
      const Result* const winner = other.best();
      if (&other == &problems[i] || winner == nullptr || is_known(tuning, problems[i], *winner)) {
        continue;
      }
      const KernelConfiguration wanted = {winner->kernel, winner->configuration};
      if (std::ranges::find(one.winners, wanted) == one.winners.end()) {
        one.winners.push_back(wanted);
      }
    }
    if (!one.winners.empty()) all.push_back(std::move(one));
  }
  std::ranges::stable_sort(all, {},
                           [&tuning](const Missing& one) { return tuning.prepare_s[one.problem]; });
  return all;
}

/// Returns how many were measured or failed.
std::size_t measure(Tuning& tuning, const Missing& missing, const ProblemBudget& budget) {
  ProblemSummary& summary = tuning.summary.problems[missing.problem];
  ProblemState state = begin_problem(tuning, summary.problem, missing.problem + 1);
  search(tuning, state, budget, missing.winners);
  tuning.summary.device_s = device_s(tuning, state);
  summary.evaluated += state.summary.evaluated;
  std::erase_if(state.entries, [](const Entry& entry) {
    return entry.origin == Entry::Origin::log;  // The search was told what the summary has.
  });
  for (Entry& entry : state.entries) summary.results.push_back(std::move(entry.result));
  summary.bests = tuning.log->bests(summary.problem, tuning.hashes);
  return state.entries.size();
}

}  // namespace

Budget budget_of_problems(const TuningRequest& request) {
  Budget budget = request.options.budget;
  if (!times_winners_elsewhere(request)) return budget;
  budget.max_seconds *= 1 - kElsewhereShare;
  budget.max_device_seconds *= 1 - kElsewhereShare;
  return budget;
}

void time_winners_elsewhere(Tuning& tuning) {
  const TuningRequest& request = tuning.request;
  const Budget& most = request.options.budget;
  if (tuning.log == nullptr || tuning.stop || !times_winners_elsewhere(request)) return;
  const bool was_out_of_budget = tuning.summary.out_of_budget;
  double until_s = tuning.elapsed_s() * (1 + kElsewhereShare);
  if (most.max_seconds > 0) until_s = std::min(until_s, most.max_seconds);
  std::size_t count = 0;
  try {
    for (const Missing& one : missing(tuning)) {
      if (tuning.elapsed_s() + tuning.prepare_s[one.problem] >= until_s || tuning.stop) break;
      if (tuning.summary.evaluated >= most.max_evaluations) break;
      count += measure(tuning, one,
                       {.evaluations = most.max_evaluations == UINT64_MAX
                                           ? UINT64_MAX
                                           : most.max_evaluations - tuning.summary.evaluated,
                        .until_s = until_s,
                        .until_device_s = most.max_device_seconds});
    }
  } catch (const Cancelled&) {
    // The time was up while valid configurations were being listed.
  } catch (const Error& error) {
    tuning.observer.note(std::string("winners were not measured for all other problems: ") +
                         error.what());
  }
  tuning.summary.out_of_budget = was_out_of_budget;  // Of what was asked for.
  if (count > 0) {
    tuning.observer.note("measured " + counted(count, "winner") +
                         " for other problems, for sizes that were not tuned");
  }
}

}  // namespace smemtune
