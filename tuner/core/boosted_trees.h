#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace smemtune {

/// Gradient-boosted regression trees (Friedman 2001) of the least squared error: each tree is fitted
/// to what those before it leave of the targets, and adds a part of it. Equal rows and targets give
/// equal trees.
class BoostedTrees {
 public:
  /// Fits the trees. REQUIRES: there is a row, each has a target, and all have the same number of
  /// features, which are finite.
  BoostedTrees(const std::vector<std::vector<float>>& rows, const std::vector<double>& targets);

  /// Returns the prediction for a row of as many features.
  double operator()(std::span<const float> features) const;

 private:
  struct Node {
    float cut = 0;              ///< Features up to and including it go left.
    std::uint32_t feature = 0;  ///< Feature that is cut.
    std::uint32_t left = 0;     ///< Index of the left child, before the right one; 0 in a leaf.
    double value = 0;           ///< The prediction that a leaf adds.
  };
  class Growth;

  double mean_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
};

}  // namespace smemtune
