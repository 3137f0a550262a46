#include "tuner/search/every_kernel.h"

#include "tuner/core/hash.h"
#include "tuner/search/chance_of_better.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace smemtune {

namespace {

/// Configurations of a kernel, its default included, before it has to compete for more.
constexpr std::uint64_t kMinimumPerKernel = 8;

/// The share of the draws of all kernels together that are far behind or failed so far: one of them
/// may still hold the best.
constexpr double kShareBehind = 0.05;

/// A kernel is far behind when its best takes this many times as long as the best.
constexpr double kFarBehind = 2;

/// A kernel that is far behind with less than this chance of something better is left alone.
constexpr double kNoChance = 0.002;

/// Returns a bound on the share of times below `level_ms`, from the tail of Student's distribution
/// around the logarithms of those seen; 1 where too few are known.
double share_below(std::span<const double> log_times, double level_ms) {
  constexpr std::size_t kLeast = 4;
  constexpr double kLeastDeviation = 0.05;
  if (log_times.size() < kLeast) return 1;
  const auto n = static_cast<double>(log_times.size());
  const double mean = std::accumulate(log_times.begin(), log_times.end(), 0.0) / n;
  double squares = 0;
  for (const double one : log_times) squares += (one - mean) * (one - mean);
  const double freedom = n - 1;
  const double deviation = std::max(kLeastDeviation, std::sqrt(squares / freedom * (1 + 1 / n)));
  const double behind = (mean - std::log(level_ms)) / deviation;
  if (behind <= 0) return 1;
  return 0.5 * std::pow(1 + behind * behind / freedom, -freedom / 2);
}

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
  kernel.untried->take(candidate.configuration);  // It may be known without having been asked.
  const std::optional<double> time_ms = result.time_ms();
  if (time_ms) {
    kernel.best_ms = std::min(kernel.best_ms.value_or(*time_ms), *time_ms);
    kernel.log_times.push_back(std::log(*time_ms));
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
  if (const auto one = drawn()) return one;
  return chosen;
}

/// Draws a kernel by the weights; nullopt when those left have none.
std::optional<std::size_t> EveryKernel::drawn() {
  double ahead = 0;
  double behind = 0;
  for (const Kernel& kernel : kernels_) (is_behind(kernel) ? behind : ahead) += weight(kernel);
  const double scale = ahead > 0 && behind > 0 ? std::min(1.0, kShareBehind * ahead / behind) : 1.0;
  double left = uniform(random_) * (ahead + scale * behind);
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const double own = weight(kernels_[i]) * (is_behind(kernels_[i]) ? scale : 1.0);
    if (!(own > 0)) continue;
    chosen = i;
    left -= own;
    if (left < 0) break;
  }
  return chosen;
}

bool EveryKernel::is_behind(const Kernel& kernel) const {
  if (!kernel.best_ms) return kernel.failed > 0;
  return *kernel.best_ms > kFarBehind * *best_ms_;
}

double EveryKernel::weight(const Kernel& kernel) const {
  if (kernel.exhausted || (is_behind(kernel) && kernel.chance < kNoChance)) return 0;
  if (!kernel.best_ms) return 1;  // Nothing was told yet, or only failures.
  const double share = *best_ms_ / *kernel.best_ms;
  return share * share * share;
}

std::optional<double> EveryKernel::chance_of_better(double gain) {
  if (!best_ms_) return std::nullopt;
  std::uint64_t all = 0;
  std::uint64_t evaluated = 0;
  double nothing_better = 1;
  for (Kernel& kernel : kernels_) {
    if (!kernel.searched.space->is_listed()) return std::nullopt;
    kernel.chance = chance(kernel, *best_ms_ / gain);
    nothing_better *= 1 - kernel.chance;
    all += kernel.searched.space->size();
    evaluated += kernel.failed + kernel.log_times.size();
  }
  return chance_of_all(nothing_better, all, evaluated);
}

double EveryKernel::chance(Kernel& kernel, double level_ms) const {
  const SearchedSoFar searched = {.all = kernel.searched.space->size(),
                                  .evaluated = kernel.failed + kernel.log_times.size(),
                                  .expected = kernel.search->expected_below(level_ms)};
  const double estimated = smemtune::chance_of_better(searched);
  if (!is_behind(kernel) || !kernel.best_ms) return estimated;
  const auto untried =
      static_cast<double>(searched.all - std::min(searched.all, searched.evaluated));
  return std::min(estimated, untried * share_below(kernel.log_times, level_ms));
}

}  // namespace smemtune
