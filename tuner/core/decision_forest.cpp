#include "tuner/core/decision_forest.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace smemtune {

namespace {

constexpr std::uint32_t kLeaf = std::numeric_limits<std::uint32_t>::max();

/// Summed weights of samples, by class.
struct Weights {
  double positive = 0;
  double negative = 0;

  double total() const { return positive + negative; }
  bool is_pure() const { return !(positive > 0) || !(negative > 0); }
  /// Grows with purity; summed over both halves of a cut, it is their weight less Gini's impurity.
  double purity() const { return (positive * positive + negative * negative) / total(); }
};

constexpr std::size_t kLanes = 4;
// Any processor has such vectors.
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Mask [[gnu::vector_size(kLanes * sizeof(float))]] = std::int32_t;

/// Numbers of some samples side by side, filled up to whole vectors.
class Gathered {
 public:
  void gather(std::span<const float> of, std::span<const std::uint32_t> samples, float filling) {
    numbers_.resize((samples.size() + kLanes - 1) / kLanes * kLanes);
    for (std::size_t i = 0; i < samples.size(); ++i) numbers_[i] = of[samples[i]];
    std::fill(numbers_.begin() + static_cast<std::ptrdiff_t>(samples.size()), numbers_.end(),
              filling);
  }

  std::size_t vectors() const { return numbers_.size() / kLanes; }

  Lanes operator[](std::size_t i) const {
    Lanes lanes;
    std::memcpy(&lanes, &numbers_[i * kLanes], sizeof(lanes));
    return lanes;
  }

  /// Returns the least and the greatest number. REQUIRES: there is at least one.
  std::pair<float, float> range() const {
    Lanes low = (*this)[0];
    Lanes high = low;
    for (std::size_t i = 1; i < vectors(); ++i) {
      const Lanes own = (*this)[i];
      low = own < low ? own : low;
      high = own > high ? own : high;
    }
    float least = low[0];
    float most = high[0];
    for (std::size_t lane = 1; lane < kLanes; ++lane) {
      least = std::min(least, low[lane]);
      most = std::max(most, high[lane]);
    }
    return {least, most};
  }

 private:
  std::vector<float> numbers_;
};

struct Cut {
  std::uint32_t feature = kLeaf;
  float at = 0;
  double purity = 0;
};

}  // namespace

/// Grows one tree after the other.
class DecisionForest::Growth {
 public:
  Growth(std::span<const Sample> samples, std::vector<Node>& nodes, RandomEngine& random)
      : nodes_(nodes), random_(random), order_(samples.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    for (const Sample& sample : samples) {
      const auto weight = static_cast<float>(sample.weight);
      positive_.push_back(sample.positive ? weight : 0);
      negative_.push_back(sample.positive ? 0 : weight);
    }
    for (std::uint32_t feature = 0; feature < samples.front().features.size(); ++feature) {
      features_.push_back(feature);
      for (const Sample& sample : samples) values_.push_back(sample.features[feature]);
    }
  }

  void grow() { grow(order_, features_); }

 private:
  using Members = std::span<std::uint32_t>;

  std::span<const float> column(std::size_t feature) const {
    return std::span(values_).subspan(feature * order_.size(), order_.size());
  }

  /// Grows the subtree of the members. `features`: those that may differ among the members.
  void grow(Members members, std::vector<std::uint32_t> features) {
    Weights weights;
    for (const std::uint32_t member : members) {
      weights.positive += static_cast<double>(positive_[member]);
      weights.negative += static_cast<double>(negative_[member]);
    }
    const std::size_t node = nodes_.size();
    const auto share = static_cast<float>(weights.positive / weights.total());
    nodes_.push_back({.cut = share, .feature = kLeaf});
    if (weights.is_pure()) return;
    const Cut cut = best_cut(members, weights, features);
    if (cut.feature == kLeaf) return;
    const std::span<const float> values = column(cut.feature);
    const auto middle = std::partition(members.begin(), members.end(), [&](std::uint32_t member) {
      return values[member] <= cut.at;
    });
    const auto left = static_cast<std::size_t>(middle - members.begin());
    nodes_[node].cut = cut.at;
    nodes_[node].feature = cut.feature;
    grow(members.first(left), features);
    nodes_[node].right = static_cast<std::uint32_t>(nodes_.size());
    grow(members.subspan(left), std::move(features));
  }

  /// Returns the best cut, and erases from `features` those that are equal for all members.
  Cut best_cut(Members members, const Weights& all, std::vector<std::uint32_t>& features) {
    own_positive_.gather(positive_, members, 0);
    own_negative_.gather(negative_, members, 0);
    Cut best;
    std::erase_if(features, [&](std::uint32_t feature) {
      const std::span<const float> values = column(feature);
      own_values_.gather(values, members, values[members.front()]);
      const auto [low, high] = own_values_.range();
      if (!(low < high)) return true;
      float at = low + (high - low) * static_cast<float>(uniform(random_));
      if (!(at < high)) at = low;
      const Weights left = weights_up_to(at);
      const Weights right = {.positive = std::max(0.0, all.positive - left.positive),
                             .negative = std::max(0.0, all.negative - left.negative)};
      const double purity = left.purity() + (right.total() > 0 ? right.purity() : 0);
      if (best.feature == kLeaf || purity > best.purity) {
        best = {.feature = feature, .at = at, .purity = purity};
      }
      return false;
    });
    return best;
  }

  /// Returns the weights of the members whose values are at most `at`.
  Weights weights_up_to(float at) const {
    Lanes positive = {};
    Lanes negative = {};
    for (std::size_t i = 0; i < own_values_.vectors(); ++i) {
      const Mask is_left = own_values_[i] <= at;
      positive += reinterpret_cast<Lanes>(reinterpret_cast<Mask>(own_positive_[i]) & is_left);
      negative += reinterpret_cast<Lanes>(reinterpret_cast<Mask>(own_negative_[i]) & is_left);
    }
    Weights weights;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      weights.positive += static_cast<double>(positive[lane]);
      weights.negative += static_cast<double>(negative[lane]);
    }
    return weights;
  }

  std::vector<Node>& nodes_;
  RandomEngine& random_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> features_;
  std::vector<float> positive_;  ///< Weights by sample; 0 for samples of the other class.
  std::vector<float> negative_;
  std::vector<float> values_;  ///< Values by feature, then by sample.
  Gathered own_positive_;      ///< Weights of the current node's members, in their order.
  Gathered own_negative_;
  Gathered own_values_;  ///< Values of one feature for these members.
};

DecisionForest::DecisionForest(std::span<const Sample> samples, std::size_t trees,
                               RandomEngine& random) {
  Growth growth(samples, nodes_, random);
  for (std::size_t tree = 0; tree < trees; ++tree) {
    roots_.push_back(nodes_.size());
    growth.grow();
  }
}

double DecisionForest::score(std::span<const float> features, double least) const {
  const auto trees = static_cast<double>(roots_.size());
  double missing = 0;  // Sum over the trees of what each lacks of the score 1.
  for (std::size_t node : roots_) {
    while (nodes_[node].feature != kLeaf) {
      const Node& inner = nodes_[node];
      node = features[inner.feature] <= inner.cut ? node + 1 : inner.right;
    }
    missing += 1 - static_cast<double>(nodes_[node].cut);
    if (missing >= (1 - least) * trees) return 0;
  }
  return 1 - missing / trees;
}

}  // namespace smemtune
