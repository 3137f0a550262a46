#pragma once

#include "tuner/search/kernel_search.h"
#include "tuner/search/untried.h"

namespace smemtune {

/// Visits the space in the seed's random order.
class Random final : public KernelSearch {
 public:
  explicit Random(Untried& untried) : untried_(untried) {}

  std::optional<ConfigurationIndex> ask() override { return untried_.take_next(); }
  void tell(ConfigurationIndex /*configuration*/, std::optional<double> /*time_ms*/) override {}

 private:
  Untried& untried_;
};

}  // namespace smemtune
