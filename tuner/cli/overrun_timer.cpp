#include "tuner/cli/overrun_timer.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <utility>

namespace smemtune::cli {

namespace {

constexpr double kPunctual_s = 1;
constexpr double kWorthNaming_s = 0.1;

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", value);
  return text;
}

}  // namespace

OverrunTimer::OverrunTimer(Clock::time_point begun, double most_s)
    : begun_(begun), most_s_(most_s) {}

void OverrunTimer::leave_out(Clock::time_point from, Clock::time_point to) { begun_ += to - from; }

void OverrunTimer::phase(std::string what, Clock::time_point now) {
  if (!steps_.empty() && steps_.back().what == what) return;
  steps_.push_back({.what = std::move(what), .from = now});
}

std::string OverrunTimer::text(Clock::time_point now) const {
  const auto between_s = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  };
  const double late_s = between_s(begun_, now) - most_s_;
  if (most_s_ <= 0 || late_s <= kPunctual_s) return "";
  std::vector<std::pair<double, std::string>> shares;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const double from_s = std::max(between_s(begun_, steps_[i].from), most_s_);
    const double to_s = between_s(begun_, i + 1 < steps_.size() ? steps_[i + 1].from : now);
    if (to_s <= from_s) continue;
    const auto known =
        std::ranges::find(shares, steps_[i].what, &std::pair<double, std::string>::second);
    if (known == shares.end()) {
      shares.emplace_back(to_s - from_s, steps_[i].what);
    } else {
      known->first += to_s - from_s;
    }
  }
  std::ranges::sort(shares, std::ranges::greater());
  std::vector<std::string> reasons;
  for (const auto& [share_s, what] : shares) {
    if (share_s >= kWorthNaming_s || reasons.empty()) {
      reasons.push_back(seconds(share_s) + " " + what);
    }
  }
  return "ended " + seconds(late_s) + " after the " + seconds(most_s_) + " of --max-time" +
         (reasons.empty() ? "" : ": " + joined(reasons, ", "));
}

}  // namespace smemtune::cli
