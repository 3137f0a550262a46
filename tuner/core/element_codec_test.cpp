#include "tuner/core/element_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace smemtune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint16_t bits16(double value, ScalarType type) {
  const std::vector<std::uint8_t> bytes = encode(value, type);
  EXPECT_EQ(2u, bytes.size());
  return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

std::uint16_t half_bits(double value) { return bits16(value, ScalarType::float16); }
std::uint16_t bfloat_bits(double value) { return bits16(value, ScalarType::bfloat16); }

double value_of(std::uint16_t bits, ScalarType type) {
  const std::vector<std::uint8_t> bytes = {static_cast<std::uint8_t>(bits & 0xFF),
                                           static_cast<std::uint8_t>(bits >> 8)};
  return to_doubles(bytes, type).at(0);
}

TEST(Half, HasTheBitsOfTheStandard) {
  EXPECT_EQ(0x0000, half_bits(0.0));
  EXPECT_EQ(0x8000, half_bits(-0.0));
  EXPECT_EQ(0x3C00, half_bits(1.0));
  EXPECT_EQ(0xC000, half_bits(-2.0));
  EXPECT_EQ(0x3555, half_bits(1.0 / 3));
  EXPECT_EQ(0x7BFF, half_bits(65504));
  EXPECT_EQ(0x0400, half_bits(0x1p-14));
  EXPECT_EQ(0x0001, half_bits(0x1p-24));
  EXPECT_EQ(0x7C00, half_bits(kInfinity));
  EXPECT_EQ(0xFC00, half_bits(-kInfinity));
  EXPECT_TRUE(std::isnan(value_of(half_bits(std::nan("")), ScalarType::float16)));
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(0x3C00, half_bits(1 + 0x1p-11)) << "half way, down to even";
  EXPECT_EQ(0x3C02, half_bits(1 + 3 * 0x1p-11)) << "half way, up to even";
  EXPECT_EQ(0x3C01, half_bits(1 + 0x1p-11 + 0x1p-40)) << "just above, which float would lose";
  EXPECT_EQ(0x4000, half_bits(2 - 0x1p-12)) << "carries into the exponent";
  EXPECT_EQ(0x7BFF, half_bits(65519.99));
  EXPECT_EQ(0x7C00, half_bits(65520));
  EXPECT_EQ(0x7C00, half_bits(1e300));
}

TEST(Half, RoundsSubnormals) {
  EXPECT_EQ(0x0000, half_bits(0x1p-25)) << "half of the least, down to even";
  EXPECT_EQ(0x0001, half_bits(0x1p-25 * 1.001));
  EXPECT_EQ(0x0002, half_bits(3 * 0x1p-25)) << "half way, up to even";
  EXPECT_EQ(0x0400, half_bits(0x1p-14 - 0x1p-26)) << "becomes the least normal number";
  EXPECT_EQ(0x0000, half_bits(1e-300));
  EXPECT_EQ(0x8000, half_bits(-5e-324));
}

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(0x3F80, bfloat_bits(1.0));
  EXPECT_EQ(0xC049, bfloat_bits(-3.14159265358979));
  EXPECT_EQ(0x3F80, bfloat_bits(1 + 0x1p-8)) << "half way, down to even";
  EXPECT_EQ(0x3F82, bfloat_bits(1 + 3 * 0x1p-8)) << "half way, up to even";
  EXPECT_EQ(0x3F81, bfloat_bits(1 + 0x1p-8 + 0x1p-40));
  EXPECT_EQ(0x7F7F, bfloat_bits(3.38953139e38));
  EXPECT_EQ(0x7F80, bfloat_bits(3.4e38));
  EXPECT_EQ(0x0001, bfloat_bits(0x1p-133));
}

TEST(Float8, HasTheBitsOfTheStandard) {
  const auto bits = [](double value) { return encode(value, ScalarType::float8_e4m3).at(0); };
  EXPECT_EQ(0x00, bits(0.0));
  EXPECT_EQ(0x80, bits(-0.0));
  EXPECT_EQ(0x38, bits(1.0));
  EXPECT_EQ(0xC0, bits(-2.0));
  EXPECT_EQ(0x7E, bits(448));
  EXPECT_EQ(0x08, bits(0x1p-6)) << "the least normal number";
  EXPECT_EQ(0x01, bits(0x1p-9)) << "the least subnormal number";
  EXPECT_EQ(0x00, bits(0x1p-10)) << "half of it, down to even";
  EXPECT_EQ(0x38, bits(1 + 0x1p-4)) << "half way, down to even";
  EXPECT_EQ(0x3A, bits(1 + 3 * 0x1p-4)) << "half way, up to even";
  EXPECT_EQ(0x7E, bits(470)) << "there is no infinity: as CUDA's type, the largest number";
  EXPECT_EQ(0xFE, bits(-kInfinity));
  EXPECT_EQ(0x7F, bits(std::nan("")));
}

