#pragma once

#include "tuner/core/random.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace smemtune {

/// Extremely randomised trees (Geurts, Ernst, Wehenkel 2006) that tell two classes apart: at each
/// node every feature is cut at a random place of its range, and the cut that leaves the purest
/// halves is taken, down to leaves of one class.
class DecisionForest {
 public:
  struct Sample {
    std::span<const float> features;  ///< Finite; every sample has the same number.
    bool positive = false;
    double weight = 1;  ///< Positive.
  };

  /// REQUIRES: samples is not empty, trees > 0.
  DecisionForest(std::span<const Sample> samples, std::size_t trees, RandomEngine& random);

  /// Returns the share of the positive class among samples like `features`, from 0 to 1: the mean
  /// over the trees. If the share is at most `least`, may return 0 instead, in less time.
  double score(std::span<const float> features, double least = -1) const;

 private:
  struct Node {
    /// Features up to and including it go left. In a leaf: the positive share.
    float cut = 0;
    std::uint32_t feature = 0;  ///< Feature that is cut; kLeaf in a leaf.
    std::uint32_t right = 0;    ///< Index of the right child; the left child is the next node.
  };
  class Growth;

  std::vector<Node> nodes_;
  std::vector<std::size_t> roots_;
};

}  // namespace smemtune
