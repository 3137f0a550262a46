#pragma once

#include "tuner/search/agreement.h"
#include "tuner/search/forest.h"
#include "tuner/search/kernel_search.h"
#include "tuner/search/likely_better.h"
#include "tuner/search/model.h"
#include "tuner/search/strategy.h"
#include "tuner/search/untried.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace smemtune {

/// A Forest and LikelyBetter in turn, each told what the other finds: where the trees keep to what
/// they know to be good, the other looks where little is known. A Model asks some of the first
/// questions where launches are known. The first question is about what was the fastest at the
/// place that is most alike; after some of the search's own, every other one is about what was fast
/// elsewhere: at the place that has most of what was measured here in the right order, and at none
/// that has too much of it wrong. The trees see how the places ranked what they measured. What was
/// found elsewhere is never all that is asked for, as it may mislead.
class Auto final : public KernelSearch {
 public:
  Auto(const SearchedKernel& kernel, Untried& untried, std::uint64_t seed);

  std::optional<ConfigurationIndex> ask() override;
  void tell(ConfigurationIndex configuration, std::optional<double> time_ms) override;
  void tell_registers(ConfigurationIndex configuration, int registers) override;

 private:
  struct Fastest {
    std::vector<ConfigurationIndex> first;  ///< What may be asked for.
    std::size_t asked = 0;                  ///< Of these.
  };

  std::optional<ConfigurationIndex> fast_elsewhere();
  std::optional<ConfigurationIndex> searched();

  Untried& untried_;
  std::vector<Agreement> elsewhere_;  ///< By place, the most alike first.
  Forest forest_;
  LikelyBetter likely_better_;
  std::optional<Model> model_;  ///< Where it knows the launches.
  std::size_t questions_ = 0;
  bool asked_elsewhere_ = false;     ///< For what was fast there.
  std::size_t own_first_ = 0;        ///< Questions since then.
  std::vector<Fastest> fastest_;     ///< By place.
  std::size_t left_for_places_ = 0;  ///< Questions.
  bool search_is_next_ = false;      ///< After one of these.
  bool forest_is_next_ = true;       ///< Of the two searches.
};

}  // namespace smemtune
