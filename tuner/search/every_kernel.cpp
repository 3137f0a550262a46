#include "tuner/search/every_kernel.h"

#include "tuner/core/hash.h"

#include <algorithm>
#include <utility>

namespace smemtune {

namespace {

/// Configurations of a kernel, its default included, before it has to compete for more.
constexpr std::uint64_t kMinimumPerKernel = 8;

/// The least share of the draws, relative to the fastest kernel: a kernel whose configurations were
/// slow or failed so far may still hold the best.
constexpr double kLeastShare = 0.05;

}  // namespace

EveryKernel::EveryKernel(std::vector<SearchedKernel> kernels, std::uint64_t seed,
                         const MakeSearch& make)
    : random_(seed) {
  for (SearchedKernel& searched : kernels) {
    const std::uint64_t kernel_seed = random_bits(seed, kernels_.size());
    Kernel kernel = {.searched = std::move(searched)};
    kernel.untried = std::make_unique<Untried>(*kernel.searched.space, kernel_seed);
    kernel.search = make(kernel.searched, *kernel.untried, kernel_seed);
    kernel.exhausted = kernel.searched.space->size() == 0;
    kernels_.push_back(std::move(kernel));
  }
}

std::optional<Candidate> EveryKernel::ask() {
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const auto& first = kernels_[i].searched.default_configuration;
    if (first && kernels_[i].untried->take(*first)) return Candidate{i, *first};
  }
  while (const std::optional<std::size_t> chosen = choose()) {
    const auto configuration = kernels_[*chosen].search->ask();
    if (configuration) return Candidate{*chosen, *configuration};
    kernels_[*chosen].exhausted = true;
  }
  return std::nullopt;
}

void EveryKernel::tell(const Candidate& candidate, const Result& result) {
  Kernel& kernel = kernels_[candidate.kernel];
  const std::optional<double> time_ms = result.time_ms();
  if (time_ms) {
    kernel.best_ms = std::min(kernel.best_ms.value_or(*time_ms), *time_ms);
    best_ms_ = std::min(best_ms_.value_or(*time_ms), *time_ms);
  } else {
    ++kernel.failed;
  }
  int registers = 0;
  for (const LaunchResult& launch : result.launches) {
    registers = std::max(registers, launch.resources.registers_per_thread);
  }
  if (registers > 0) kernel.search->tell_registers(candidate.configuration, registers);
  kernel.search->tell(candidate.configuration, time_ms);
}

std::optional<std::size_t> EveryKernel::choose() {
  // The kernel with the fewest goes next, so that a short budget is spread over all of them.
  const auto fewest =
      std::min_element(kernels_.begin(), kernels_.end(), [](const Kernel& a, const Kernel& b) {
        if (a.exhausted != b.exhausted) return b.exhausted;
        return a.asked() < b.asked();
      });
  if (fewest == kernels_.end() || fewest->exhausted) return std::nullopt;
  auto chosen = static_cast<std::size_t>(fewest - kernels_.begin());
  if (fewest->asked() < kMinimumPerKernel) return chosen;

  double total = 0;
  for (const Kernel& kernel : kernels_) total += weight(kernel);
  double drawn = uniform(random_) * total;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].exhausted) continue;
    chosen = i;
    drawn -= weight(kernels_[i]);
    if (drawn < 0) break;
  }
  return chosen;
}

double EveryKernel::weight(const Kernel& kernel) const {
  if (kernel.exhausted) return 0;
  // Nothing was told yet, or only failures.
  if (!kernel.best_ms) return kernel.failed == 0 ? 1 : kLeastShare;
  const double share = *best_ms_ / *kernel.best_ms;
  return std::max(kLeastShare, share * share * share);
}

}  // namespace smemtune
