#pragma once

#include "tuner/core/kernel_binding.h"
#include "tuner/core/limits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace smemtune {

/// Returns a configuration that the device's limits let through, for each number another one that
/// is far from those of the numbers before it; nullopt if none of some hundred is let through.
inline std::optional<KernelInstance> sample_instance(const KernelBinding& bound,
                                                     const Device& device, std::size_t number) {
  constexpr double kGoldenRatio = 0.6180339887498949;
  constexpr std::uint64_t kMostTried = 128;
  const std::uint64_t size = bound.search_space().size();
  const double place = static_cast<double>(number) * kGoldenRatio;
  const auto begin =
      static_cast<std::uint64_t>((place - std::floor(place)) * static_cast<double>(size));
  const std::uint64_t step = std::max<std::uint64_t>(1, size / kMostTried);
  for (std::uint64_t i = 0; i < size; i += step) {
    KernelInstance instance =
        bound.instantiate(bound.search_space().configuration((begin + i) % size));
    if (!exceeds_limits(instance, device)) return instance;
  }
  return std::nullopt;
}

}  // namespace smemtune
