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
    std::span<const float> features;  ///< Finite; as many for each sample.
    bool positive = false;
    double weight = 1;  ///< Positive.
  };

  /// REQUIRES: samples is not empty, trees > 0.
  DecisionForest(std::span<const Sample> samples, std::size_t trees, RandomEngine& random);

  /// Share of the positive class where `features` belong, 0 to 1, the mean over the trees. Where it
  /// is no more than `least`, 0 may be returned instead, in less time.
  double score(std::span<const float> features, double least = -1) const;

 private:
  struct Node {
    float cut = 0;              ///< Left: features up to and including it. Of a leaf: the share.
    std::uint32_t feature = 0;  ///< kLeaf: none.
    std::uint32_t right = 0;    ///< The left child is the next node.
  };
  class Growth;

  std::vector<Node> nodes_;
  std::vector<std::size_t> roots_;
};

}  // namespace smemtune
