#pragma once

#include "db/rows.h"
#include "tuner/core/result.h"

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// The software that a result was measured with, or that is installed now.
struct Environment {
  std::string driver;
  std::string runtime;
  std::string compiler;
  std::string kernel_hash;
};

/// Returns what has changed since `stored` was measured, a phrase for each, such as `driver 12.9,
/// now 13.0`. Empty if nothing has, so that the stored figures describe today's machine.
std::vector<std::string> staleness(const db::StoredResult& stored, const Environment& now);

/// Returns the winner and the configurations to compare it with: at most `runners_up` of the
/// fastest stored others, and the default of the winner's kernel. `others`: stored results of the
/// same problem and device.
std::vector<KernelConfiguration> contestants(const db::StoredResult& winner,
                                             const std::vector<db::StoredResult>& others,
                                             const Configuration& default_configuration,
                                             std::size_t runners_up);

/// Whether a stored winner is still the best.
struct WinnerCheck {
  db::StoredResult stored;
  /// Today's result of the winner; nullopt if its configuration is no longer valid.
  std::optional<Result> now;
  std::vector<Result> others;  ///< Results measured in alternation with the winner.
  std::vector<std::string> stale;
  /// Reasons why the winner no longer holds, with the numbers; empty if it holds.
  std::vector<std::string> lost;
};

/// Checks the winner. `measured`: today's results, including the winner's. The winner no longer
/// holds if its result is wrong or it fails, if it is slower than when it was stored by more than
/// `tolerance_percent`, or if another configuration is faster than it by more than that.
/// Differences within the 95 % confidence intervals of the medians do not count.
WinnerCheck check_winner(const db::StoredResult& stored, const std::vector<Result>& measured,
                         double tolerance_percent);

/// Returns text with the numbers.
std::string winner_check_text(const WinnerCheck& check);

/// Returns a JSON document, `"format": "smemtune-check", "version": 2`.
std::string winner_checks_json(const std::vector<WinnerCheck>& checks, double tolerance_percent);

}  // namespace smemtune
