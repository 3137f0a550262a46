#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/engine/verifier.h"

#include <optional>

namespace smemtune {

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
