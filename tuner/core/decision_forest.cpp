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

  void add(const DecisionForest::Sample& sample) {
    (sample.positive ? positive : negative) += sample.weight;
  }
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
      : samples_(samples), nodes_(nodes), random_(random), order_(samples.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
  }

  void grow() { grow(order_); }

 private:
  void grow(std::span<std::uint32_t> members) {
    Weights weights;
    for (const std::uint32_t member : members) weights.add(samples_[member]);
    const std::size_t node = nodes_.size();
    const auto share = static_cast<float>(weights.positive / weights.total());
    nodes_.push_back({.cut = share, .feature = kLeaf});
    if (weights.is_pure()) return;
    const Cut cut = best_cut(members, weights);
    if (cut.feature == kLeaf) return;
    const auto middle = std::partition(members.begin(), members.end(), [&](std::uint32_t member) {
      return samples_[member].features[cut.feature] <= cut.at;
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
    const std::size_t features = samples_[members.front()].features.size();
    for (std::uint32_t feature = 0; feature < features; ++feature) {
      float low = samples_[members.front()].features[feature];
      float high = low;
      for (const std::uint32_t member : members) {
        low = std::min(low, samples_[member].features[feature]);
        high = std::max(high, samples_[member].features[feature]);
      }
      if (!(low < high)) continue;
      float at = low + (high - low) * static_cast<float>(uniform(random_));
      if (!(at < high)) at = low;
      Weights left;
      for (const std::uint32_t member : members) {
        if (samples_[member].features[feature] <= at) left.add(samples_[member]);
      }
      const Weights right = {.positive = std::max(0.0, all.positive - left.positive),
                             .negative = std::max(0.0, all.negative - left.negative)};
      const double purity = left.purity() + (right.total() > 0 ? right.purity() : 0);
      if (best.feature != kLeaf && !(purity > best.purity)) continue;
      best = {.feature = feature, .at = at, .purity = purity};
    }
    return best;
  }

  std::span<const Sample> samples_;
  std::vector<Node>& nodes_;
  RandomEngine& random_;
  std::vector<std::uint32_t> order_;
};

DecisionForest::DecisionForest(std::span<const Sample> samples, std::size_t trees,
                               RandomEngine& random) {
  Growth growth(samples, nodes_, random);
  for (std::size_t tree = 0; tree < trees; ++tree) {
    roots_.push_back(nodes_.size());
    growth.grow();
  }
}

double DecisionForest::score(std::span<const float> features) const {
  double sum = 0;
  for (std::size_t node : roots_) {
    while (nodes_[node].feature != kLeaf) {
      const Node& inner = nodes_[node];
      node = features[inner.feature] <= inner.cut ? node + 1 : inner.right;
    }
    sum += static_cast<double>(nodes_[node].cut);
  }
  return roots_.empty() ? 0 : sum / static_cast<double>(roots_.size());
}

}  // namespace smemtune
