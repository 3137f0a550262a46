#include "tuner/search/auto.h"

#include "tuner/core/hash.h"

#include <algorithm>
#include <utility>

namespace smemtune {

namespace {

// Questions about one place; each further place adds one to the number for all places together.
constexpr std::size_t kOfAPlace = 5;

// After the first question about a configuration that was fast elsewhere, this many are the
// search's own and show how far the order there holds here. Below this agreement a place is not
// used.
constexpr std::size_t kOwnFirst = 4;
constexpr double kLeastAgreement = 0.8;
constexpr double kFullAgreement = 0.95;  // From here on an order elsewhere is taken to hold.

// The model asks one of every kForModel of the first questions.
constexpr std::size_t kFirstQuestions = 16;
constexpr std::size_t kForModel = 4;

// The trees have one of every kForForestEarly of the search's first kEarly questions, and one of
// every kForForest of the others.
constexpr std::size_t kEarly = 60;
constexpr std::size_t kForForestEarly = 4;
constexpr std::size_t kForForest = 2;

}  // namespace

Auto::Auto(const SearchedKernel& kernel, Untried& untried, std::uint64_t seed)
    : untried_(untried),
      elsewhere_(kernel.rankings.begin(), kernel.rankings.end()),
      forest_(untried, seed, elsewhere_),
      likely_better_(untried, random_bits(seed, 1), kernel.rankings, kernel.cost) {
  for (const Ranking& ranking : kernel.rankings) {
    Fastest fastest;
    for (const Ranking::Timed& timed : ranking.fastest_first) {
      if (fastest.first.size() < kOfAPlace) fastest.first.push_back(timed.configuration);
    }
    fastest_.push_back(std::move(fastest));
  }
  if (!fastest_.empty()) left_for_places_ = kOfAPlace + fastest_.size() - 1;
  if (kernel.cost) model_.emplace(kernel, untried, random_bits(seed, 2));
}

std::optional<ConfigurationIndex> Auto::ask() {
  std::optional<ConfigurationIndex> asked = fast_elsewhere();
  if (!asked) asked = searched();
  if (asked) likely_better_.note_asked(*asked);
  return asked;
}

std::optional<ConfigurationIndex> Auto::fast_elsewhere() {
  if (asked_elsewhere_ && own_first_ < kOwnFirst) {
    ++own_first_;
    search_is_next_ = false;
    return std::nullopt;
  }
  while (!search_is_next_ && left_for_places_ > 0) {
    Fastest* chosen = nullptr;
    double most = 0;
    for (std::size_t i = 0; i < fastest_.size(); ++i) {
      const double agreement = elsewhere_[i].share();
      if (fastest_[i].asked == fastest_[i].first.size()) continue;
      if (agreement < kLeastAgreement || agreement <= most) continue;
      chosen = &fastest_[i];
      most = agreement;
    }
    if (chosen == nullptr) break;
    const ConfigurationIndex configuration = chosen->first[chosen->asked++];
    if (!untried_.take(configuration)) continue;
    likely_better_.note_fast_elsewhere();
    asked_elsewhere_ = true;
    --left_for_places_;
    search_is_next_ = true;
    return configuration;
  }
  search_is_next_ = false;
  return std::nullopt;
}

std::optional<ConfigurationIndex> Auto::searched() {
  if (model_ && questions_ < kFirstQuestions && questions_++ % kForModel == 0) return model_->ask();
  ++turns_;
  if (turns_ % (turns_ < kEarly ? kForForestEarly : kForForest) != 0) {
    if (const auto asked = likely_better_.ask()) return asked;
  }
  return forest_.ask();
}

void Auto::tell(ConfigurationIndex configuration, std::optional<double> time_ms) {
  forest_.tell(configuration, time_ms);
  likely_better_.tell(configuration, time_ms);
  for (Agreement& place : elsewhere_) place.tell(configuration, time_ms);
}

double Auto::known_elsewhere() const {
  if (!likely_better_.has_times_elsewhere()) return 0;
  double most = 0;
  for (const Agreement& place : elsewhere_) most = std::max(most, place.share());
  return std::clamp((most - kLeastAgreement) / (kFullAgreement - kLeastAgreement), 0.0, 1.0);
}

void Auto::tell_registers(ConfigurationIndex configuration, int registers) {
  if (model_) model_->tell_registers(configuration, registers);
}

}  // namespace smemtune
