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

/// Asks a Forest and a LikelyBetter, each told what the other finds: the trees stay near what is
/// known to be good, the other explores where little is known, and has most of the early questions
/// and every other one later. Where launches are known, a Model asks some of the first questions.
/// The first question is about the configuration that was fastest at the most similar place. After
/// some questions of the search's own, every other question is about one that was fast elsewhere: at
/// the place whose ranking orders most of the results here correctly; places with too many pairs in
/// the wrong order are not used. The trees see how the places ranked the configurations they
/// measured. Results from elsewhere may mislead, so they never determine all questions.
class Auto final : public KernelSearch {
 public:
  Auto(const SearchedKernel& kernel, Untried& untried, std::uint64_t seed);

  std::optional<ConfigurationIndex> ask() override;
  void tell(ConfigurationIndex configuration, std::optional<double> time_ms) override;
  std::optional<double> expected_below(double time_ms) override {
    return likely_better_.expected_below(time_ms);
  }
  double known_elsewhere() const override;
  void tell_registers(ConfigurationIndex configuration, int registers) override;

 private:
  struct Fastest {
    std::vector<ConfigurationIndex> first;  ///< Configurations that may be asked for.
    std::size_t asked = 0;                  ///< How many of these were asked for.
  };

  std::optional<ConfigurationIndex> fast_elsewhere();
  std::optional<ConfigurationIndex> searched();

  Untried& untried_;
  std::vector<Agreement> elsewhere_;  ///< One for each place, the most similar first.
  Forest forest_;
  LikelyBetter likely_better_;
  std::optional<Model> model_;  ///< Only if launches are known.
  std::size_t questions_ = 0;
  bool asked_elsewhere_ = false;     ///< True once a configuration that was fast elsewhere was
                                     ///< asked for.
  std::size_t own_first_ = 0;        ///< Questions since then, up to kOwnFirst.
  std::vector<Fastest> fastest_;     ///< One for each place.
  std::size_t left_for_places_ = 0;  ///< Questions left for fast ones elsewhere.
  bool search_is_next_ = false;      ///< True after a question about a place.
  std::size_t turns_ = 0;            ///< Questions to the Forest or the LikelyBetter.
};

}  // namespace smemtune
