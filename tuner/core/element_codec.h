#pragma once

#include "tuner/core/value.h"
#include "tuner/core/whole.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

// Conversion of buffer elements between numbers and the bytes that a device has.

namespace smemtune {

/// Elements as a device has them.
struct EncodedArray {
  ScalarType type = ScalarType::float64;
  std::vector<std::uint8_t> bytes = {};

  std::size_t size() const { return bytes.size() / size_of(type); }
  double operator[](std::size_t i) const;
  std::vector<double> doubles() const;

  bool operator==(const EncodedArray&) const = default;
};

/// Returns the elements as doubles.
std::vector<double> to_doubles(std::span<const std::uint8_t> bytes, ScalarType type);

/// Sets `values` to the elements `first`, `first` + `stride`, ...
void read_elements(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t first,
                   std::ptrdiff_t stride, std::span<double> values);

/// Does the same with elements of an integer type.
void read_elements(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t first,
                   std::ptrdiff_t stride, std::span<Whole> values);

/// Returns element `i` as a double.
double element_at(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t i);

/// Returns the bits of element `i`.
std::uint64_t bits_at(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t i);

/// Returns the elements `at`, of `size` bytes each, one after the other; all if `at` is empty.
std::vector<std::uint8_t> elements_at(const std::vector<std::uint8_t>& bytes, std::size_t size,
                                      std::span<const std::int64_t> at);

/// Encodes one value as an element of `type`: floating-point types round to nearest even, integer
/// types to the nearest integer that they have.
std::vector<std::uint8_t> encode(double value, ScalarType type);

/// Encodes each value likewise.
std::vector<std::uint8_t> encode(std::span<const double> values, ScalarType type);

/// A function that sets `values` to those of the elements from `begin` on.
template <typename Number>
using Elements = std::function<void(std::uint64_t begin, std::span<Number> values)>;

/// Returns the function that sets each value to `element(i)`.
template <typename Number>
Elements<Number> each(const auto& element) {
  return [element](std::uint64_t begin, std::span<Number> values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element(begin + i);
  };
}

/// Fills `bytes` with the elements from `begin` on, encoded likewise, on all cores if there is enough
/// work.
void encode_to(std::span<std::uint8_t> bytes, std::uint64_t begin, ScalarType type,
               const Elements<double>& elements);

/// Fills `bytes` with the low bits of `elements` likewise. REQUIRES: `type` is an integer type.
void encode_to(std::span<std::uint8_t> bytes, std::uint64_t begin, ScalarType type,
               const Elements<std::uint64_t>& elements);

/// Encodes `count` elements of an integer type from the low bits of `elements`, likewise.
std::vector<std::uint8_t> encode_bits(std::uint64_t count, ScalarType type,
                                      const Elements<std::uint64_t>& elements);

/// Returns the bits of each element of an integer type.
std::vector<std::uint64_t> to_bits(std::span<const std::uint8_t> bytes, ScalarType type);

/// Encodes an integer as an element of an integer type; nullopt if it does not fit.
std::optional<std::vector<std::uint8_t>> encode_integer(std::int64_t value, ScalarType type);

/// Returns how many integers from 0 on the type has without a gap, as far as doubles have no gap
/// either.
std::uint64_t integers_from_zero(ScalarType type);

/// Precision of a floating-point type: its digits behind the binary point, and the exponent of its
/// smallest normal number. A unit in the last place of x is 2^(max(exponent of x, least_exponent) -
/// digits). Both are 0 for integers.
struct LastPlace {
  int digits = 0;
  int least_exponent = 0;
};
LastPlace last_place(ScalarType type);

}  // namespace smemtune
