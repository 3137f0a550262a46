#include "tuner/core/decision_forest.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace smemtune {

namespace {

constexpr std::uint32_t kLeaf = std::numeric_limits<std::uint32_t>::max();

/// Weights of samples by class.
struct Weights {
  double positive = 0;
  double negative = 0;

  double total() const { return positive + negative; }
  bool is_pure() const { return !(positive > 0) || !(negative > 0); }
  /// The larger the purer; of both halves together, what Gini's impurity leaves of the weight.
  double purity() const { return (positive * positive + negative * negative) / total(); }
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
      weights_.push_back({.positive = sample.positive ? sample.weight : 0,
                          .negative = sample.positive ? 0 : sample.weight});
    }
    for (std::size_t feature = 0; feature < samples.front().features.size(); ++feature) {
      for (const Sample& sample : samples) values_.push_back(sample.features[feature]);
    }
  }

  void grow() { grow(order_); }

 private:
  std::span<const float> column(std::size_t feature) const {
    return std::span(values_).subspan(feature * weights_.size(), weights_.size());
  }

  void grow(std::span<std::uint32_t> members) {
    Weights weights;
    for (const std::uint32_t member : members) {
      weights.positive += weights_[member].positive;
      weights.negative += weights_[member].negative;
    }
    const std::size_t node = nodes_.size();
    const auto share = static_cast<float>(weights.positive / weights.total());
    nodes_.push_back({.cut = share, .feature = kLeaf});
    if (weights.is_pure()) return;
    const Cut cut = best_cut(members, weights);
    if (cut.feature == kLeaf) return;
    const std::span<const float> values = column(cut.feature);
    const auto middle = std::partition(members.begin(), members.end(), [&](std::uint32_t member) {
      return values[member] <= cut.at;
    });
    const auto left = static_cast<std::size_t>(middle - members.begin());
    nodes_[node].cut = cut.at;
    nodes_[node].feature = cut.feature;
    grow(members.first(left));
    nodes_[node].right = static_cast<std::uint32_t>(nodes_.size());
    grow(members.subspan(left));
  }

  Cut best_cut(std::span<const std::uint32_t> members, const Weights& all) {
    Cut best;
    const std::size_t features = values_.size() / weights_.size();
    for (std::uint32_t feature = 0; feature < features; ++feature) {
      const std::span<const float> values = column(feature);
      float low = values[members.front()];
      float high = low;
      for (const std::uint32_t member : members) {
        low = std::min(low, values[member]);
        high = std::max(high, values[member]);
      }
      if (!(low < high)) continue;
      float at = low + (high - low) * static_cast<float>(uniform(random_));
      if (!(at < high)) at = low;
      Weights left;
      for (const std::uint32_t member : members) {
        const double is_left = values[member] <= at ? 1 : 0;  // A branch would be guessed wrongly.
        left.positive += is_left * weights_[member].positive;
        left.negative += is_left * weights_[member].negative;
      }
      const Weights right = {.positive = std::max(0.0, all.positive - left.positive),
                             .negative = std::max(0.0, all.negative - left.negative)};
      const double purity = left.purity() + (right.total() > 0 ? right.purity() : 0);
      if (best.feature != kLeaf && !(purity > best.purity)) continue;
      best = {.feature = feature, .at = at, .purity = purity};
    }
    return best;
  }

  std::vector<Node>& nodes_;
  RandomEngine& random_;
  std::vector<std::uint32_t> order_;
  std::vector<Weights> weights_;  ///< By sample; of the other class 0.
  std::vector<float> values_;     ///< By feature, then by sample.
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
  double missing = 0;  // Of the score 1, added up over the trees.
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
