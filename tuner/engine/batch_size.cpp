#include "tuner/engine/batch_size.h"

#include <algorithm>

namespace smemtune {

namespace {

// Size of the first batches, which show what an entry costs.
constexpr std::size_t kTrial = 4;

// Configurations are compiled singly where a batch of any size would save less than this share of a
// configuration's time: a batch delivers its results late, and one bad entry costs it a second
// compile.
constexpr double kWorthwhile = 0.2;

// A batch is large enough when the program's fixed part is this share of the entries' part.
constexpr double kSmallPart = 0.1;

}  // namespace

void BatchSize::Mean::add(double more_entries, double more_ms) {
  count += 1;
  entries += (more_entries - entries) / count;
  compile_ms += (more_ms - compile_ms) / count;
}

void BatchSize::add(std::size_t entries, double compile_ms) {
  Mean& mean = entries == 1 ? singles_ : batches_;
  mean.add(static_cast<double>(entries), compile_ms);
}

std::size_t BatchSize::wanted() const {
  if (singles_.count == 0) return 1;
  if (batches_.count == 0) return kTrial;
  const double least_entry_ms = 1e-3 * singles_.compile_ms;
  const double entry_ms = std::max(
      least_entry_ms, (batches_.compile_ms - singles_.compile_ms) / (batches_.entries - 1));
  const double program_ms = singles_.compile_ms - entry_ms;
  if (program_ms < kWorthwhile * singles_.compile_ms) return 1;
  const double most = std::max(1.0, (kMaxBatch_ms - program_ms) / entry_ms);
  return static_cast<std::size_t>(
      std::clamp(program_ms / (kSmallPart * entry_ms), 1.0, std::min(most, 1.0 * kMaxEntries)));
}

std::size_t BatchSize::next(std::size_t waiting, std::size_t workers) const {
  const std::size_t share = waiting / std::max<std::size_t>(1, workers);
  return std::clamp<std::size_t>(wanted(), 1, std::max<std::size_t>(1, share));
}

}  // namespace smemtune
