#include "tuner/engine/progress_meter.h"

#include <algorithm>

namespace smemtune {

namespace {

constexpr double kWindow_s = 15;
constexpr std::uint64_t kEnough = 10;
constexpr double kLongEnough_s = 2;

}  // namespace

void ProgressMeter::count(double now_s) {
  if (!first_s_) first_s_ = now_s;
  ++done_;
  done_s_.push_back(now_s);
  forget_before(now_s - kWindow_s);
}

void ProgressMeter::forget_before(double from_s) {
  while (!done_s_.empty() && done_s_.front() < from_s) done_s_.pop_front();
}

double ProgressMeter::per_s(double now_s) const {
  const double from_s = std::max(now_s - kWindow_s, first_s_.value_or(now_s));
  const auto begin = std::ranges::lower_bound(done_s_, from_s);
  const auto done = static_cast<double>(done_s_.end() - begin);
  // The first one marks the beginning: what came before it is unknown.
  const double counted = first_s_ && from_s <= *first_s_ ? done - 1 : done;
  return now_s > from_s && counted > 0 ? counted / (now_s - from_s) : 0;
}

std::optional<double> ProgressMeter::remaining_s(double now_s, std::uint64_t left) const {
  if (done_ < kEnough || now_s - *first_s_ < kLongEnough_s) return std::nullopt;
  const double rate = per_s(now_s);
  if (rate <= 0) return std::nullopt;
  return static_cast<double>(left) / rate;
}

}  // namespace smemtune
