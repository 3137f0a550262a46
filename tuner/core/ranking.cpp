#include "tuner/core/ranking.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace smemtune {

namespace {

/// A run takes everything within about 12 % of its best screen towards its finals, so a screen that
/// is faster than them by more than this was not among what they chose from.
constexpr double kClearlyFaster = 0.90;

/// The graph of which configuration lost to which, without a cycle.
class Defeats {
 public:
  /// Does nothing if the loser has beaten the winner already, itself or by way of others.
  void add(std::int64_t winner, std::int64_t loser) {
    std::set<std::int64_t>& lost = lost_to_[winner];
    if (lost.contains(loser) || beats(loser, winner)) return;
    lost.insert(loser);
  }

  bool beats(std::int64_t winner, std::int64_t loser) const {
    const std::set<std::int64_t> all = beaten_by(winner);
    return all.contains(loser);
  }

  /// Returns all that lost to it or to one that lost to it.
  std::set<std::int64_t> beaten_by(std::int64_t winner) const {
    std::set<std::int64_t> all;
    std::vector<std::int64_t> open = {winner};
    while (!open.empty()) {
      const auto its = lost_to_.find(open.back());
      open.pop_back();
      if (its == lost_to_.end()) continue;
      for (const std::int64_t loser : its->second) {
        if (all.insert(loser).second) open.push_back(loser);
      }
    }
    return all;
  }

 private:
  std::map<std::int64_t, std::set<std::int64_t>> lost_to_;
};

bool is_better(const Timed& one, const Timed& other) {
  if (one.median_ms != other.median_ms) return one.median_ms < other.median_ms;
  return one.result_id < other.result_id;
}

/// The verdict of one run's finals on the configurations in question.
struct FinalsVerdict {
  Timed winner;
  bool chose = false;  ///< The run chose one of them; else its best was another kernel's.
  std::int64_t newest_id = 0;
  std::vector<std::int64_t> losers;
};

/// Returns the verdicts of all runs, the newest first.
std::vector<FinalsVerdict> verdicts(const TimingHistory& history) {
  std::map<std::int64_t, FinalsVerdict> by_run;
  for (const Timed& final : history.finals) {
    const auto [place, is_first] = by_run.try_emplace(final.run_id);
    FinalsVerdict& verdict = place->second;
    const bool wins =
        is_first ||
        (final.chosen != verdict.winner.chosen ? final.chosen : is_better(final, verdict.winner));
    if (wins) verdict.winner = final;
    verdict.chose = history.choosing_runs.contains(final.run_id);
    verdict.newest_id = std::max(verdict.newest_id, final.result_id);
    verdict.losers.push_back(final.configuration_id);
  }
  for (const Timed& earlier : history.newest) {
    const auto its = by_run.find(earlier.run_id);
    if (earlier.stage == Stage::final || its == by_run.end()) continue;
    // A run whose best was another kernel's raced only some of this kernel, perhaps not its best.
    if (its->second.chose || !is_better(earlier, its->second.winner)) {
      its->second.losers.push_back(earlier.configuration_id);
    }
  }
  std::vector<FinalsVerdict> all;
  for (auto& [run, verdict] : by_run) all.push_back(std::move(verdict));
  std::ranges::sort(all, std::greater(), &FinalsVerdict::newest_id);
  return all;
}

int registers(const Result& result) {
  int most = 0;
  for (const LaunchResult& launch : result.launches) {
    most = std::max(most, launch.resources.registers_per_thread);
  }
  return most;
}

bool is_preferred(const Result& a, const Result& b) {
  const auto rank = [](const Result& r) {
    return std::tuple(!r.chosen, r.shared_bytes(), registers(r), r.measurement.median_ms, r.kernel,
                      key(r.configuration));
  };
  return rank(a) < rank(b);
}

/// Ranks results that lie in memory. Ids are their places.
class MemoryRanking {
 public:
  explicit MemoryRanking(const std::vector<RunResult>& results) : results_(results) {
    std::map<std::string, std::int64_t> runs;
    std::map<std::pair<std::string, std::string>, std::vector<RankedRow>> configurations;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Result& result = *results[i].result;
      const bool is_correct = result.status == Status::correct;
      if (is_correct && !result.timed()) continue;
      std::vector<RankedRow>& rows = configurations[{result.kernel, key(result.configuration)}];
      const auto id = static_cast<std::int64_t>(i);
      rows.push_back(
          {.correct = is_correct,
           .timed = {.result_id = id,
                     .run_id = runs.try_emplace(results[i].run, runs.size()).first->second,
                     .configuration_id = rows.empty() ? id : rows.front().timed.configuration_id,
                     .stage = result.stage,
                     .chosen = result.chosen,
                     .median_ms = result.measurement.median_ms}});
    }
    for (const auto& [name, rows] : configurations) {
      add_configuration(kernels_[name.first], rows, [&](const Timed& failed) {
        return is_transient(*results[static_cast<std::size_t>(failed.result_id)].result);
      });
    }
  }

