#include "db/ranking.h"

#include <algorithm>
#include <limits>
#include <set>

namespace smemtune::db {

namespace {

/// A run takes everything within about 12 % of its best screen towards its finals, so a screen that
/// is faster than them by more than this was not among what they chose from.
constexpr double kClearlyFaster = 0.90;

}  // namespace

std::optional<std::size_t> fastest(std::span<const Candidate> candidates) {
  std::int64_t newest_final = -1;
  std::set<std::int64_t> runs_with_choice;
  double final_ms = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    if (candidate.stage != Stage::final) continue;
    newest_final = std::max(newest_final, candidate.result_id);
    final_ms = std::min(final_ms, candidate.median_ms);
    if (candidate.chosen) runs_with_choice.insert(candidate.run_id);
  }
  const auto settled = [&](const Candidate& candidate) {
    if (candidate.stage == Stage::final) {
      return !candidate.chosen && runs_with_choice.contains(candidate.run_id);
    }
    // Without finals (all of them have failed since) the screens are what is left.
    if (newest_final < 0) return false;
    return candidate.run_has_finals ||
           (candidate.result_id < newest_final && candidate.median_ms >= kClearlyFaster * final_ms);
  };

  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (settled(candidates[i])) continue;
    if (!best || candidates[i].median_ms < candidates[*best].median_ms ||
        (candidates[i].median_ms == candidates[*best].median_ms &&
         candidates[i].result_id < candidates[*best].result_id)) {
      best = i;
    }
  }
  return best;
}

}  // namespace smemtune::db
