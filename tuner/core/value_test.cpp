#include "tuner/core/value.h"

#include "tuner/core/error.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

TEST(Key, ListsNamesSortedWithoutSpaces) {
  const Bindings bindings = {
      {"THREADS", std::int64_t{256}}, {"ITEMS", std::int64_t{-4}}, {"T", std::string("float")}};
  EXPECT_EQ("ITEMS=-4,T=float,THREADS=256", key(bindings));
  EXPECT_EQ("", key({}));
}

TEST(Key, IsReadBackAsItWasWritten) {
  const Bindings bindings = {{"A", std::int64_t{INT64_MIN}},
                             {"B", std::int64_t{INT64_MAX}},
                             {"T", std::string("unsigned char")},
                             {"W", std::string("row_major")}};
  EXPECT_EQ(bindings, parse_key(key(bindings)));
  EXPECT_EQ(Bindings{}, parse_key(""));
}

TEST(Bindings, HaveAKeyOfTheirOwnWhateverTheirWordsHold) {
  const std::string words[] = {"N,T", "(16, 16)", "a\\",  "a\\,b", "a\\\\,",
                               ",",   "\\",       "a\\b", "x,A=1"};
  std::set<std::string> keys;
  for (const std::string& word : words) {
    const Bindings bindings = {{"V", word}, {"W", std::int64_t{1}}};
    EXPECT_EQ(bindings, parse_key(key(bindings))) << word;
    keys.insert(key(bindings));
    const Bindings last = {{"V", word}};
    EXPECT_EQ(last, parse_key(key(last))) << word;
  }
  EXPECT_EQ(keys.size(), std::size(words));
  EXPECT_EQ(key({{"V", std::string("N,T")}}), "V=N\\,T");
  EXPECT_EQ(key({{"V", std::string("a\\b")}}), "V=a\\b");  // Older versions stored it in this form.
}

TEST(Key, TellsIntegersFromWords) {
  const Bindings bindings = parse_key("A=12,B=12x,C=-,D=-7");
  EXPECT_EQ(Value(std::int64_t{12}), bindings.at("A"));
  EXPECT_EQ(Value(std::string("12x")), bindings.at("B"));
  EXPECT_EQ(Value(std::string("-")), bindings.at("C"));
  EXPECT_EQ(Value(std::int64_t{-7}), bindings.at("D"));
}

TEST(Key, RefusesWhatIsNotNameAndValueNamingTheText) {
  for (const char* text : {"A", "A=", "=1", "A=1,,B=2", "A=1,", ",A=1"}) {
    try {
      parse_key(text);
      FAIL() << text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string::npos, std::string(error.what()).find(text)) << error.what();
    }
  }
}

TEST(Key, RefusesNamesGivenTwiceAndIntegersBeyond64Bits) {
  EXPECT_THROW(parse_key("A=1,A=1"), InputError);
  EXPECT_THROW(parse_key("A=9223372036854775808"), InputError);
  EXPECT_EQ(Value(std::int64_t{INT64_MIN}), parse_key("A=-9223372036854775808").at("A"));
}

TEST(ScalarTypes, NameOfEveryTypeIsReadBack) {
  for (int i = 0; i <= static_cast<int>(ScalarType::float64); ++i) {
    const auto type = static_cast<ScalarType>(i);
    EXPECT_EQ(type, scalar_type(cuda_name(type))) << cuda_name(type);
  }
}

TEST(ScalarTypes, HaveTheirSizesInCuda) {
  EXPECT_EQ(1u, size_of(*scalar_type("bool")));
  EXPECT_EQ(1u, size_of(*scalar_type("signed char")));
  EXPECT_EQ(2u, size_of(*scalar_type("unsigned short")));
  EXPECT_EQ(1u, size_of(*scalar_type("__nv_fp8_e4m3")));
  EXPECT_EQ(2u, size_of(*scalar_type("__half")));
  EXPECT_EQ(2u, size_of(*scalar_type("__nv_bfloat16")));
  EXPECT_EQ(4u, size_of(*scalar_type("unsigned")));
  EXPECT_EQ(4u, size_of(*scalar_type("float")));
  EXPECT_EQ(8u, size_of(*scalar_type("long")));
  EXPECT_EQ(8u, size_of(*scalar_type("size_t")));
  EXPECT_EQ(8u, size_of(*scalar_type("double")));
  EXPECT_EQ(std::nullopt, scalar_type("flaot"));
  EXPECT_EQ(std::nullopt, scalar_type(""));
}

TEST(ScalarTypes, KnowWhichAreFloating) {
  EXPECT_TRUE(is_floating(ScalarType::bfloat16));
  EXPECT_TRUE(is_floating(ScalarType::float8_e4m3));
  EXPECT_FALSE(is_texel_type(ScalarType::float8_e4m3));
  EXPECT_TRUE(is_floating(ScalarType::float64));
  EXPECT_FALSE(is_floating(ScalarType::uint64));
}

}  // namespace
}  // namespace smemtune
