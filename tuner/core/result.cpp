#include "tuner/core/result.h"

#include "tuner/core/names.h"
#include "tuner/core/reasons.h"

#include <algorithm>

namespace smemtune {

namespace {

constexpr EnumWords<Stage, 4> kStages = {{{Stage::none, "none"},
                                          {Stage::screen, "screen"},
                                          {Stage::race, "race"},
                                          {Stage::final, "final"}}};

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

std::string to_text(Stage stage) { return word_of(stage, kStages); }

Stage parse_stage(const std::string& word) { return parse_word(word, kStages, "a stage"); }

bool has_facts(const Result& result, const char* kind) {
  return std::ranges::any_of(result.launches, [kind](const LaunchResult& launch) {
    const auto first = launch.facts.lower_bound(kind);
    return first != launch.facts.end() && first->first.starts_with(kind);
  });
}

bool is_transient(const Result& result) { return is_transient(result.status, result.reason); }

}  // namespace smemtune