  std::vector<const Result*> bests() const {
    TimingHistory of_kernels;
    for (const auto& [kernel, history] : kernels_) {
      const auto best = best_of(history);
      if (!best) continue;
      of_kernels.newest.push_back(history.newest[*best]);
      std::ranges::copy(history.finals, std::back_inserter(of_kernels.finals));
      of_kernels.choosing_runs.insert(history.choosing_runs.begin(), history.choosing_runs.end());
    }
    std::vector<const Result*> bests;
    const auto first = best_of(of_kernels);
    if (!first) return bests;
    const Timed best = of_kernels.newest[*first];
    std::ranges::stable_sort(of_kernels.newest, {}, [&](const Timed& timed) {
      return std::pair(timed.result_id != best.result_id, timed.median_ms);
    });
    for (const Timed& timed : of_kernels.newest) {
      bests.push_back(results_[static_cast<std::size_t>(timed.result_id)].result);
    }
    return bests;
  }

 private:
  const std::vector<RunResult>& results_;
  std::map<std::string, TimingHistory> kernels_;
};

}  // namespace

void add_configuration(TimingHistory& history, const std::vector<RankedRow>& rows,
                       const std::function<bool(const Timed&)>& is_transient) {
  for (const RankedRow& row : rows) {
    if (row.timed.chosen) history.choosing_runs.insert(row.timed.run_id);
  }
  std::size_t counted = rows.size();
  while (counted > 0 && !rows[counted - 1].correct) {
    --counted;
    const bool lasts = counted == 0 || !is_transient(rows[counted].timed);
    if (lasts) {
      history.failed.push_back(rows.back().timed);
      return;
    }
  }
  if (counted == 0) return;
  history.newest.push_back(rows[counted - 1].timed);
  for (const RankedRow& row : rows) {
    if (row.correct && row.timed.stage == Stage::final) history.finals.push_back(row.timed);
  }
}

std::optional<std::size_t> best_of(const TimingHistory& history) {
  const std::vector<Timed>& newest = history.newest;
  Defeats defeats;
  std::int64_t newest_final = -1;
  for (const FinalsVerdict& verdict : verdicts(history)) {
    if (verdict.chose) newest_final = std::max(newest_final, verdict.newest_id);
    for (const std::int64_t loser : verdict.losers) {
      const std::int64_t winner = verdict.winner.configuration_id;
      if (loser != winner) defeats.add(winner, loser);
    }
  }
  std::set<std::int64_t> beaten;
  for (const Timed& one : newest) beaten.merge(defeats.beaten_by(one.configuration_id));

  std::vector<std::size_t> left;
  double final_ms = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < newest.size(); ++i) {
    if (beaten.contains(newest[i].configuration_id)) continue;
    left.push_back(i);
    if (newest[i].stage == Stage::final) final_ms = std::min(final_ms, newest[i].median_ms);
  }
  std::optional<std::size_t> best;
  for (const std::size_t i : left) {
    const bool is_settled = newest[i].stage != Stage::final && newest[i].result_id < newest_final &&
                            newest[i].median_ms >= kClearlyFaster * final_ms;
    if (is_settled) continue;
    if (!best || is_better(newest[i], newest[*best])) best = i;
  }
  return best;
}

std::vector<const Result*> best_of_each_kernel(const std::vector<RunResult>& results) {
  return MemoryRanking(results).bests();
}

const Result* Bests::best_of(const std::string& kernel) const {
  const auto its = std::ranges::find(kernels, kernel, &Result::kernel);
  return its == kernels.end() ? nullptr : &*its;
}

const Result& preferred(std::vector<const Result*> tied, double tie_percent) {
  const auto median_ms = [](const Result* result) { return result->measurement.median_ms; };
  std::ranges::sort(tied, {}, median_ms);
  const double most_ms = median_ms(tied.front()) * (1 + tie_percent / 100);
  const auto slower = std::ranges::upper_bound(tied, most_ms, {}, median_ms);
  return **std::ranges::min_element(
      tied.begin(), slower, [](const Result* a, const Result* b) { return is_preferred(*a, *b); });
}

}  // namespace smemtune
