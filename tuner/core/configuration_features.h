#pragma once

#include "tuner/core/search_space.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace smemtune {

/// Computes numeric features of a configuration for a DecisionForest: the value of every parameter
/// that has more than one value, how often 2 divides it, and the products of two parameters (tiles,
/// threads and blocks are such products). Numbers that span a range of sizes are logarithms.
class ConfigurationFeatures {
 public:
  explicit ConfigurationFeatures(const SearchSpace& space);

  /// Returns the features of the configuration with these value indices: always the same number of
  /// them, all finite.
  std::vector<float> operator()(std::span<const std::size_t> value_indices) const;

  /// Returns the same features without the products, each scaled from 0 for its least value to 1
  /// for its greatest.
  std::vector<float> scaled(std::span<const std::size_t> value_indices) const;

 private:
  struct Column {
    std::size_t parameter = 0;
    std::vector<float> by_value;
  };
  std::vector<Column> columns_;
  /// Pairs of columns of logarithms that are added, which gives products.
  std::vector<std::pair<std::size_t, std::size_t>> products_;
};

}  // namespace smemtune
