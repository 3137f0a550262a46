#include "tuner/core/boosted_trees.h"

#include "tuner/core/random.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace smemtune {

namespace {

// Chosen by cross-validation on measured times (bench/RESULTS.md).
constexpr int kTrees = 500;
constexpr int kDepth = 6;
constexpr double kRate = 0.035;           ///< The part of the rest that a tree adds.
constexpr std::size_t kLeastSamples = 5;  ///< Least number of samples in a leaf.
constexpr double kShrinkage = 1;  ///< Number of samples of value 0 that a leaf counts as well.

constexpr std::size_t kBins = 64;

/// The sum of some targets, and their number.
struct Sum {
  double of = 0;
  std::size_t count = 0;

  Sum operator-(const Sum& other) const { return {of - other.of, count - other.count}; }
  double mean() const { return of / (static_cast<double>(count) + kShrinkage); }
  /// Returns by how much the mean reduces the squared error.
  double gain() const { return of * mean(); }
};

/// The sums of a node's samples by the bin of a feature.
using Histogram = std::array<Sum, kBins>;

/// A feature of all rows as the number of the interval in which its value lies.
struct BinnedFeature {
  std::uint32_t feature = 0;
  std::vector<float> cuts;  ///< Upper ends of all intervals but the last, ascending.
  std::vector<std::uint8_t> bins;
};

/// Returns at most kBins - 1 of the values, ascending, without the greatest: all, or quantiles.
std::vector<float> cuts_of(std::vector<float> values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  values.pop_back();
  if (values.size() < kBins) return values;
  std::vector<float> cuts;
  for (std::size_t i = 0; i + 1 < kBins; ++i) {
    cuts.push_back(values[i * (values.size() - 1) / (kBins - 2)]);
  }
  return cuts;
}

/// Returns the features that are not the same in all rows.
std::vector<BinnedFeature> binned(const std::vector<std::vector<float>>& rows) {
  std::vector<BinnedFeature> all;
  for (std::uint32_t feature = 0; feature < rows.front().size(); ++feature) {
    std::vector<float> values;
    for (const std::vector<float>& row : rows) values.push_back(row[feature]);
    BinnedFeature one = {.feature = feature, .cuts = cuts_of(values), .bins = {}};
    if (one.cuts.empty()) continue;
    for (const float value : values) {
      const auto bin = std::ranges::lower_bound(one.cuts, value) - one.cuts.begin();
      one.bins.push_back(static_cast<std::uint8_t>(bin));
    }
    all.push_back(std::move(one));
  }
  return all;
}

/// A split of a node's samples in two.
struct BinSplit {
  const BinnedFeature* feature = nullptr;
  std::size_t bin = 0;  ///< Samples up to and including it go left.
  double gain = 0;
};

}  // namespace

/// Grows one tree after the other.
class BoostedTrees::Growth {
 public:
  Growth(BoostedTrees& trees, const std::vector<std::vector<float>>& rows,
         std::vector<double> rests)
      : trees_(trees), features_(binned(rows)), rests_(std::move(rests)), samples_(rows.size()) {
    std::iota(samples_.begin(), samples_.end(), 0U);
  }

  void add_tree() {
    used_.clear();
    for (const BinnedFeature& one : features_) {
      if (below(random_, 2) == 0) used_.push_back(&one);
    }
    trees_.roots_.push_back(static_cast<std::uint32_t>(trees_.nodes_.size()));
    trees_.nodes_.emplace_back();
    grow(trees_.roots_.back(), samples_, histograms_of(samples_), kDepth);
  }

