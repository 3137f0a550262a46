#pragma once

#include "tuner/engine/observer.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::cli {

enum class Verbosity { quiet, normal, verbose };

/// Shows a run on stderr: on a terminal one line that is redrawn, otherwise a new line every few
/// seconds.
class ProgressLine {
 public:
  /// `label`: printed before the line if there are several runs.
  ProgressLine(Verbosity verbosity, bool terminal, bool color, DeviceKind device,
               std::string label = "");
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Returns the callbacks for tune(). They refer to this object.
  Observer observer();

  /// Removes the line, so that something else can be printed.
  void clear();

 private:
  void show(const Progress& progress);
  void show_result(const Result& result, bool known);
  void show_note(const std::string& note);

  Verbosity verbosity_;
  bool terminal_;
  bool color_;
  DeviceKind device_;
  std::string label_;
  bool line_is_shown_ = false;
  std::optional<std::chrono::steady_clock::time_point> last_shown_;
  std::string last_phase_;
  std::size_t last_problem_ = 0;
};

/// Returns which hosts a run waits for or does without: `waiting for compiler on node2, without
/// node3`; empty if it has all its hosts and waits for none.
std::string hosts_text(const Progress& progress);

/// Returns the line without colors: `[1/2] 34/128 configurations, best 0.123 ms tiled TILE=32,
/// 12.3/s, waiting for compiler, 0:08 left`. At most `width` columns.
std::string progress_text(const Progress& progress, DeviceKind device, std::size_t width);

/// Returns text like `0:08`, `12:34`, `1:02:03`.
std::string format_duration(double seconds);

/// Records where the time of a command with `--max-time` goes, so that it can say why it ended
/// late.
class OverrunTimer {
 public:
  using Clock = std::chrono::steady_clock;

  /// `most_s`: the limit; 0 if there is none.
  OverrunTimer(Clock::time_point begun, double most_s);

  /// Excludes the time between the two, during which the command waited for another process.
  void leave_out(Clock::time_point from, Clock::time_point to);

  /// Starts a new activity, described as in "1.5 s starting workers".
  void phase(std::string what, Clock::time_point now = Clock::now());

  Clock::time_point begun() const { return begun_; }

  /// Returns text like `ended 2.1 s after the 4 s of --max-time: 1.5 s starting workers, 0.6 s the
  /// finals`; empty if the command ends no more than a second late.
  std::string text(Clock::time_point now = Clock::now()) const;

 private:
  struct Step {
    std::string what;
    Clock::time_point from;
  };

  Clock::time_point begun_;
  double most_s_;
  std::vector<Step> steps_;
};

}  // namespace smemtune::cli
