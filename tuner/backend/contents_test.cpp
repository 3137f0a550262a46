#include "tuner/backend/contents.h"

#include "tuner/backend/npy_file.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

namespace smemtune {
namespace {

using testing::HasSubstr;

Argument buffer_of(const std::string& name, ScalarType type, std::vector<std::int64_t> shape,
                   const Init& init) {
  Argument argument;
  argument.name = name;
  argument.type = type;
  argument.shape = std::move(shape);
  argument.init = init;
  return argument;
}

TEST(DefinedContents, AreComputedFromWhatOtherArgumentsHold) {
  const Argument x = buffer_of("x", ScalarType::float32, {6},
                               {.kind = Init::Kind::uniform, .a = 1, .b = 2, .file = {}});
  Argument scale;
  scale.name = "scale";
  scale.type = ScalarType::int32;
  scale.integer = 3;
  Init init;
  init.kind = Init::Kind::definition;
  init.definition = "pairs[i, j] = scale * x[(2 * i + j + SHIFT) % 6]";
  Argument pairs = buffer_of("pairs", ScalarType::float32, {3, 2}, init);
  pairs.problem = {{"SHIFT", std::int64_t{1}}};
  pairs.reads = {x, scale};
  EXPECT_TRUE(pairs.is_random());
  const std::vector<double> given = to_doubles(initial_contents(x, 7), x.type);
  const std::vector<double> made = to_doubles(initial_contents(pairs, 7), pairs.type);
  ASSERT_EQ(6u, made.size());
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(static_cast<double>(static_cast<float>(3 * given[(i + 1) % 6])), made[i]) << i;
  }
  pairs.init.definition = "pairs[i, j] = x[i + 4]";
  EXPECT_THROW(initial_contents(pairs, 7), InputError);
}

TEST(DefinedContents, AreConvertedWhereTheyBeginAsAnotherType) {
  Init init;
  init.kind = Init::Kind::definition;
  init.definition = "y[i] = 1 / (i + 3)";
  Argument y = buffer_of("y", ScalarType::float64, {2}, init);
  y.begins_as = ScalarType::float32;
  const std::vector<double> made = to_doubles(initial_contents(y, 1), y.type);
  EXPECT_EQ(static_cast<double>(1.0f / 3), made[0]);
}

TEST(ScalarBytes, AreThoseOfTheTypeLittleEndian) {
  Argument n;
  n.name = "n";
  n.type = ScalarType::int32;
  n.integer = -2;
  EXPECT_EQ((std::vector<std::uint8_t>{0xFE, 0xFF, 0xFF, 0xFF}), scalar_bytes(n));
  n.type = ScalarType::float32;
  n.number = 1.5;
  EXPECT_EQ((std::vector<std::uint8_t>{0, 0, 0xC0, 0x3F}), scalar_bytes(n));
}

TEST(ScalarBytes, RefuseAnIntegerThatDoesNotFit) {
  Argument n;
  n.name = "n";
  n.type = ScalarType::int32;
  n.integer = 3'000'000'000;
  try {
    scalar_bytes(n);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ("argument n: 3000000000 does not fit the type int", error.what());
  }
  n.type = ScalarType::uint32;
  EXPECT_EQ(4u, scalar_bytes(n).size());
  n.integer = -1;
  EXPECT_THROW(scalar_bytes(n), InputError);
  n.type = ScalarType::uint64;
  EXPECT_THROW(scalar_bytes(n), InputError);
}

Argument buffer(Init::Kind kind, std::int64_t elements, ScalarType type = ScalarType::float64,
                double a = 0, double b = 1) {
  Argument argument;
  argument.name = "in";
  argument.type = type;
  argument.shape = {elements};
  argument.init.kind = kind;
  argument.init.a = a;
  argument.init.b = b;
  return argument;
}

std::vector<double> contents(const Argument& argument, std::uint64_t seed = 1) {
  return to_doubles(initial_contents(argument, seed), argument.type);
}

TEST(InitialContents, OfUniformLieInTheRangeAndFillIt) {
  const std::vector<double> values =
      contents(buffer(Init::Kind::uniform, 100'000, ScalarType::float64, -8, 8));
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -8);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 8);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 100'000;
  EXPECT_NEAR(0, mean, 5 * 16 / std::sqrt(12 * 100'000.0));
  for (int bin = 0; bin < 16; ++bin) {
    const auto inside = std::count_if(values.begin(), values.end(),
                                      [bin](double x) { return x >= bin - 8 && x < bin - 7; });
    EXPECT_NEAR(6'250, static_cast<double>(inside), 400);
  }
}

TEST(InitialContents, OfIntegersReachBothEndsOfUniform) {
  const std::vector<double> values =
      contents(buffer(Init::Kind::uniform, 1'000, ScalarType::int8, -2, 2));
  EXPECT_EQ(-2, *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(2, *std::max_element(values.begin(), values.end()));
}

TEST(InitialContents, OfNormalHaveItsMomentsAndTails) {
  const std::vector<double> values =
      contents(buffer(Init::Kind::normal, 100'000, ScalarType::float64, 3, 2));
  double mean = 0;
  double variance = 0;
  for (const double x : values) mean += x / 100'000;
  for (const double x : values) variance += (x - mean) * (x - mean) / 100'000;
  EXPECT_NEAR(3, mean, 0.03);
  EXPECT_NEAR(4, variance, 0.1);
  const auto inside =
      std::count_if(values.begin(), values.end(), [](double x) { return std::abs(x - 3) < 2; });
  EXPECT_NEAR(68'269, static_cast<double>(inside), 700);
}

// 200,000 elements are enough for several threads; a buffer too small for them has the same start.
TEST(InitialContents, DoNotDependOnTheNumberOfElements) {
  for (const Init::Kind kind : {Init::Kind::uniform, Init::Kind::normal, Init::Kind::iota}) {
    const std::vector<double> all = contents(buffer(kind, 200'000));
    const std::vector<double> start = contents(buffer(kind, 1'000));
    EXPECT_TRUE(std::equal(start.begin(), start.end(), all.begin()));
  }
}

TEST(InitialContents, RepeatForASeedAndDifferBySeedAndName) {
  Argument in = buffer(Init::Kind::uniform, 1'000);
  const std::vector<double> first = contents(in, 1);
  EXPECT_EQ(first, contents(in, 1));
  EXPECT_NE(first, contents(in, 2));
  in.name = "other";
  EXPECT_NE(first, contents(in, 1));
}

TEST(InitialContents, OfIotaCountAndBeginAgainWhereTheTypeEnds) {
  EXPECT_EQ((std::vector<double>{0, 1, 2, 3}), contents(buffer(Init::Kind::iota, 4)));
  const std::vector<double> bytes = contents(buffer(Init::Kind::iota, 300, ScalarType::int8));
  EXPECT_EQ(127, bytes[127]);
  EXPECT_EQ(0, bytes[128]);
  EXPECT_EQ(43, bytes[299]);
  const std::vector<double> halves = contents(buffer(Init::Kind::iota, 3'000, ScalarType::float16));
  EXPECT_EQ(2048, halves[2048]);
  EXPECT_EQ(0, halves[2049]);
}

TEST(InitialContents, OfAPermutationHoldEveryNumberOnce) {
  std::vector<double> values = contents(buffer(Init::Kind::permutation, 1'000, ScalarType::int32));
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(static_cast<double>(i), values[i]);
  EXPECT_THROW(contents(buffer(Init::Kind::permutation, 1'000, ScalarType::uint8)), InputError);
  EXPECT_EQ(256u, contents(buffer(Init::Kind::permutation, 256, ScalarType::uint8)).size());
}

TEST(InitialContents, OfConstantAndZeroAreEverywhereEqual) {
  EXPECT_EQ(std::vector<double>(5, 2.5),
            contents(buffer(Init::Kind::constant, 5, ScalarType::float32, 2.5)));
  EXPECT_EQ(std::vector<double>(5, 0),
            contents(buffer(Init::Kind::zero, 5, ScalarType::float32, 2.5)));
  EXPECT_EQ(std::vector<double>(5, 0), contents(buffer(Init::Kind::none, 5)));
}

/// A folder of files for one test, removed at the end.
class NpyFiles : public testing::Test {
 protected:
  NpyFiles() { std::filesystem::create_directories(folder_); }
  ~NpyFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  NpyFiles(const NpyFiles&) = delete;
  NpyFiles& operator=(const NpyFiles&) = delete;

  /// A .npy file with this header and these bytes of elements.
  Argument file(const std::string& header, const std::string& elements, int version = 1) {
    std::string text = "\x93NUMPY";
    text += static_cast<char>(version);
    text += '\0';
    std::size_t length = header.size();
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i, length >>= 8) {
      text += static_cast<char>(length & 0xFF);
    }
    return raw_file(text + header + elements);
  }

  Argument raw_file(const std::string& text) {
    const std::filesystem::path path = folder_ / "array.npy";
    std::ofstream(path, std::ios::binary) << text;
    Argument argument = buffer(Init::Kind::file, 2, ScalarType::float32);
    argument.shape = {2, 3};
    argument.init.file.path = path;
    return argument;
  }

  static std::string floats(std::vector<float> values) {
    std::string bytes(values.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }

  static std::string message(const Argument& argument) {
    try {
      initial_contents(argument, 1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("smemtune_contents_test_" +
       std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "_" +
       std::to_string(std::hash<std::string>()(std::filesystem::current_path().string())));
};

const char* const kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";

TEST_F(NpyFiles, AreReadInEveryVersion) {
  const std::vector<double> expected = {0, 1, 2, 3, 4, 5.5};
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(expected, contents(file(kHeader, floats({0, 1, 2, 3, 4, 5.5f}), version)));
  }
}

TEST(Contents, AreKnownToDependOnTheSeed) {
  Argument random;
  random.init.kind = Init::Kind::uniform;
  Argument defined;
  defined.init.kind = Init::Kind::definition;
  EXPECT_TRUE(depends_on_seed(random));
  EXPECT_FALSE(depends_on_seed(defined));
  defined.reads = {random};
  EXPECT_TRUE(depends_on_seed(defined));
  defined.reads.front().init.kind = Init::Kind::iota;
  EXPECT_FALSE(depends_on_seed(defined));
  EXPECT_TRUE(is_drawn(random));
  EXPECT_FALSE(is_drawn(defined));
}

TEST_F(NpyFiles, MayHoldASecondSetOfData) {
  const char* const two = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 3), }";
  const std::string elements = floats({0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  Argument argument = file(two, elements);
  EXPECT_EQ(npy_sets(argument), 2);
  EXPECT_EQ(contents(argument), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  argument.init.is_spread = true;
  EXPECT_EQ(contents(argument), (std::vector<double>{10, 11, 12, 13, 14, 15}));
  EXPECT_THAT(message(file(two, elements.substr(4))),
              HasSubstr("ends after 44 of 48 bytes of elements"));
  EXPECT_THAT(message(file(two, elements + "x")), HasSubstr("goes on after 48 bytes"));
  argument = file(kHeader, elements.substr(0, 24));
  argument.init.is_spread = true;
  EXPECT_EQ(npy_sets(argument), 1);
  EXPECT_EQ(contents(argument), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST_F(NpyFiles, MustHaveTheShapeOfTheArgument) {
  EXPECT_THAT(message(file("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
                           floats({0, 1, 2, 3, 4, 5}))),
              HasSubstr("array.npy: shape 6, argument in (float) needs 2 x 3"));
}

TEST_F(NpyFiles, MustHaveTheTypeOfTheArgument) {
  EXPECT_THAT(message(file("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }",
                           floats({0, 1, 2, 3, 4, 5}))),
              HasSubstr("elements of type '>f4', argument in (float) needs '<f4'"));
  Argument bytes = file("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", "abcdef");
  EXPECT_THAT(message(bytes), HasSubstr("elements of type '|u1'"));
  bytes.type = ScalarType::uint8;
  EXPECT_EQ((std::vector<double>{97, 98, 99, 100, 101, 102}), contents(bytes));
}

TEST_F(NpyFiles, MustBeInCOrder) {
  EXPECT_THAT(message(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                           floats({0, 1, 2, 3, 4, 5}))),
              HasSubstr("in Fortran order, argument in (float) needs C order"));
}

TEST_F(NpyFiles, AreReadAsTheyAreWithAnotherExtension) {
  Argument argument = raw_file("");
  argument.init.file.path.replace_extension(".bin");
  const auto write = [&](const std::string& bytes) {
    std::ofstream(argument.init.file.path, std::ios::binary) << bytes;
  };
  write(floats({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(npy_sets(argument), 1);
  EXPECT_EQ(contents(argument), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  write(floats({0, 1, 2, 3, 4}));
  EXPECT_THAT(message(argument), HasSubstr("array.bin: ends after 20 of 24 bytes of elements"));
  write(floats({0, 1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(message(argument), HasSubstr("array.bin: goes on after 24 bytes of elements"));
}

TEST_F(NpyFiles, MustHaveAsManyBytesAsTheirShapeSays) {
  EXPECT_THAT(message(file(kHeader, floats({0, 1, 2, 3, 4}))),
              HasSubstr("ends after 20 of 24 bytes"));
  EXPECT_THAT(message(file(kHeader, floats({0, 1, 2, 3, 4, 5, 6}))),
              HasSubstr("goes on after 24 bytes"));
}

TEST_F(NpyFiles, OfOtherKindsAreRefused) {
  EXPECT_THAT(message(raw_file("P5 2 3 255\nabcdef")), HasSubstr("not a .npy file"));
  EXPECT_THAT(message(raw_file("")), HasSubstr("not a .npy file"));
  EXPECT_THAT(message(raw_file(std::string("\x93NUMPY\x01\x00\xFF\x00{", 11))),
              HasSubstr("ends within its header"));
  EXPECT_THAT(message(file(kHeader, "", 9)),
              HasSubstr(".npy version 9, versions 1 to 3 are supported"));
  EXPECT_THAT(
      message(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", "")),
      HasSubstr("not a .npy file of numbers"));
  EXPECT_THAT(message(file("{'descr': '<f4', 'shape': (2, 3)}", "")),
              HasSubstr("descr, fortran_order and shape are needed"));
  EXPECT_THAT(message(file(
                  "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999,)}", "")),
              HasSubstr("more than 18 digits"));
  EXPECT_THAT(message(file("{", "")), HasSubstr("not a .npy file of numbers"));
  Argument missing = buffer(Init::Kind::file, 2);
  missing.init.file.path = "no_such_file.npy";
  EXPECT_EQ("no_such_file.npy: cannot be opened: No such file or directory", message(missing));
}

TEST(ScalarBytes, OfAStructAreThoseOfItsFile) {
  Argument argument;
  argument.name = "options";
  argument.type = ScalarType::uint8;
  argument.raw_bytes = 12;
  argument.init.kind = Init::Kind::zero;
  EXPECT_EQ(argument.bytes(), 12);
  EXPECT_EQ(scalar_bytes(argument), std::vector<std::uint8_t>(12, 0));
}

Argument any(ScalarType type, std::int64_t elements) {
  return buffer(Init::Kind::full_range, elements, type);
}

TEST(InitialContents, OfAFullRangeAreAnyIntegerWithEveryBitRandom) {
  for (const ScalarType type : {ScalarType::uint64, ScalarType::int64, ScalarType::uint32}) {
    std::vector<int> ones(64);
    for (const std::uint64_t bits : to_bits(initial_contents(any(type, 4000), 1), type)) {
      for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(bits >> bit & 1);
    }
    for (std::size_t bit = 0; bit < 8 * size_of(type); ++bit) EXPECT_NEAR(2000, ones[bit], 200);
  }
  const std::vector<double> bytes = contents(any(ScalarType::int8, 10'000));
  EXPECT_EQ(-128, *std::ranges::min_element(bytes));
  EXPECT_EQ(127, *std::ranges::max_element(bytes));
  const std::vector<double> reals = contents(any(ScalarType::float32, 10'000));
  EXPECT_NEAR(-1, *std::ranges::min_element(reals), 0.01);
  EXPECT_NEAR(1, *std::ranges::max_element(reals), 0.01);
}

Argument spread(Argument argument) {
  argument.init.is_spread = true;
  return argument;
}

/// How many values have no more than this magnitude.
std::ptrdiff_t small_ones(const std::vector<double>& values, double most) {
  return std::ranges::count_if(values, [most](double x) { return std::abs(x) <= most; });
}

TEST(SpreadContents, OfIntegersKeepToTheRangeAndReachItsEndsAndZero) {
  const std::vector<double> values =
      contents(spread(buffer(Init::Kind::uniform, 10'000, ScalarType::int32, -1000, 100'000)));
  EXPECT_EQ(-1000, *std::ranges::min_element(values));
  EXPECT_EQ(100'000, *std::ranges::max_element(values));
  EXPECT_GT(small_ones(values, 0), 100);
  EXPECT_GT(small_ones(values, 100), 2000) << "0.2 % of uniform ones";
  const std::vector<double> letters =
      contents(spread(buffer(Init::Kind::uniform, 1'000, ScalarType::uint8, 97, 122)));
  EXPECT_EQ(97, *std::ranges::min_element(letters));
  EXPECT_EQ(122, *std::ranges::max_element(letters));
  EXPECT_THAT(contents(spread(buffer(Init::Kind::uniform, 3, ScalarType::int32, 5, 5))),
              testing::Each(5));
}

TEST(SpreadContents, OfAFullRangeHaveEveryMagnitude) {
  std::vector<int> widths(65);
  for (const std::uint64_t bits :
       to_bits(initial_contents(spread(any(ScalarType::uint64, 20'000)), 1), ScalarType::uint64)) {
    ++widths[static_cast<std::size_t>(std::bit_width(bits))];
  }
  EXPECT_THAT(widths, testing::Each(testing::Gt(150)));
  const auto bits =
      to_bits(initial_contents(spread(any(ScalarType::int64, 20'000)), 1), ScalarType::int64);
  const auto holds = [&](std::int64_t value) {
    return std::ranges::find(bits, static_cast<std::uint64_t>(value)) != bits.end();
  };
  EXPECT_TRUE(holds(0) && holds(-1) && holds(1) && holds(INT64_MIN) && holds(INT64_MAX));
}

TEST(SpreadContents, OfFloatingTypesLieInsideTheRangeOnBothSidesOfZero) {
  const std::vector<double> values =
      contents(spread(buffer(Init::Kind::uniform, 10'000, ScalarType::float64, -8, 2)));
  EXPECT_GT(*std::ranges::min_element(values), -8);
  EXPECT_LT(*std::ranges::max_element(values), 2);
  EXPECT_NEAR(5'000,
              static_cast<double>(std::ranges::count_if(values, [](double x) { return x < 0; })),
              300);
  EXPECT_EQ(0, small_ones(values, 0)) << "kernels may divide by them";
  EXPECT_GT(small_ones(values, 0.1), 3000) << "2 % of uniform ones";
  const std::vector<double> positive =
      contents(spread(buffer(Init::Kind::uniform, 10'000, ScalarType::float64, 0.5, 1)));
  EXPECT_GT(*std::ranges::min_element(positive), 0.5);
  EXPECT_LT(*std::ranges::max_element(positive), 1);
  EXPECT_GT(small_ones(positive, 0.55), 5000) << "10 % of uniform ones";
  const std::vector<double> normal =
      contents(spread(buffer(Init::Kind::normal, 10'000, ScalarType::float64, 3, 2)));
  EXPECT_GT(*std::ranges::min_element(normal), -3);
  EXPECT_LT(*std::ranges::max_element(normal), 9);
}

TEST(DefinedContents, OfWideIntegersAreExact) {
  Init init;
  init.kind = Init::Kind::definition;
  init.definition = "y[i] = i * 6364136223846793005 + salt";
  Argument y = buffer_of("y", ScalarType::uint64, {3}, init);
  Argument salt;
  salt.name = "salt";
  salt.type = ScalarType::int64;
  salt.integer = (std::int64_t{1} << 60) + 1;
  y.reads = {salt};
  const auto bits = to_bits(initial_contents(y, 1), y.type);
  EXPECT_EQ(2 * 6364136223846793005ull + (1ull << 60) + 1, bits[2]);
}

}  // namespace
}  // namespace smemtune
