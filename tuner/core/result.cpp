#include "tuner/core/result.h"

#include "tuner/core/error.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <array>

namespace smemtune {

namespace {

constexpr std::array kStages = {Stage::none, Stage::screen, Stage::race, Stage::final};

}  // namespace

std::int64_t Result::shared_bytes() const {
  std::int64_t most = 0;
  for (const LaunchResult& launch : launches) most = std::max(most, launch.shared_bytes());
  return most;
}

bool Result::behind() const { return status == kBehind.status() && reason == kBehind.word(); }

std::optional<double> Result::time_ms() const {
  if (timed()) return measurement.median_ms;
  if (behind() && first_launch_ms > 0) return first_launch_ms;
  return std::nullopt;
}

std::string to_text(Stage stage) {
  switch (stage) {
    case Stage::none:
      return "none";
    case Stage::screen:
      return "screen";
    case Stage::race:
      return "race";
    case Stage::final:
      break;
  }
  return "final";
}

Stage parse_stage(const std::string& word) {
  for (const Stage stage : kStages) {
    if (to_text(stage) == word) return stage;
  }
  std::string known;
  for (const Stage stage : kStages) known += (known.empty() ? "" : ", ") + to_text(stage);
  throw InputError("\"" + word + "\" is not a stage; the stages are " + known);
}

bool is_transient(const Result& result) { return is_transient(result.status, result.reason); }

}  // namespace smemtune
