#include "tuner/search/forest.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace smemtune {

namespace {

// Chosen by replaying measured spaces of six GPUs, and rounded.
constexpr std::size_t kDistantQuestions = 20;  // Questions that lie far from each other.
constexpr std::size_t kDistantPool = 1000;
constexpr double kRandomShare = 0.1;  // Share of the questions after these.
constexpr std::size_t kTrees = 10;
constexpr double kPositiveShare = 0.15;  // Share of the results told, with this minimum:
constexpr std::size_t kLeastPositives = 3;
constexpr double kLeastWeight = 0.3;  // Weight of a positive; the rest follows from its lead.

// After a new best that takes no more than this share of the last one's time, this many questions
// are about its neighbors.
constexpr double kLeap = 0.98;
constexpr std::size_t kBesideBest = 5;

// Size of the pool for a space that is not small.
constexpr std::size_t kPool = 2000;
constexpr std::size_t kFresh = 50;    // Replaced before every question.
constexpr std::size_t kExpanded = 5;  // Number of the best whose neighbors are in the pool.

// Samples for growing the trees, which is the cost of a question.
constexpr std::size_t kMostPositives = 100;
constexpr std::size_t kMostNegatives = 300;

}  // namespace

std::optional<ConfigurationIndex> Forest::ask() {
  // When hardly anything works, search far from the configurations that failed.
  if (distant_asked_ < kDistantQuestions || timed_ < kLeastPositives) return take_distant();
  if (untried_.is_mostly_taken()) return untried_.take_next();
  if (uniform(random_) < kRandomShare) return untried_.take_next();
  return take_likely();
}

void Forest::tell(ConfigurationIndex configuration, std::optional<double> time_ms) {
  Told told = {
      .configuration = configuration, .time_ms = time_ms, .features = features(configuration)};
  if (!time_ms) {
    told_.push_back(std::move(told));
    return;
  }
  if (timed_ > 0 && *time_ms < kLeap * *told_.front().time_ms) beside_best_ = kBesideBest;
  const auto timed_end = told_.begin() + static_cast<std::ptrdiff_t>(timed_);
  const auto at =
      std::upper_bound(told_.begin(), timed_end, *time_ms,
                       [](double one_ms, const Told& other) { return one_ms < *other.time_ms; });
  told_.insert(at, std::move(told));
  ++timed_;
}

/// Takes the configuration that is farthest from all that were asked for in this way. Others do not
/// count: a default, or a configuration that was fast elsewhere, is the same for every seed and
/// would send all of them to the same corners.
std::optional<ConfigurationIndex> Forest::take_distant() {
  ++distant_asked_;
  std::erase_if(distant_,
                [&](const Distant& one) { return !untried_.contains(one.configuration); });
  if (distant_.empty()) {
    for (std::size_t i = 0; i < kDistantPool; ++i) {
      const std::optional<ConfigurationIndex> drawn = untried_.draw(random_);
      if (!drawn) break;
      Distant one = {.configuration = *drawn, .place = place(*drawn), .distance = HUGE_VALF};
      distant_.push_back(std::move(one));
    }
  }
  if (distant_.empty()) return untried_.take_next();
  const auto farthest = std::ranges::max_element(distant_, {}, &Distant::distance);
  const ConfigurationIndex configuration = farthest->configuration;
  untried_.take(configuration);
  note_place(configuration);
  return configuration;
}

void Forest::note_place(ConfigurationIndex configuration) {
  if (distant_.empty()) return;
  const std::vector<float> noted = place(configuration);
  for (Distant& one : distant_) {
    float squares = 0;
    for (std::size_t p = 0; p < noted.size(); ++p) {
      squares += (one.place[p] - noted[p]) * (one.place[p] - noted[p]);
    }
    one.distance = std::min(one.distance, squares);
  }
}

std::optional<ConfigurationIndex> Forest::take_likely() {
  distant_.clear();
  fill_pool();
  if (pool_.configurations.empty()) return untried_.take_next();
  const DecisionForest forest = grown();
  if (beside_best_ > 0) {
    --beside_best_;
    if (const auto asked = take_beside_best(forest)) return asked;
  }
  std::optional<std::size_t> best;
  double best_score = -1;
  std::vector<std::size_t> gone;  // Asked for at random, or by another search.
  // Begin at a random place, because many score the same.
  const std::size_t count = pool_.configurations.size();
  const auto first = static_cast<std::size_t>(below(random_, count));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i + first < count ? i + first : i + first - count;
    const double score = forest.score(pool_.row(at), best_score);
    if (!(score > best_score)) continue;
    if (!untried_.contains(pool_.configurations[at])) {
      gone.push_back(at);
      continue;
    }
    best = at;
    best_score = score;
  }
  if (!best) return untried_.take_next();
  const ConfigurationIndex configuration = pool_.configurations[*best];
  untried_.take(configuration);
  gone.push_back(*best);
  std::ranges::sort(gone, std::greater<>());
  for (const std::size_t at : gone) pool_.remove(at);
  return configuration;
}

