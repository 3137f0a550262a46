#include "tuner/config/json_reader.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smemtune {
namespace {

std::string message(const std::string& text) {
  try {
    return "read as " + parse_json(text, "f").dump();
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(ParseJson, KeepsTheOrderOfTheFile) {
  EXPECT_EQ(R"(read as {"z":1,"a":[true,null,"x",-9223372036854775808,0.5],"m":{}})",
            message(R"({"z": 1, "a": [true, null, "x", -9223372036854775808, 0.5], "m": {}})"));
}

TEST(ParseJson, NamesTheValueThatIsRefused) {
  EXPECT_EQ("f:1: /0/1/a: the key occurs twice", message(R"([[0, {"a": 1, "a": 2}]])"));
  EXPECT_EQ("f:1: /1/b/2: 9223372036854775808 is above the largest integer, 9223372036854775807",
            message(R"([0, {"a": [], "b": [1, 2, 9223372036854775808]}])"));
  EXPECT_EQ("f:1: 99999999999999999999 is not an integer of 64 bits",
            message("99999999999999999999"));
}

TEST(ParseJson, TellsTheLineOfEachValue) {
  JsonLines lines;
  parse_json("{\n  \"a\": [1,\n    22\n  ,\n\"x\", [], {}],\n  \"b\":\n\n    7, \"c\": true\n}\n",
             "f", &lines);
  EXPECT_EQ(lines, (JsonLines{{"/a", 2},
                              {"/a/0", 2},
                              {"/a/1", 3},
                              {"/a/2", 5},
                              {"/a/3", 5},
                              {"/a/4", 5},
                              {"/b", 6},
                              {"/c", 8}}));
  EXPECT_EQ("f:3: /1: 99999999999999999999 is not an integer of 64 bits",
            message("[1,\n\n99999999999999999999\n]"));
}

TEST(ParseJson, NamesLineAndColumnOfWhatIsNoJson) {
  EXPECT_THAT(message("{\n  \"a\": 1,\n}"), testing::StartsWith("f:3:1: this is not JSON: "));
  EXPECT_THAT(message("[1 2]"), testing::StartsWith("f:1:4: this is not JSON: "));
  EXPECT_THAT(message("[1] 2"), testing::StartsWith("f:1:5: this is not JSON: "));
  EXPECT_THAT(message("[NaN]"), testing::StartsWith("f:1:2: this is not JSON: "));
  EXPECT_THAT(message("[01]"), testing::StartsWith("f:1:3: this is not JSON: "));
}

TEST(ParseJson, TakesNoMoreThanItCanHold) {
  const auto list = [](std::size_t elements) {
    std::string text = "[0";
    for (std::size_t i = 1; i < elements; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_THAT(message(list(100'000)), testing::StartsWith("read as"));
  EXPECT_EQ("f:1: /100000: an array with more than 100000 elements", message(list(100'001)));
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_THAT(message(nested(32)), testing::StartsWith("read as"));
  EXPECT_THAT(message(nested(33)), testing::HasSubstr("nested more than 32 levels deep"));
  // A million levels end in the same way, because nothing recurses.
  EXPECT_THAT(message(nested(1'000'000)), testing::HasSubstr("nested more than 32 levels deep"));
  const auto object = [](std::size_t members) {
    std::string text = "{\"k0\":0";
    for (std::size_t i = 1; i < members; ++i) text += ",\"k" + std::to_string(i) + "\":0";
    return text + "}";
  };
  EXPECT_THAT(message(object(1000)), testing::StartsWith("read as"));
  EXPECT_EQ("f:1: /k1000: an object with more than 1000 members", message(object(1001)));
  EXPECT_THAT(message('"' + std::string(65'536, 'x') + '"'), testing::StartsWith("read as"));
  EXPECT_EQ("f:1: a string of 65537 bytes; at most 65536",
            message('"' + std::string(65'537, 'x') + '"'));
}

TEST(Summary, IsShortWhateverTheValue) {
  EXPECT_EQ("\"x\"", summary(Json("x")));
  EXPECT_EQ("[1, [], {}]", summary(Json::parse("[1, [], {}]")));
  EXPECT_EQ("{...}", summary(Json::parse(R"({"a": 1})")));
  EXPECT_LT(summary(Json(std::vector<int>(1000, 12345))).size(), 100u);
  EXPECT_LT(summary(Json(std::string(1000, 'x'))).size(), 100u);
}

TEST(Child, EscapesAsJsonPointersDo) {
  EXPECT_EQ("/a/b~1c~0d", child("/a", "b/c~d"));
  EXPECT_EQ("/a/7", child("/a", 7));
}

}  // namespace
}  // namespace smemtune
