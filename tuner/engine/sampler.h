#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/verifier.h"

#include <functional>
#include <optional>
#include <vector>

namespace smemtune {

/// Times a kernel on the workload of its check. A launch with a wrong output is a Failure of status
/// `correctness`, and its times are not returned. `request` need not set what follows from the
/// check.
Outcome<TimeReport> time_compared(Launcher& launcher, const Check& check, TimeRequest request);

/// Does the same for a first look at the speed; a report without usable samples is a Failure.
Outcome<TimeReport> screen(Launcher& launcher, const Check& check, const TimeRequest& request);

/// A kernel in a round, and how often one of its samples launches it, so that samples compare.
struct Entrant {
  Check check;
  int launches_per_sample = 1;
};

/// Takes one cold sample of each kernel, in this order, so that a drift of the device affects all
/// of them. `before` is called with the index of each. Ends early when the device context is lost:
/// the last outcome is then the failure that lost it.
std::vector<Outcome<TimeReport>> sample_round(Launcher& launcher,
                                              const std::vector<Entrant>& entrants,
                                              const std::function<void(int)>& before);

/// Draws data for timed launches, so that no kernel is timed only with data that it has seen.
class TimedData {
 public:
  explicit TimedData(Launcher& launcher) : launcher_(launcher) {}

  /// The time that drawing took in a part of a run, and the time of which it is a share.
  struct Part {
    double share = 0;  ///< The largest share of the time that drawing may take.
    double last_ms = 0;
    double all_ms = 0;
    double of_ms = 0;
  };
  Part search = {.share = 0.01};
  Part finals = {.share = 0.05};

  /// Draws the first sets with the reference, for its workload.
  std::optional<Failure> draw_first(const Check& reference);

  /// Draws a further set if that takes no more than the part's share of the time. Returns a failure
  /// only where the context is lost.
  std::optional<Failure> draw(Part& part);

  /// Draws none until the next draw_first().
  void stop() { draws_ = false; }

 private:
  Launcher& launcher_;
  Check reference_;
  bool draws_ = false;  ///< True if data can be drawn.
};

}  // namespace smemtune
