#include "tuner/search/auto.h"

#include "tuner/core/hash.h"

#include <algorithm>

namespace smemtune {

namespace {

// Questions about the place that is most alike, and about each other.
constexpr std::size_t kOfTheNearest = 5;
constexpr std::size_t kOfAnother = 1;

// Of so many first questions the model asks every so many.
constexpr std::size_t kFirstQuestions = 16;
constexpr std::size_t kForModel = 4;

std::vector<ConfigurationIndex> fastest_elsewhere(const std::vector<Ranking>& rankings) {
  std::vector<ConfigurationIndex> fastest;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const std::size_t most = i == 0 ? kOfTheNearest : kOfAnother;
    const std::vector<ConfigurationIndex>& ranked = rankings[i].fastest_first;
    fastest.insert(fastest.end(), ranked.begin(),
                   ranked.begin() + static_cast<std::ptrdiff_t>(std::min(most, ranked.size())));
  }
  return fastest;
}

}  // namespace

Auto::Auto(const SearchedKernel& kernel, Untried& untried, std::uint64_t seed)
    : untried_(untried),
      forest_(untried, seed, kernel.rankings),
      likely_better_(untried, random_bits(seed, 1)),
      first_(fastest_elsewhere(kernel.rankings)) {
  if (kernel.cost) model_.emplace(kernel, untried, random_bits(seed, 2));
}

std::optional<ConfigurationIndex> Auto::ask() {
  std::optional<ConfigurationIndex> asked = fast_elsewhere();
  if (!asked) asked = searched();
  if (asked) likely_better_.note_asked(*asked);
  return asked;
}

std::optional<ConfigurationIndex> Auto::fast_elsewhere() {
  while (!search_is_next_ && asked_first_ < first_.size()) {
    const ConfigurationIndex configuration = first_[asked_first_++];
    if (!untried_.take(configuration)) continue;
    search_is_next_ = true;
    return configuration;
  }
  search_is_next_ = false;
  return std::nullopt;
}

std::optional<ConfigurationIndex> Auto::searched() {
  if (model_ && questions_ < kFirstQuestions && questions_++ % kForModel == 0) return model_->ask();
  forest_is_next_ = !forest_is_next_;
  if (forest_is_next_) {
    if (const auto asked = likely_better_.ask()) return asked;
  }
  return forest_.ask();
}

void Auto::tell(ConfigurationIndex configuration, std::optional<double> time_ms) {
  forest_.tell(configuration, time_ms);
  likely_better_.tell(configuration, time_ms);
}

void Auto::tell_registers(ConfigurationIndex configuration, int registers) {
  if (model_) model_->tell_registers(configuration, registers);
}

}  // namespace smemtune