/// Takes the likeliest of the best's neighbors, a random one of equals.
std::optional<ConfigurationIndex> Forest::take_beside_best(const DecisionForest& forest) {
  std::vector<ConfigurationIndex> neighbors = untried_.neighbors(told_.front().configuration);
  shuffle(std::span(neighbors), random_);
  std::optional<ConfigurationIndex> best;
  double best_score = -1;
  for (const ConfigurationIndex neighbor : neighbors) {
    const double score = forest.score(features(neighbor), best_score);
    if (!(score > best_score)) continue;
    best = neighbor;
    best_score = score;
  }
  if (best) untried_.take(*best);
  return best;
}

DecisionForest Forest::grown() {
  const std::size_t fast = positives();
  // The lead of each over the first that is not fast.
  const double slow_ms = fast < timed_ ? *told_[fast].time_ms : *told_[fast - 1].time_ms * 1.01;
  std::vector<double> leads;
  double sum = 0;
  for (std::size_t i = 0; i < fast; ++i) {
    const double lead = std::log(slow_ms / *told_[i].time_ms);
    leads.push_back(lead * lead * lead);
    sum += leads.back();
  }
  std::vector<DecisionForest::Sample> samples;
  for (std::size_t i = 0; i < fast; ++i) {
    const double ahead = sum > 0 ? leads[i] * static_cast<double>(fast) / sum : 1;
    samples.push_back({.features = told_[i].features,
                       .positive = true,
                       .weight = kLeastWeight + (1 - kLeastWeight) * ahead});
  }
  const std::size_t others = told_.size() - fast;
  const std::size_t step = 1 + others / kMostNegatives;
  for (std::size_t i = fast + others % step; i < told_.size(); i += step) {
    samples.push_back({.features = told_[i].features, .weight = static_cast<double>(step)});
  }
  const std::vector<std::vector<float>> replaced = only_trusted(samples);
  return {samples, kTrees, random_};
}

/// Makes the features of the rankings that this question ignores equal for all samples, so that no
/// tree uses them. A ranking that says nothing here is always ignored, one that always holds never.
/// Returns the feature vectors that the samples then refer to.
std::vector<std::vector<float>> Forest::only_trusted(std::vector<DecisionForest::Sample>& samples) {
  std::vector<std::size_t> left_out;
  for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
    const double trust = 2 * elsewhere_[i].share() - 1;
    if (uniform(random_) >= trust) left_out.push_back(elsewhere_.size() - i);
  }
  std::vector<std::vector<float>> replaced;
  if (left_out.empty()) return replaced;
  for (DecisionForest::Sample& sample : samples) {
    std::vector<float>& features =
        replaced.emplace_back(sample.features.begin(), sample.features.end());
    for (const std::size_t from_end : left_out) features[features.size() - from_end] = 0;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].features = replaced[i];
  return replaced;
}

std::size_t Forest::positives() const {
  const auto share =
      static_cast<std::size_t>(std::ceil(kPositiveShare * static_cast<double>(told_.size())));
  return std::min({timed_, std::max(kLeastPositives, share), kMostPositives});
}

void Forest::fill_pool() {
  if (untried_.lists_few()) {
    if (pool_.configurations.empty()) {
      for (ConfigurationIndex i = 0; i < untried_.space().size(); ++i) {
        if (untried_.contains(i)) add_to_pool(i);
      }
    }
  } else {
    for (std::size_t i = 0; i < kFresh && pool_.configurations.size() >= kPool; ++i) {
      pool_.remove(static_cast<std::size_t>(below(random_, pool_.configurations.size())));
    }
    while (pool_.configurations.size() < kPool) {
      const std::optional<ConfigurationIndex> drawn = untried_.draw(random_);
      if (!drawn) break;
      add_to_pool(*drawn);
    }
    add_neighbors_of_best();
  }
}

void Forest::add_neighbors_of_best() {
  for (std::size_t i = 0; i < std::min(timed_, kExpanded); ++i) {
    const ConfigurationIndex best = told_[i].configuration;
    if (std::ranges::find(expanded_, best) != expanded_.end()) continue;
    expanded_.push_back(best);
    for (const ConfigurationIndex neighbor : untried_.neighbors(best)) add_to_pool(neighbor);
  }
}

void Forest::add_to_pool(ConfigurationIndex configuration) {
  pool_.add(configuration, features(configuration));
}

void Forest::Pool::add(ConfigurationIndex configuration, std::span<const float> row) {
  width = row.size();
  configurations.push_back(configuration);
  features.insert(features.end(), row.begin(), row.end());
}

void Forest::Pool::remove(std::size_t i) {
  const std::size_t last = configurations.size() - 1;
  configurations[i] = configurations[last];
  std::copy_n(features.begin() + static_cast<std::ptrdiff_t>(last * width), width,
              features.begin() + static_cast<std::ptrdiff_t>(i * width));
  configurations.pop_back();
  features.resize(last * width);
}

std::vector<float> Forest::features(ConfigurationIndex configuration) const {
  std::vector<float> features = features_of_(untried_.space().value_indices(configuration));
  for (const Agreement& place : elsewhere_) features.push_back(place.nearness(configuration));
  return features;
}

}  // namespace smemtune
