#pragma once

#include "tuner/core/search_space.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace smemtune {

/// What may make a configuration fast, as numbers for a DecisionForest: the value of every
/// parameter that has more than one, how often 2 divides it, and the products of two parameters (as
/// tiles, threads and blocks are). Numbers that span a range of sizes are logarithms.
class ConfigurationFeatures {
 public:
  explicit ConfigurationFeatures(const SearchSpace& space);

  /// Of a configuration, by its value indices. Always as many, all finite.
  std::vector<float> operator()(std::span<const std::size_t> value_indices) const;

  /// The same without the products, each from 0 for its least value to 1 for its greatest.
  std::vector<float> scaled(std::span<const std::size_t> value_indices) const;

 private:
  struct Column {
    std::size_t parameter = 0;
    std::vector<float> by_value;
  };
  std::vector<Column> columns_;
  /// Columns of logarithms that are added: products.
  std::vector<std::pair<std::size_t, std::size_t>> products_;
};

}  // namespace smemtune
