#include "tuner/search/replay.h"

#include "tuner/core/measurement.h"
#include "tuner/search/chance_follower.h"
#include "tuner/search/strategy.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>

namespace smemtune {

namespace {

constexpr std::uint64_t kMilestones[] = {20, 50, 100, 200, 500};
constexpr double kShares[] = {0.95, 0.99};

/// Compilers and a device that take as long as was recorded.
class Workers {
 public:
  explicit Workers(std::size_t compilers) : compilers_s_(std::max<std::size_t>(1, compilers)) {}

  /// Schedules a question when it is asked.
  void add(double asked_s, const RecordedKernel::Answer& answer) {
    const auto compiler = std::ranges::min_element(compilers_s_);
    *compiler = std::max(*compiler, asked_s) + answer.compile_ms * 1e-3;
    jobs_.push_back({.compiled_s = *compiler, .device_s = answer.device_ms * 1e-3});
  }

  /// Returns when the oldest question is answered.
  double finish_first() {
    while (!jobs_.front().done_s) run_next();
    const double done_s = *jobs_.front().done_s;
    jobs_.pop_front();
    return done_s;
  }

 private:
  struct Job {
    double compiled_s = 0;
    double device_s = 0;
    std::optional<double> done_s = std::nullopt;
  };

  void run_next() {
    Job* next = nullptr;
    const auto start_s = [&](const Job& job) { return std::max(device_s_, job.compiled_s); };
    for (Job& job : jobs_) {
      if (!job.done_s && (next == nullptr || start_s(job) < start_s(*next))) next = &job;
    }
    const double done_s = start_s(*next) + next->device_s;
    if (next->device_s > 0) device_s_ = done_s;
    next->done_s = done_s;
  }

  std::vector<double> compilers_s_;  ///< When each becomes free.
  double device_s_ = 0;
  std::deque<Job> jobs_;
};

void set_answer(const RecordedKernel::Answer& answer, Result& result) {
  result.status = answer.time_ms ? Status::correct : Status::runtime;
  result.stage = answer.time_ms ? Stage::screen : Stage::none;
  result.measurement.median_ms = answer.time_ms.value_or(0);
  result.launches.resize(1);
  result.launches.front().resources.registers_per_thread = answer.registers;
}

ReplayStatistics::Quality quality(std::span<const std::vector<Replayed>> runs,
                                  std::uint64_t evaluations) {
  std::vector<double> shares;
  for (const std::vector<Replayed>& run : runs) {
    const std::size_t last = std::min<std::size_t>(run.size(), evaluations);
    shares.push_back(last == 0 ? 0 : run[last - 1].share);
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  return {.evaluations = evaluations,
          .mean = sum / static_cast<double>(shares.size()),
          .q1 = quantile(shares, 0.25),
          .median = quantile(shares, 0.5),
          .q3 = quantile(shares, 0.75)};
}

ReplayStatistics::Effort effort(std::span<const std::vector<Replayed>> runs, double share) {
  ReplayStatistics::Effort effort = {.share = share};
  std::vector<double> evaluations;
  std::vector<double> seconds;
  for (const std::vector<Replayed>& run : runs) {
    const auto first =
        std::ranges::find_if(run, [&](const Replayed& one) { return one.share >= share; });
    if (first == run.end()) continue;
    evaluations.push_back(static_cast<double>(first - run.begin() + 1));
    seconds.push_back(first->done_s);
  }
  effort.reached = evaluations.size();
  const std::size_t middle = (runs.size() - 1) / 2;
  if (middle >= effort.reached) return effort;
  std::ranges::sort(evaluations);
  std::ranges::sort(seconds);
  effort.evaluations = evaluations[middle];
  effort.seconds = seconds[middle];
  return effort;
}

ReplayStatistics::Ended ended(std::span<const std::vector<Replayed>> runs) {
  ReplayStatistics::Ended ended;
  std::vector<double> evaluations;
  for (const std::vector<Replayed>& run : runs) {
    auto end = run.begin();
    while (end != run.end() &&
           !is_sure(end->chance, static_cast<std::uint64_t>(end - run.begin() + 1))) {
      ++end;
    }
    if (end == run.end()) continue;
    evaluations.push_back(static_cast<double>(end - run.begin() + 1));
    if (end->share * LastGain::kGain < 1) ++ended.wrong;
    ended.mean_regret += 1 / end->share - 1;
    ended.worst_regret = std::max(ended.worst_regret, 1 / end->share - 1);
  }
  ended.runs = evaluations.size();
  if (evaluations.empty()) return ended;
  ended.mean_regret /= static_cast<double>(ended.runs);
  ended.evaluations = quantile(evaluations, 0.5);
  return ended;
}

}  // namespace

std::optional<double> RecordedKernel::best_ms() const {
  std::optional<double> best;
  for (const Answer& answer : answers) {
    if (answer.time_ms && (!best || *answer.time_ms < *best)) best = answer.time_ms;
  }
  return best;
}

std::vector<Replayed> replay(const RecordedKernel& kernel, const ReplayOptions& options) {
  const std::unique_ptr<Strategy> strategy =
      make_strategy(options.strategy,
                    {{.space = &kernel.space,
                      .default_configuration = kernel.default_configuration,
                      .rankings = options.rankings,
                      .cost = kernel.cost}},
                    options.seed);
  const double optimum_ms = kernel.best_ms().value_or(0);
  Workers workers(options.compilers);
  std::deque<Candidate> asked;
  const bool learns = strategy_info(options.strategy).learns;
  const std::size_t most_in_flight =
      options.in_flight > 0 ? options.in_flight : in_flight(learns, options.compilers, 1);
  ChanceFollower chance(*strategy, kernel.space.size(), learns);
  std::vector<Replayed> told;
  Result result;
  std::optional<double> best_ms;
  double now_s = 0;
  bool no_more = false;
  for (;;) {
    while (!no_more && asked.size() < most_in_flight &&
           told.size() + asked.size() < options.evaluations) {
      const std::optional<Candidate> candidate = strategy->ask();
      no_more = !candidate;
      if (no_more) break;
      workers.add(now_s, kernel.answers[candidate->configuration]);
      asked.push_back(*candidate);
    }
    if (asked.empty()) return told;
    const Candidate candidate = asked.front();
    asked.pop_front();
    const RecordedKernel::Answer& answer = kernel.answers[candidate.configuration];
    const double done_s = workers.finish_first();
    now_s = std::max(now_s, done_s);
    if (answer.time_ms) best_ms = std::min(best_ms.value_or(*answer.time_ms), *answer.time_ms);
    set_answer(answer, result);
    strategy->tell(candidate, result);
    chance.tell(answer.time_ms);
    told.push_back({.configuration = candidate.configuration,
                    .share = best_ms ? optimum_ms / *best_ms : 0,
                    .chance = chance.now().value_or(1),
                    .done_s = done_s});
  }
}

ReplayStatistics summarize_replays(std::span<const std::vector<Replayed>> runs,
                                   std::uint64_t evaluations) {
  ReplayStatistics statistics = {.seeds = runs.size()};
  for (const std::uint64_t milestone : kMilestones) {
    if (milestone < evaluations) statistics.qualities.push_back(quality(runs, milestone));
  }
  statistics.qualities.push_back(quality(runs, evaluations));
  statistics.ended = ended(runs);
  for (const double share : kShares) statistics.efforts.push_back(effort(runs, share));
  return statistics;
}

}  // namespace smemtune
