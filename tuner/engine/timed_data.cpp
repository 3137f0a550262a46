#include "tuner/engine/timed_data.h"

#include "tuner/core/elapsed.h"

namespace smemtune {
namespace {

// kFirst sets are drawn at first, or fewer, but kLeast, when that takes more than kFirst_ms. Later a
// single draw takes at most kMost_ms.
constexpr int kFirst = 4;
constexpr int kLeast = 2;
constexpr double kFirst_ms = 250;
constexpr double kMost_ms = 1000;

}  // namespace

std::optional<Failure> TimedData::draw_first(const Check& reference) {
  reference_ = reference;
  search = {.share = search.share};
  finals = {.share = finals.share};
  double all_ms = 0;
  for (int i = 0; i < kFirst; ++i) {
    if (i >= kLeast && all_ms > kFirst_ms) break;
    const auto start = std::chrono::steady_clock::now();
    const Outcome<bool> drawn = launcher_.draw_data(reference.handle, reference.workload);
    if (!drawn) return drawn.failure();
    draws_ = *drawn;
    if (!draws_) break;
    search.last_ms = finals.last_ms = ms_since(start);
    all_ms += search.last_ms;
  }
  return std::nullopt;
}

std::optional<Failure> TimedData::draw(Part& part) {
  const bool affordable = part.all_ms + part.last_ms <= part.share * part.of_ms;
  if (!draws_ || !affordable || part.last_ms > kMost_ms) return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  const Outcome<bool> drawn = launcher_.draw_data(reference_.handle, reference_.workload);
  draws_ = drawn && *drawn;
  part.last_ms = ms_since(start);
  part.all_ms += part.last_ms;
  if (drawn || !drawn.failure().context_lost) return std::nullopt;
  return drawn.failure();
}

}  // namespace smemtune