 private:
  /// `histograms`: those of the samples, one for each feature in use.
  void grow(std::uint32_t node, std::span<std::uint32_t> samples, std::vector<Histogram> histograms,
            int depth) {
    Sum all = {.of = 0, .count = samples.size()};
    for (const std::uint32_t sample : samples) all.of += rests_[sample];
    const BinSplit split = depth > 0 ? best_split(histograms, all) : BinSplit();
    if (split.feature == nullptr) return become_leaf(node, samples, kRate * all.mean());
    const auto middle = std::partition(
        samples.begin(), samples.end(),
        [&split](std::uint32_t sample) { return split.feature->bins[sample] <= split.bin; });
    const auto on_left = static_cast<std::size_t>(middle - samples.begin());
    const auto left = static_cast<std::uint32_t>(trees_.nodes_.size());
    trees_.nodes_.resize(left + 2);
    trees_.nodes_[node] = {.cut = split.feature->cuts[split.bin],
                           .feature = split.feature->feature,
                           .left = left,
                           .value = 0};
    std::vector<Histogram> lefts;
    if (depth > 1) {  // The smaller side is added up, the other is the rest.
      const bool is_left_smaller = 2 * on_left < samples.size();
      lefts = histograms_of(is_left_smaller ? samples.first(on_left) : samples.subspan(on_left));
      subtract(histograms, lefts);
      if (!is_left_smaller) lefts.swap(histograms);
    }
    grow(left, samples.first(on_left), std::move(lefts), depth - 1);
    grow(left + 1, samples.subspan(on_left), std::move(histograms), depth - 1);
  }

  void become_leaf(std::uint32_t node, std::span<const std::uint32_t> samples, double value) {
    trees_.nodes_[node].value = value;
    for (const std::uint32_t sample : samples) rests_[sample] -= value;
  }

  std::vector<Histogram> histograms_of(std::span<const std::uint32_t> samples) const {
    std::vector<Histogram> histograms(used_.size());
    for (std::size_t i = 0; i < used_.size(); ++i) {
      for (const std::uint32_t sample : samples) {
        Sum& bin = histograms[i][used_[i]->bins[sample]];
        bin.of += rests_[sample];
        ++bin.count;
      }
    }
    return histograms;
  }

  static void subtract(std::vector<Histogram>& from, const std::vector<Histogram>& part) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (std::size_t bin = 0; bin < kBins; ++bin) from[i][bin] = from[i][bin] - part[i][bin];
    }
  }

  /// Returns the split that reduces the error most; none if no split reduces it.
  BinSplit best_split(const std::vector<Histogram>& histograms, const Sum& all) const {
    BinSplit best = {.feature = nullptr, .bin = 0, .gain = all.gain() + 1e-12};
    for (std::size_t i = 0; i < used_.size(); ++i) {
      Sum left;
      for (std::size_t bin = 0; bin < used_[i]->cuts.size(); ++bin) {
        left = {left.of + histograms[i][bin].of, left.count + histograms[i][bin].count};
        const Sum right = all - left;
        if (left.count < kLeastSamples || right.count < kLeastSamples) continue;
        const double gain = left.gain() + right.gain();
        if (gain > best.gain) best = {.feature = used_[i], .bin = bin, .gain = gain};
      }
    }
    return best;
  }

  BoostedTrees& trees_;
  std::vector<BinnedFeature> features_;
  std::vector<double> rests_;  ///< The part of each target that the trees leave.
  std::vector<std::uint32_t> samples_;
  std::vector<const BinnedFeature*> used_;  ///< Those that the present tree may cut, half of all.
  RandomEngine random_{1};
};

BoostedTrees::BoostedTrees(const std::vector<std::vector<float>>& rows,
                           const std::vector<double>& targets) {
  const auto count = static_cast<double>(targets.size());
  mean_ = std::accumulate(targets.begin(), targets.end(), 0.0) / count;
  std::vector<double> rests = targets;
  for (double& rest : rests) rest -= mean_;
  Growth growth(*this, rows, std::move(rests));
  for (int tree = 0; tree < kTrees; ++tree) growth.add_tree();
}

double BoostedTrees::operator()(std::span<const float> features) const {
  double sum = mean_;
  for (const std::uint32_t root : roots_) {
    const Node* node = &nodes_[root];
    while (node->left != 0) {
      node = &nodes_[node->left + (features[node->feature] <= node->cut ? 0 : 1)];
    }
    sum += node->value;
  }
  return sum;
}

}  // namespace smemtune
