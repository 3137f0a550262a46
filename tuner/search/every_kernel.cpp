#include "tuner/search/every_kernel.h"

#include "tuner/core/hash.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace smemtune {

namespace {

/// Configurations of a kernel, its default included, before it has to compete for more. One that is
/// left alone gets fewer.
constexpr std::uint64_t kMinimumPerKernel = 8;

/// The share of the draws of all kernels together that are far behind or failed so far: one of them
/// may still hold the best.
constexpr double kShareBehind = 0.05;

/// A kernel is far behind when its best takes this many times as long as the best,
constexpr double kFarBehind = 2;

/// or when it is behind, and the chance that it has something better is less than this.
constexpr double kLittleChance = 0.02;

/// A kernel that is behind with less than this chance of something better is left alone.
constexpr double kNoChance = 0.005;

/// Number of better configurations that is assumed of a kernel while there is no model of it.
constexpr double kExpectedOfUnknown = 3;

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
    for (const ConfigurationIndex first : kernels_[i].searched.first) {
      if (kernels_[i].untried->take(first)) return Candidate{i, first};
    }
  }
  // A space's first kernels are most often its plainest: beside a faster one they take a launch.
  for (std::size_t i = kernels_.size(); i-- > 0;) {
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
  ++kernel.told;
  gains_.tell(time_ms);
  if (time_ms) {
    kernel.best_ms = std::min(kernel.best_ms.value_or(*time_ms), *time_ms);
    best_ms_ = std::min(best_ms_.value_or(*time_ms), *time_ms);
  }
  int registers = 0;
  for (const LaunchResult& launch : result.launches) {
    registers = std::max(registers, launch.resources.registers_per_thread);
  }
  if (registers > 0) kernel.search->tell_registers(candidate.configuration, registers);
  kernel.search->tell(candidate.configuration, time_ms);
}

std::optional<std::size_t> EveryKernel::choose() {
  // A short budget shows first what the kernels near the best are worth, and of these first those
  // of which something is known elsewhere.
  const auto turn = [this](const Kernel& kernel) {
    return std::tuple(kernel.exhausted, has_minimum(kernel), is_far_behind(kernel), kernel.asked(),
                      kernel.searched.rankings.empty());
  };
  const auto next = std::ranges::min_element(kernels_, {}, turn);
  if (next == kernels_.end() || next->exhausted) return std::nullopt;
  if (has_minimum(*next)) {
    if (const auto one = drawn()) return one;
  }
  return next - kernels_.begin();
}

/// Draws a kernel by the weights; nullopt when those left have none.
std::optional<std::size_t> EveryKernel::drawn() {
  double ahead = 0;
  double behind = 0;
  for (const Kernel& kernel : kernels_) (is_far_behind(kernel) ? behind : ahead) += weight(kernel);
  const double scale = ahead > 0 && behind > 0 ? std::min(1.0, kShareBehind * ahead / behind) : 1.0;
  double left = uniform(random_) * (ahead + scale * behind);
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const double own = weight(kernels_[i]) * (is_far_behind(kernels_[i]) ? scale : 1.0);
    if (!(own > 0)) continue;
    chosen = i;
    left -= own;
    if (left < 0) break;
  }
  return chosen;
}

KernelBehind EveryKernel::behind(const Kernel& kernel, double level_ms) const {
  return {.times = *kernel.best_ms / level_ms,
          .untried = kernel.searched.space->size() - kernel.told,
          .evaluated = kernel.told,
          .has_costs = static_cast<bool>(kernel.searched.cost)};
}

bool EveryKernel::is_far_behind(const Kernel& kernel) const {
  if (!kernel.best_ms) return kernel.told > 0;
  const KernelBehind its = behind(kernel, *best_ms_);
  return its.times > kFarBehind ||
         (its.times >= kLeastBehind && chance_of_kernel_behind(its) < kLittleChance);
}

bool EveryKernel::is_left_alone(const Kernel& kernel) const {
  if (!kernel.best_ms) return false;
  const KernelBehind its = behind(kernel, *best_ms_);
  return its.times >= kLeastBehind && chance_of_kernel_behind(its) < kNoChance;
}

bool EveryKernel::has_minimum(const Kernel& kernel) const {
  return kernel.asked() >= kMinimumPerKernel || is_left_alone(kernel);
}

double EveryKernel::weight(const Kernel& kernel) const {
  if (kernel.exhausted || is_left_alone(kernel)) return 0;
  if (!kernel.best_ms) return 1;  // Nothing was told yet, or only failures.
  const double share = *best_ms_ / *kernel.best_ms;
  return share * share * share;
}

std::optional<double> EveryKernel::chance_of_better(double gain) {
  if (!best_ms_) return std::nullopt;
  const double level_ms = *best_ms_ / gain;
  SearchedSoFar near = {
      .kernels = 0, .since_gain = gains_.since_last_gain(), .expected = 0, .has_costs = true};
  double known_elsewhere = 0;
  double nothing_better = 1;
  for (const Kernel& kernel : kernels_) {
    const SearchSpace& space = *kernel.searched.space;
    if (!space.is_listed()) return std::nullopt;
    const std::uint64_t untried = space.size() - kernel.told;
    if (kernel.best_ms && *kernel.best_ms >= kLeastBehind * level_ms) {
      nothing_better *= 1 - chance_of_kernel_behind(behind(kernel, level_ms));
      continue;
    }
    near.evaluated += kernel.told;
    near.in_flight += kernel.asked() - kernel.told;
    near.untried += untried;
    known_elsewhere += static_cast<double>(untried) * kernel.search->known_elsewhere();
    if (untried == 0) continue;
    ++near.kernels;
    const std::optional<double> expected = kernel.search->expected_below(level_ms);
    *near.expected += expected.value_or(std::min(kExpectedOfUnknown, static_cast<double>(untried)));
    near.has_costs = near.has_costs && expected && kernel.searched.cost;
  }
  if (near.untried > 0) near.known_elsewhere = known_elsewhere / static_cast<double>(near.untried);
  return 1 - nothing_better * (1 - smemtune::chance_of_better(near));
}

}  // namespace smemtune
