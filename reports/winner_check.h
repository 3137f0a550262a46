#pragma once

#include "db/result_store.h"
#include "tuner/core/result.h"

#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// What the stored best of a problem was measured with, and what is here now.
struct Environment {
  std::string driver;
  std::string runtime;
  std::string compiler;
  std::string kernel_hash;
};

/// What has changed since `stored` was measured, a phrase each: `driver 12.9, now 13.0`. Empty: its
/// figures are those of today's machine.
std::vector<std::string> staleness(const db::StoredResult& stored, const Environment& now);

/// The winner and those it is held against: the fastest others that are stored, at most so many,
/// and the winner's kernel's default. `others` are stored results of the same problem and device.
std::vector<KernelConfiguration> contestants(const db::StoredResult& winner,
                                             const std::vector<db::StoredResult>& others,
                                             const Configuration& default_configuration,
                                             std::size_t runners_up);

/// Whether a stored winner still is one.
struct WinnerCheck {
  db::StoredResult stored;
  std::optional<Result> now;   ///< Of the winner; nullopt: no valid configuration any more.
  std::vector<Result> others;  ///< Measured in turn with it.
  std::vector<std::string> stale;
  std::vector<std::string> lost;  ///< Why it no longer holds, with the numbers; empty: it does.
};

/// `measured`: results of today, the winner's among them. The winner no longer holds when it is
/// wrong or fails, when it is slower than it was stored by more than `tolerance_percent`, or when
/// another one is faster than it by more; differences within the 95 % confidence intervals of the
/// medians are none.
WinnerCheck check_winner(const db::StoredResult& stored, const std::vector<Result>& measured,
                         double tolerance_percent);

/// For people, with the numbers.
std::string winner_check_text(const WinnerCheck& check);

/// `"format": "smemtune-check", "version": 2`.
std::string winner_checks_json(const std::vector<WinnerCheck>& checks, double tolerance_percent);

}  // namespace smemtune
