#pragma once

#include "tuner/core/search_space.h"

#include <optional>

namespace smemtune {

/// What a Strategy is for several kernels, for one of them.
class KernelSearch {
 public:
  virtual ~KernelSearch() = default;

  /// The next configuration, taken from what is untried, or nullopt when nothing is left.
  virtual std::optional<ConfigurationIndex> ask() = 0;

  /// How long a configuration takes; nullopt: it failed. It need not be one that was asked for.
  virtual void tell(ConfigurationIndex configuration, std::optional<double> time_ms) = 0;

  /// The most registers per thread that a configuration took when it was compiled.
  virtual void tell_registers(ConfigurationIndex /*configuration*/, int /*registers*/) {}
};

}  // namespace smemtune
