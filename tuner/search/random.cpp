#include "tuner/search/random.h"

#include "tuner/core/hash.h"

#include <algorithm>

namespace smemtune {

namespace {

/// Configurations of a kernel, its default included, before it has to compete for more.
constexpr std::uint64_t kMinimumPerKernel = 8;

/// The least share of the draws, relative to the fastest kernel: a kernel that is slow, or fails,
/// as far as it was tried may still hold the best.
constexpr double kLeastWeight = 0.05;

}  // namespace

Random::Random(std::vector<SearchedKernel> kernels, std::uint64_t seed) : random_(seed) {
  for (SearchedKernel& kernel : kernels) {
    const std::uint64_t kernel_seed = random_bits(seed, kernels_.size());
    const std::uint64_t size = kernel.space->size();
    kernels_.push_back({.searched = kernel, .order = Permutation(size, kernel_seed)});
  }
}

std::optional<Candidate> Random::ask() {
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const Kernel& kernel = kernels_[i];
    if (kernel.asked == 0 && kernel.searched.default_configuration) return take(i);
  }
  // The kernel with the fewest goes next, so that a short budget is spread over all of them.
  const auto fewest =
      std::min_element(kernels_.begin(), kernels_.end(), [](const Kernel& a, const Kernel& b) {
        if (a.exhausted() != b.exhausted()) return b.exhausted();
        return a.asked < b.asked;
      });
  if (fewest == kernels_.end() || fewest->exhausted()) return std::nullopt;
  if (fewest->asked < kMinimumPerKernel) {
    return take(static_cast<std::size_t>(fewest - kernels_.begin()));
  }

  double total = 0;
  for (const Kernel& kernel : kernels_) total += weight(kernel);
  double drawn = static_cast<double>(random_() >> 11) * 0x1p-53 * total;
  auto chosen = static_cast<std::size_t>(fewest - kernels_.begin());
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].exhausted()) continue;
    chosen = i;
    drawn -= weight(kernels_[i]);
    if (drawn < 0) break;
  }
  return take(chosen);
}

void Random::tell(const Candidate& candidate, const Result& result) {
  Kernel& kernel = kernels_[candidate.kernel];
  if (!result.timed()) {
    ++kernel.failed;
    return;
  }
  const double time_ms = result.measurement.median_ms;
  kernel.best_ms = std::min(kernel.best_ms.value_or(time_ms), time_ms);
  best_ms_ = std::min(best_ms_.value_or(time_ms), time_ms);
}

Candidate Random::take(std::size_t kernel) {
  Kernel& from = kernels_[kernel];
  const auto& first = from.searched.default_configuration;
  if (from.asked++ == 0 && first) return {kernel, *first};
  ConfigurationIndex configuration = from.order(from.position++);
  if (configuration == first) configuration = from.order(from.position++);
  return {kernel, configuration};
}

double Random::weight(const Kernel& kernel) const {
  if (kernel.exhausted()) return 0;
  if (kernel.best_ms) return std::max(kLeastWeight, *best_ms_ / *kernel.best_ms);
  // Nothing was told yet, or only failures.
  return kernel.failed == 0 ? 1 : kLeastWeight;
}

}  // namespace smemtune
