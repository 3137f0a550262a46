#pragma once

#include "tuner/core/search_space.h"

#include <optional>

namespace smemtune {

/// Searches a single kernel as a Strategy searches several.
class KernelSearch {
 public:
  virtual ~KernelSearch() = default;

  /// Takes the next configuration from the untried ones; nullopt when nothing is left.
  virtual std::optional<ConfigurationIndex> ask() = 0;

  /// Records how long a configuration takes; nullopt: it failed. It need not be one that was asked
  /// for.
  virtual void tell(ConfigurationIndex configuration, std::optional<double> time_ms) = 0;

  /// Returns how many untried configurations are expected to take less than `time_ms`, by a model of
  /// the times; nullopt where there is none yet.
  virtual std::optional<double> expected_below(double /*time_ms*/) { return std::nullopt; }

  /// Returns how far what was measured elsewhere says what to expect here of each configuration:
  /// from 0, not at all, to 1.
  virtual double known_elsewhere() const { return 0; }

  /// Records the most registers per thread that a configuration's launches took when compiled.
  virtual void tell_registers(ConfigurationIndex /*configuration*/, int /*registers*/) {}
};

}  // namespace smemtune
