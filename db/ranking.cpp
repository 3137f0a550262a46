#include "db/ranking.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace smemtune::db {

namespace {

/// A run takes everything within about 12 % of its best screen towards its finals, so a screen that
/// is faster than them by more than this was not among what they chose from.
constexpr double kClearlyFaster = 0.90;

/// Which configurations lost to which, without a circle.
class Defeats {
 public:
  /// Unless the loser has beaten the winner already, itself or by way of others.
  void add(std::int64_t winner, std::int64_t loser) {
    std::set<std::int64_t>& lost = lost_to_[winner];
    if (lost.contains(loser) || beats(loser, winner)) return;
    lost.insert(loser);
  }

  bool beats(std::int64_t winner, std::int64_t loser) const {
    const std::set<std::int64_t> all = beaten_by(winner);
    return all.contains(loser);
  }

  /// All that lost to it or to one that lost to it.
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

/// What the finals of one run said.
struct Verdict {
  Timed winner;
  std::int64_t newest_id = 0;
  std::vector<std::int64_t> losers;
};

/// Newest first.
std::vector<Verdict> verdicts(std::span<const Timed> newest, std::span<const Timed> finals) {
  std::map<std::int64_t, Verdict> by_run;
  for (const Timed& final : finals) {
    const auto [place, is_first] = by_run.try_emplace(final.run_id);
    Verdict& verdict = place->second;
    const bool wins =
        is_first ||
        (final.chosen != verdict.winner.chosen ? final.chosen : is_better(final, verdict.winner));
    if (wins) verdict.winner = final;
    verdict.newest_id = std::max(verdict.newest_id, final.result_id);
    verdict.losers.push_back(final.configuration_id);
  }
  for (const Timed& screened : newest) {
    const auto its = by_run.find(screened.run_id);
    if (screened.stage != Stage::final && its != by_run.end()) {
      its->second.losers.push_back(screened.configuration_id);
    }
  }
  std::vector<Verdict> all;
  for (auto& [run, verdict] : by_run) all.push_back(std::move(verdict));
  std::ranges::sort(all, std::greater(), &Verdict::newest_id);
  return all;
}

}  // namespace

std::optional<std::size_t> best_of(std::span<const Timed> newest, std::span<const Timed> finals) {
  Defeats defeats;
  std::int64_t newest_final = -1;
  for (const Verdict& verdict : verdicts(newest, finals)) {
    newest_final = std::max(newest_final, verdict.newest_id);
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

}  // namespace smemtune::db