TEST(Float8, IsReadBackAsItWasWritten) {
  for (unsigned bits = 0; bits <= 0xFF; ++bits) {
    const std::vector<std::uint8_t> byte = {static_cast<std::uint8_t>(bits)};
    const double value = to_doubles(byte, ScalarType::float8_e4m3).at(0);
    ASSERT_EQ((bits & 0x7F) == 0x7F, std::isnan(value)) << bits;
    if (std::isnan(value)) continue;
    ASSERT_EQ(byte, encode(value, ScalarType::float8_e4m3)) << value;
  }
}

TEST(SixteenBitTypes, AreReadBackAsTheyWereWritten) {
  for (const ScalarType type : {ScalarType::float16, ScalarType::bfloat16}) {
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      const double value = value_of(static_cast<std::uint16_t>(bits), type);
      if (std::isnan(value)) continue;
      ASSERT_EQ(bits, bits16(value, type)) << value;
    }
  }
}

TEST(BFloat16, IsTheUpperHalfOfAFloat) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto expected = std::bit_cast<float>(bits << 16);
    const double value = value_of(static_cast<std::uint16_t>(bits), ScalarType::bfloat16);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value));
    } else {
      ASSERT_EQ(expected, value);
    }
  }
}

TEST(Encode, RoundsAndSaturatesIntegers) {
  const auto back = [](double value, ScalarType type) {
    return to_doubles(encode(value, type), type).at(0);
  };
  EXPECT_EQ(3, back(2.6, ScalarType::int32));
  EXPECT_EQ(-3, back(-2.6, ScalarType::int8));
  EXPECT_EQ(127, back(1000, ScalarType::int8));
  EXPECT_EQ(0, back(-1, ScalarType::uint64));
  EXPECT_EQ(0x1p63, back(1e30, ScalarType::int64));
  EXPECT_EQ(std::vector<std::uint8_t>(8, 0xFF), encode(1e30, ScalarType::uint64));
  EXPECT_EQ(0, back(std::nan(""), ScalarType::int16));
}

TEST(ReadElements, GoesForthAndBackInSteps) {
  const std::vector<double> all = {0, 1.5, -2, 3, 4, 5};
  for (const ScalarType type : {ScalarType::float64, ScalarType::float32, ScalarType::float16}) {
    const EncodedArray array = {.type = type, .bytes = encode(all, type)};
    ASSERT_EQ(array.size(), all.size());
    EXPECT_EQ(array.doubles(), all);
    std::vector<double> values(3);
    read_elements(array.bytes, type, 0, 2, values);
    EXPECT_EQ(values, (std::vector<double>{0, -2, 4}));
    read_elements(array.bytes, type, 5, -2, values);
    EXPECT_EQ(values, (std::vector<double>{5, 3, 1.5}));
    EXPECT_EQ(element_at(array.bytes, type, 1), 1.5);
  }
  const auto bytes =
      encode_bits(2, ScalarType::uint64, each<std::uint64_t>([](std::uint64_t i) { return ~i; }));
  EXPECT_EQ(bits_at(bytes, ScalarType::uint64, 1), ~std::uint64_t{1});
}

TEST(EncodeTo, ConvertsEveryElementOfSeveralBlocks) {
  const auto halves = [](std::uint64_t i) { return 0.5 * static_cast<double>(i) - 1000; };
  constexpr std::uint64_t kCount = 3001;
  for (const ScalarType type : {ScalarType::int32, ScalarType::float32, ScalarType::float16}) {
    std::vector<std::uint8_t> bytes(kCount * size_of(type));
    encode_to(bytes, 0, type, each<double>(halves));
    for (std::uint64_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(element_at(bytes, type, i), to_doubles(encode(halves(i), type), type).front()) << i;
    }
    EXPECT_EQ(element_at(bytes, ScalarType::int32, 1) == -1000, type == ScalarType::int32)
        << "-999.5";
  }
}

TEST(Encode, RoundsHalvesToEvenAndLargeNumbersToWhatTheyAre) {
  const std::vector<double> values = {0.5, 1.5, -2.5, 0x1p50 + 0.5, 0x1p52 + 1, -0x1p62};
  const EncodedArray array = {.type = ScalarType::int64,
                              .bytes = encode(values, ScalarType::int64)};
  EXPECT_EQ(array.doubles(), (std::vector<double>{0, 2, -2, 0x1p50, 0x1p52 + 1, -0x1p62}));
}

}  // namespace
}  // namespace smemtune
