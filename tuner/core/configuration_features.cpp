#include "tuner/core/configuration_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <variant>

namespace smemtune {

namespace {

// More factors would only repeat each other, and a forest is grown for every proposal.
constexpr std::size_t kMostFactors = 8;

constexpr std::int64_t kLeastWithAlignment = 16;

bool all_positive_integers(const std::vector<Value>& values) {
  return std::ranges::all_of(values, [](const Value& value) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    return integer != nullptr && *integer > 0;
  });
}

std::int64_t largest(const std::vector<Value>& values) {
  std::int64_t most = 0;
  for (const Value& value : values) most = std::max(most, std::get<std::int64_t>(value));
  return most;
}

template <typename Number>
std::vector<float> by_value(const std::vector<Value>& values, const Number& number) {
  std::vector<float> numbers;
  for (const Value& value : values) {
    numbers.push_back(static_cast<float>(number(std::get<std::int64_t>(value))));
  }
  return numbers;
}

// Returns integers as they are; words, which have no order but the file's, as their indices.
std::vector<float> plain(const std::vector<Value>& values) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* integer = std::get_if<std::int64_t>(&values[i]);
    numbers.push_back(integer != nullptr ? static_cast<float>(*integer) : static_cast<float>(i));
  }
  return numbers;
}

}  // namespace

ConfigurationFeatures::ConfigurationFeatures(const SearchSpace& space) {
  std::vector<std::size_t> factors;
  for (std::size_t p = 0; p < space.parameters().size(); ++p) {
    const std::vector<Value>& values = space.parameters()[p].values;
    if (values.size() < 2) continue;
    if (values.size() == 2 || !all_positive_integers(values)) {
      columns_.push_back({.parameter = p, .by_value = plain(values)});
      continue;
    }
    if (factors.size() < kMostFactors) factors.push_back(columns_.size());
    columns_.push_back({.parameter = p, .by_value = by_value(values, [](std::int64_t value) {
                                          return std::log2(static_cast<double>(value));
                                        })});
    if (largest(values) < kLeastWithAlignment) continue;
    columns_.push_back({.parameter = p, .by_value = by_value(values, [](std::int64_t value) {
                                          return std::countr_zero(
                                              static_cast<std::uint64_t>(value));
                                        })});
  }
  for (std::size_t i = 0; i < factors.size(); ++i) {
    for (std::size_t j = i + 1; j < factors.size(); ++j) {
      products_.emplace_back(factors[i], factors[j]);
    }
  }
}

std::vector<float> ConfigurationFeatures::operator()(
    std::span<const std::size_t> value_indices) const {
  std::vector<float> features;
  features.reserve(columns_.size() + products_.size());
  for (const Column& column : columns_) {
    features.push_back(column.by_value[value_indices[column.parameter]]);
  }
  for (const auto& [one, other] : products_) features.push_back(features[one] + features[other]);
  return features;
}

std::vector<float> ConfigurationFeatures::scaled(std::span<const std::size_t> value_indices) const {
  std::vector<float> features;
  for (const Column& column : columns_) {
    const auto [least, most] = std::ranges::minmax(column.by_value);
    const float value = column.by_value[value_indices[column.parameter]];
    features.push_back(most > least ? (value - least) / (most - least) : 0);
  }
  return features;
}

}  // namespace smemtune
