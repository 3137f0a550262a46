#include "tuner/core/definition.h"

#include "tuner/core/element_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace smemtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Arrays = std::map<std::string, HostArray>;

const Bindings kConstants = {
    {"K", std::int64_t{3}}, {"N", std::int64_t{4}}, {"RADIUS", std::int64_t{1}}, {"T", "float"}};
const std::map<std::string, std::size_t> kArrays = {
    {"A", 2}, {"B", 2}, {"C", 2}, {"in", 1}, {"out", 1}};
const std::vector<std::string> kScalars = {"alpha"};

Definition compile(std::string_view text) {
  return Definition::compile(text, kConstants, kArrays, kScalars);
}

HostArray evaluate(std::string_view text, const Arrays& arrays) {
  return compile(text).evaluate(arrays, {{"alpha", 0.5}});
}

HostArray vector_of(std::vector<double> elements) {
  const std::int64_t size = std::ssize(elements);
  return {.shape = {size}, .elements = std::move(elements)};
}

HostArray wide(std::vector<std::uint64_t> bits, ScalarType type) {
  HostArray array = {.shape = {std::ssize(bits)}, .elements = {}, .type = type};
  for (const std::uint64_t one : bits) array.elements.push_back(static_cast<double>(one));
  array.bits = std::move(bits);
  return array;
}

// Evaluates `out[i] = value` over in = {1, -2, 4, 8} for an output of four elements.
std::vector<double> out(const std::string& value) {
  const Arrays arrays = {{"in", vector_of({1, -2, 4, 8})}, {"out", {.shape = {4}, .elements = {}}}};
  return evaluate("out[i] = " + value, arrays).elements;
}

std::string message_of(std::string_view text, const Arrays& arrays) {
  try {
    evaluate(text, arrays);
    return "no error";
  } catch (const ExpressionError& error) {
    return error.what();
  }
}

std::string message_of(std::string_view text) {
  return message_of(text, {{"in", vector_of({1, -2, 4, 8})},
                           {"out", {.shape = {4}, .elements = {}}},
                           {"A", {.shape = {2, 2}, .elements = {1, 2, 3, 4}}},
                           {"C", {.shape = {2, 2}, .elements = {}}}});
}

TEST(Definition, SaysWhichArraysItReads) {
  EXPECT_THAT(compile("out[i] = in[i] * sum(k < K, A[k, i] + A[i, k])").arrays(),
              ElementsAre("in", "A"));
  EXPECT_THAT(compile("out[i] = out[i] + 1").arrays(), ElementsAre("out"));
  EXPECT_THAT(compile("out[i] = i").arrays(), ElementsAre());
}

TEST(Definition, MultipliesMatrices) {
  const HostArray a = {.shape = {2, 3}, .elements = {1, 2, 3, 4, 5, 6}};
  const HostArray b = {.shape = {3, 2}, .elements = {7, 8, 9, 10, 11, 12}};
  const HostArray c = evaluate("C[m, n] = sum(k < K, A[m, k] * B[k, n])",
                               {{"A", a}, {"B", b}, {"C", {.shape = {2, 2}, .elements = {}}}});
  EXPECT_THAT(c.shape, ElementsAre(2, 2));
  EXPECT_THAT(c.elements, ElementsAre(58, 64, 139, 154));
}

TEST(Definition, SumsAStencil) {
  const Arrays arrays = {{"in", vector_of({1, 2, 4, 8, 16, 32})},
                         {"out", {.shape = {4}, .elements = {}}}};
  EXPECT_THAT(evaluate("out[i] = sum(r < 2 * RADIUS + 1, in[i + r])", arrays).elements,
              ElementsAre(7, 14, 28, 56));
}

TEST(Definition, SumsManyTermsWithoutLosingDigits) {
  const Arrays arrays = {{"in", vector_of({1e16, -1e16})}, {"out", {.shape = {1}, .elements = {}}}};
  EXPECT_THAT(evaluate("out[i] = sum(k < 1000000, 0.1 + i * k)", arrays).elements,
              ElementsAre(100'000));
  EXPECT_THAT(
      evaluate("out[i] = sum(k < 1002, k < 1 ? in[0] : k > 1000 ? in[1] : 1)", arrays).elements,
      ElementsAre(1000));
}

TEST(Definition, SumsInfinitiesAndNanAsAdditionsDo) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto sum = [](std::vector<double> in) {
    const Arrays arrays = {{"in", vector_of(std::move(in))},
                           {"out", {.shape = {1}, .elements = {}}}};
    return evaluate("out[i] = sum(k < 3, in[k])", arrays).elements.front();
  };
  EXPECT_EQ(sum({1, infinity, 2}), infinity);
  EXPECT_EQ(sum({-infinity, 1, 2}), -infinity);
  EXPECT_TRUE(std::isnan(sum({infinity, -infinity, 2})));
  EXPECT_EQ(sum({1e308, 1e308, 2}), infinity);
}

TEST(Definition, ReadsAnArrayThatItWritesAsItWasBefore) {
  const Arrays arrays = {{"in", vector_of({1, 2, 3})}};
  EXPECT_THAT(evaluate("in[i] = in[i] + 1", arrays).elements, ElementsAre(2, 3, 4));
  EXPECT_THAT(evaluate("in[i] = in[2 - i]", arrays).elements, ElementsAre(3, 2, 1));
  EXPECT_THAT(evaluate("in[i] = i == 0 ? in[0] : in[i - 1]", arrays).elements,
              ElementsAre(1, 1, 2));
}

TEST(Definition, KnowsItsOperatorsAndFunctions) {
  EXPECT_THAT(out("in[i] * 2 + alpha - 1"), ElementsAre(1.5, -4.5, 7.5, 15.5));
  EXPECT_THAT(out("-in[i] / 4"), ElementsAre(-0.25, 0.5, -1, -2));
  EXPECT_THAT(out("in[i] > 1"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(out("in[i] >= 1 && !(in[i] == 4)"), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(out("in[i] < 0 or in[i] != 8"), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(out("in[i] <= 1 ? 10 : 20"), ElementsAre(10, 10, 20, 20));
  EXPECT_THAT(out("T == float ? i : 0"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(out("i + (T == double) + (T != double)"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(out("abs(in[i])"), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(out("min(in[i], 2)"), ElementsAre(1, -2, 2, 2));
  EXPECT_THAT(out("max(in[i], i < 2)"), ElementsAre(1, 1, 4, 8));
  EXPECT_THAT(out("sqrt(in[i] * in[i])"), ElementsAre(1, 2, 4, 8));
  EXPECT_DOUBLE_EQ(std::exp(4.0), out("exp(in[i])")[2]);
  EXPECT_DOUBLE_EQ(std::log(8.0), out("log(in[i])")[3]);
  EXPECT_THAT(out("max(k < N, in[k])"), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(out("min(k < N, in[k])"), ElementsAre(-2, -2, -2, -2));
  EXPECT_THAT(out("1e1 + .5"), ElementsAre(10.5, 10.5, 10.5, 10.5));
  EXPECT_THAT(out("N * i"), ElementsAre(0, 4, 8, 12));
}

TEST(Definition, KnowsPowersAndFunctionsOfAngles) {
  EXPECT_THAT(out("2.0 ** (i % 3) - pow(2, i % 3)"), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(out("-2 ** 2 + i // 2"), ElementsAre(-4, -4, -3, -3));
  EXPECT_THAT(out("sin(0) + cos(0) + tan(0) + tanh(0) + erf(0)"), ElementsAre(1, 1, 1, 1));
  EXPECT_DOUBLE_EQ(std::sin(2.0) + std::cos(2.0), out("sin(i) + cos(i)")[2]);
  EXPECT_DOUBLE_EQ(std::tan(1.0) + std::tanh(1.0) + std::erf(1.0),
                   out("tan(i) + tanh(i) + erf(i)")[1]);
}

TEST(Definition, SumsOverBoundsThatDependOnIndices) {
  EXPECT_THAT(out("sum(k < i + 1, in[k])"), ElementsAre(1, -1, 3, 11));
  EXPECT_THAT(out("sum(k < i, in[k])"), ElementsAre(0, 1, -1, 3));
  EXPECT_THAT(out("sum(j < 2, sum(k < i, in[k] + j))"), ElementsAre(0, 3, 0, 9));
  EXPECT_THAT(out("sum(k < 2, 1) + sum(k < 3, k)"), ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(out("sum(k < N, in[k] == 4)"), ElementsAre(1, 1, 1, 1));
}

TEST(Definition, CarriesNanThroughLargestAndSmallest) {
  EXPECT_TRUE(std::isnan(out("max(k < N, sqrt(in[k]))")[0]));
  EXPECT_TRUE(std::isnan(out("min(k < N, sqrt(in[k]))")[0]));
}

TEST(Definition, NamesWhatItGives) { EXPECT_EQ("C", compile("C[i, j] = 0").output()); }

TEST(Definition, SaysWhatLiesOutside) {
  EXPECT_EQ("'out[i] = in[i + 1]' column 10: in[4] lies outside, the shape is [4]",
            message_of("out[i] = in[i + 1]"));
  EXPECT_THAT(message_of("out[i] = in[i - 1]"), HasSubstr("in[-1] lies outside"));
  EXPECT_THAT(message_of("C[i, j] = A[j, i + 1]"),
              HasSubstr("A[0, 2] lies outside, the shape is [2, 2]"));
}

HostArray integers_of(std::vector<double> elements) {
  HostArray array = vector_of(std::move(elements));
  array.type = ScalarType::int32;
  return array;
}

TEST(Definition, GathersByIndicesThatLieInArrays) {
  const auto compiled = [](std::string_view text) {
    return Definition::compile(text, kConstants,
                               {{"x", 1}, {"row", 1}, {"column", 1}, {"value", 1}, {"y", 1}}, {});
  };
  const Arrays arrays = {{"x", vector_of({10, 20, 30})},
                         {"row", integers_of({0, 2, 2, 3})},
                         {"column", integers_of({2, 0, 1})},
                         {"value", vector_of({1, 2, 3})},
                         {"y", {.shape = {3}, .elements = {}}}};
  EXPECT_THAT(compiled("y[i] = x[column[i]]").evaluate(arrays, {}).elements,
              ElementsAre(30, 10, 20));
  EXPECT_THAT(
      compiled("y[i] = x[column[column[i]]] + x[2 - column[i]]").evaluate(arrays, {}).elements,
      ElementsAre(20 + 10, 30 + 30, 10 + 20));
  const Definition product =
      compiled("y[i] = sum(k < row[i + 1] - row[i], value[row[i] + k] * x[column[row[i] + k]])");
  EXPECT_THAT(product.arrays(), testing::UnorderedElementsAre("row", "column", "value", "x"));
  EXPECT_THAT(product.evaluate(arrays, {}).elements, ElementsAre(30 + 20, 0, 60));
  const DefinitionEffort effort;
  EXPECT_THAT(product.evaluate_some(arrays, {}, effort, 1).values, ElementsAre(50, 0, 60));
  const auto fault = [&](std::string_view text) -> std::string {
    try {
      compiled(text).evaluate(arrays, {});
      return "no error";
    } catch (const ExpressionError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(fault("y[i] = x[column[i + 1]]"),
              HasSubstr("column[3] lies outside, the shape is [3]"));
  EXPECT_THAT(fault("y[i] = x[column[i] + 1]"), HasSubstr("x[3] lies outside"));
  EXPECT_THAT(fault("y[i] = x[value[i]]"), HasSubstr("'value' has fractions, where a whole"));
  EXPECT_THAT(fault("y[i] = x[colum[i]]"),
              HasSubstr("unknown array 'colum'; did you mean 'column'?"));
}

TEST(Definition, KnowsTheSizeOfTypes) {
  EXPECT_THAT(out("sizeof(T) + sizeof(double)"), ElementsAre(12, 12, 12, 12));
}

TEST(Definition, RefusesWhatItCannotRead) {
  EXPECT_EQ("'out[i] = inn[i]' column 10: unknown array 'inn'; did you mean 'in'?",
            message_of("out[i] = inn[i]"));
  EXPECT_EQ("'out[i] = alpho' column 10: unknown name 'alpho'; did you mean 'alpha'?",
            message_of("out[i] = alpho"));
  EXPECT_EQ("'out[i] = in[j]' column 13: unknown name 'j'", message_of("out[i] = in[j]"));
  EXPECT_THAT(message_of("out[i] = sizeof(2)"), HasSubstr("expected the name of a type"));
  EXPECT_THAT(message_of("out[i] = sizeof(N)"),
              HasSubstr("column 17: sizeof takes a type, not 'N'"));
  EXPECT_THAT(message_of("out[i] = cosh(1)"), HasSubstr("column 10: unknown function 'cosh'"));
  EXPECT_THAT(message_of("out[i, j] = 1"), HasSubstr("'out' has 1 dimension, not 2"));
  EXPECT_THAT(message_of("out[i] = A[i]"), HasSubstr("column 10: 'A' has 2 dimensions, not 1"));
  EXPECT_THAT(message_of("out[i] = in"), HasSubstr("'in' is an array and needs its indices"));
  EXPECT_THAT(message_of("out[i] = T"), HasSubstr("'T' stands for a word"));
  EXPECT_THAT(message_of("out[i] = T + 1"), HasSubstr("'T' stands for a word"));
  EXPECT_THAT(message_of("out[i] = T == 4"), HasSubstr("expected the name of a word"));
  EXPECT_THAT(message_of("out[N] = 1"), HasSubstr("column 5: 'N' would have two meanings"));
  EXPECT_THAT(message_of("out[i] = sum(i < 2, 1)"), HasSubstr("'i' would have two meanings"));
  EXPECT_THAT(message_of("out[i] = sum(k < k, 1)"), HasSubstr("column 18: unknown name 'k'"));
  EXPECT_THAT(message_of("out[i] = sum(k < 2, 1) + k"), HasSubstr("unknown name 'k'"));
  EXPECT_THAT(message_of("out[i] = sum(1)"), HasSubstr("sum takes an index: sum(i < n, x)"));
  EXPECT_THAT(message_of("out[i] = max(1)"), HasSubstr("max takes 2 operands, not 1"));
  EXPECT_THAT(message_of("out[i] = in[0.5]"), HasSubstr("'0.5' is not an integer"));
  EXPECT_THAT(message_of("out[i] = 1 < 2 < 3"), HasSubstr("comparisons in a row"));
  EXPECT_THAT(message_of("out[i] = 1 2"), HasSubstr("expected an operator before '2'"));
  EXPECT_THAT(message_of("out[i] ="), HasSubstr("expected a number or a name at the end"));
  EXPECT_THAT(message_of("out = 1"), HasSubstr("column 5: expected '[' before '='"));
  EXPECT_THAT(message_of("1"), HasSubstr("expected the name of the output array"));
  EXPECT_THAT(message_of("out[i] = " + std::string(65, '(') + "1" + std::string(65, ')')),
              HasSubstr("nested more than 64 levels deep"));
}

TEST(Definition, TakesRemaindersAndRoundsDown) {
  EXPECT_THAT(out("in[i] % 3"), ElementsAre(1, -2, 1, 2));
  EXPECT_THAT(out("floor(in[i] / 4)"), ElementsAre(0, -1, 1, 2));
  EXPECT_THAT(out("7 - 2 * i % 4"), ElementsAre(7, 5, 7, 5));
}

TEST(Definition, RefusesContentsThatDoNotFit) {
  EXPECT_THAT(message_of("out[i] = in[i]", {{"out", {.shape = {4}, .elements = {}}}}),
              HasSubstr("the array 'in' is not given"));
  EXPECT_THAT(message_of("out[i] = 1", {}), HasSubstr("the array 'out' is not given"));
  EXPECT_THAT(message_of("out[i] = 1", {{"out", {.shape = {2, 2}, .elements = {}}}}),
              HasSubstr("'out' has 1 dimensions, its contents 2"));
  EXPECT_THAT(message_of("in[i] = in[i]", {{"in", {.shape = {4}, .elements = {1, 2}}}}),
              HasSubstr("'in' holds 2 elements, its shape [4] has 4"));
  EXPECT_THAT(message_of("out[i] = max(k < i, 1)"),
              HasSubstr("nothing to take the largest or smallest of: the bound is 0"));
  const Definition scaled = compile("out[i] = alpha");
  EXPECT_THROW(scaled.evaluate({{"out", {.shape = {4}, .elements = {}}}}, {}), ExpressionError);
}

// A choice is evaluated turn by turn, other bodies for several turns at once.
TEST(Definition, GivesTheSameForSeveralTurnsAtOnceAsForOneAfterTheOther) {
  std::vector<double> numbers;
  std::vector<std::uint64_t> bits;
  for (std::uint64_t i = 0; i < 200; ++i) {
    numbers.push_back(std::sin(static_cast<double>(i)));
    bits.push_back((i << 55) + i);
  }
  numbers[130] = NAN;
  std::vector<double> square;
  std::vector<double> places;
  for (int i = 0; i < 200 * 200; ++i) {
    square.push_back(i % 199);
    places.push_back(i * 7 % 200);
  }
  const HostArray floats = vector_of(numbers);
  const HostArray integers = wide(bits, ScalarType::uint64);
  for (const HostArray& in : {floats, integers}) {
    const Arrays arrays = {
        {"in", in},
        {"A", {.shape = {200, 200}, .elements = square}},
        {"B", {.shape = {200, 200}, .elements = places, .type = ScalarType::int32}},
        {"out", {.shape = {200}, .elements = {}, .type = in.type}}};
    for (const char* const loop : {"sum", "max", "min"}) {
      for (const char* const body :
           {"in[r] * in[i] - r", "in[(r * r) % 7 + i - i] + in[r] * in[r]", "-abs(in[r]) + i",
            "A[r, i] * A[i, r] * 3", "in[B[i, r]] * A[r, B[i, 0]]",
            "A[B[0, i], r] + in[B[B[r, 1], i]]"}) {
        const std::string begin = "out[i] = " + std::string(loop) + "(r < i + 1, ";
        const HostArray several = evaluate(begin + body + ")", arrays);
        const HostArray one = evaluate(begin + "i >= 0 ? " + body + " : 0)", arrays);
        EXPECT_THAT(several.elements,
                    testing::Pointwise(testing::NanSensitiveDoubleEq(), one.elements))
            << begin << body;
        EXPECT_EQ(several.bits, one.bits) << begin << body;
      }
    }
  }
  EXPECT_THAT(message_of("out[i] = sum(r < 130, in[r + 0] * in[r])",
                         {{"in", floats}, {"out", {.shape = {1}, .elements = {}}}}),
              "no error");
  EXPECT_THAT(message_of("out[i] = sum(r < 201, in[r] * in[0])",
                         {{"in", floats}, {"out", {.shape = {1}, .elements = {}}}}),
              HasSubstr("in[200] lies outside, the shape is [200]"));
  places[130] = 200;
  EXPECT_THAT(
      message_of("out[i] = sum(r < 200, in[B[0, r]] * in[0])",
                 {{"in", floats},
                  {"B", {.shape = {200, 200}, .elements = places, .type = ScalarType::int32}},
                  {"out", {.shape = {1}, .elements = {}}}}),
      HasSubstr("in[200] lies outside, the shape is [200]"));
}

TEST(Definition, StopsWhenItTakesTooLong) {
  const Definition sum = compile("out[i] = sum(k < 100, 2 * k)");
  const Arrays arrays = {{"out", {.shape = {10}, .elements = {}}}};
  // There are 10 elements of 100 turns of one multiplication.
  EXPECT_NO_THROW(sum.evaluate(arrays, {}, 10 + 10 * 100 * 2));
  EXPECT_THROW(sum.evaluate(arrays, {}, 10 + 10 * 100 * 2 - 1), ExpressionError);
  const Arrays huge = {{"out", {.shape = {std::int64_t{1} << 50}, .elements = {}}}};
  EXPECT_THROW(compile("out[i] = 1").evaluate(huge, {}), ExpressionError);
}

// Evaluates out[i] = in[i] + sum(k < K, k) over `count` elements.
DefinedElements some_of(std::int64_t count, const DefinitionEffort& effort,
                        const std::string& value = "in[i] + sum(k < K, k)") {
  std::vector<double> in;
  for (std::int64_t i = 0; i < count; ++i) in.push_back(static_cast<double>(i));
  const Arrays arrays = {{"in", vector_of(std::move(in))},
                         {"out", {.shape = {count}, .elements = {}}}};
  return compile("out[i] = " + value).evaluate_some(arrays, {}, effort, 1);
}

TEST(DefinedElements, AreAllWhereTheEffortAllowsThat) {
  const DefinedElements all = some_of(1000, {.whole = 6000, .sample = 100});
  EXPECT_TRUE(all.at.empty());
  ASSERT_EQ(all.values.size(), 1000u);
  EXPECT_EQ(all.values[77], 80);
  EXPECT_LT(all.operations, 7000u);
}

TEST(DefinedElements, AreTheSameFromSeveralThreads) {
  constexpr std::int64_t kCount = 300'000;
  for (const DefinitionEffort& effort :
       {DefinitionEffort{}, DefinitionEffort{.whole = 2'000'000, .sample = 1'000'000}}) {
    DefinitionEffort several = effort;
    several.threads = 5;
    const DefinedElements all = some_of(kCount, effort);
    const DefinedElements same = some_of(kCount, several);
    EXPECT_EQ(same.at, all.at);
    EXPECT_EQ(same.values, all.values);
    EXPECT_EQ(same.operations, all.operations);
  }
  try {
    some_of(kCount, {.threads = 5}, "in[i + (i == 100001 || i == 200001) * N * i] + sum(k < K, k)");
    FAIL();
  } catch (const ExpressionError& error) {
    EXPECT_THAT(error.what(), HasSubstr("in[500005] lies outside, the shape is [300000]"));
  }
}

/// Evaluates some prefix sums of 100,000 ones.
DefinedElements some_prefix_sums(ScalarType type, const DefinitionEffort& effort) {
  constexpr std::int64_t kCount = 100'000;
  HostArray ones = {.shape = {kCount}, .elements = {}, .type = type};
  const std::vector<double> element = {1};
  ones.read = [one = encode(element, type)](std::size_t, std::span<std::uint8_t> part) {
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = one[i % one.size()];
  };
  const Arrays arrays = {{"in", ones}, {"out", {.shape = {kCount}, .elements = {}, .type = type}}};
  return compile("out[i] = sum(k < i + 1, in[k])").evaluate_some(arrays, {}, effort, 1);
}

TEST(DefinedElements, OfAPrefixSumAreNotOnlyThoseThatCostLittle) {
  for (const ScalarType type : {ScalarType::int32, ScalarType::float32}) {
    const DefinedElements several = some_prefix_sums(type, {.whole = 1'000'000, .sample = 50'000});
    EXPECT_GE(several.at.size(), 5u);
    EXPECT_LE(several.operations, 1'100'000u);
    EXPECT_THAT(several.at, testing::Contains(99'999));
    for (std::size_t i = 0; i < several.at.size(); ++i) {
      EXPECT_EQ(several.values[i], static_cast<double>(several.at[i] + 1));
    }
    const DefinedElements one =
        some_prefix_sums(type, {.whole = 50'000, .sample = 20'000, .one_element = 150'000});
    EXPECT_THAT(one.at, ElementsAre(99'999)) << "it depends on everything";
  }
}

// A choice has to be made for one element after the other.
TEST(DefinedElements, AreTheSameInRowsAsOneByOne) {
  constexpr std::int64_t kRows = 5;
  constexpr std::int64_t kColumns = 70;
  HostArray a = {.shape = {kRows, kColumns}, .elements = {}, .type = ScalarType::float32};
  HostArray b = {.shape = {kColumns, kRows}, .elements = {}};
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
    b.elements.push_back(static_cast<double>(i) / 3);
  }
  a.bytes = encode(b.elements, a.type);
  const Arrays arrays = {{"A", a}, {"B", b}, {"C", {.shape = a.shape, .elements = {}}}};
  for (const std::string value :
       {"A[m, n] * alpha + B[n, m] - n", "B[n, 0] * A[4 - m, 69 - n]", "max(A[m, 3], sqrt(m))"}) {
    const HostArray rows = evaluate("C[m, n] = " + value, arrays);
    const HostArray single = evaluate("C[m, n] = m < 0 ? 0 : " + value, arrays);
    EXPECT_EQ(rows.elements, single.elements) << value;
    Arrays drawn = arrays;
    for (const char* name : {"A", "B"}) {
      HostArray& array = drawn.at(name);
      const auto bytes = array.has_bytes() ? array.bytes : encode(array.elements, array.type);
      array.read = [bytes](std::size_t begin, std::span<std::uint8_t> part) {
        std::ranges::copy(std::span(bytes).subspan(begin, part.size()), part.begin());
      };
      array.bytes.clear();
      array.elements.clear();
    }
    EXPECT_EQ(rows.elements, evaluate("C[m, n] = " + value, drawn).elements) << value;
    EXPECT_EQ(rows.elements, evaluate("C[m, n] = m < 0 ? 0 : " + value, drawn).elements) << value;
    EXPECT_EQ(drawn.at("A").in_numbers().elements, a.in_numbers().elements);
  }
  EXPECT_THAT(message_of("C[m, n] = A[m, n + (m / 4)]", arrays),
              HasSubstr("A[4, 70] lies outside, the shape is [5, 70]"));
  EXPECT_THROW(compile("C[m, n] = A[m, n] + 1").evaluate(arrays, {{"alpha", 0.5}}, 699),
               TooManyOperations);
  EXPECT_NO_THROW(compile("C[m, n] = A[m, n] + 1").evaluate(arrays, {{"alpha", 0.5}}, 700));
}

TEST(DefinedElements, AreASampleOfWhatCostsMore) {
  const DefinedElements some = some_of(1000, {.whole = 4000, .sample = 1000, .least_elements = 10});
  EXPECT_NEAR(static_cast<double>(some.values.size()), 200, 20) << "of five operations each";
  ASSERT_EQ(some.at.size(), some.values.size());
  for (std::size_t i = 0; i < some.at.size(); ++i) {
    EXPECT_EQ(some.values[i], static_cast<double>(some.at[i]) + 3);
  }
}

TEST(DefinedElements, AreSoManyAtLeastWhereThatCostsNoMoreThanAllMay) {
  const DefinitionEffort effort = {.whole = 1000, .sample = 10, .least_elements = 64};
  EXPECT_EQ(some_of(1000, effort).values.size(), 64u);
  const std::size_t dear = some_of(1000, effort, "sum(k < 50, k)").values.size();
  EXPECT_GT(dear, 10u);
  EXPECT_LT(dear, 20u);
}

TEST(DefinedElements, AreASampleWhereSomeCostMoreThanOthers) {
  const DefinedElements some = some_of(
      1000, {.whole = 100'000, .sample = 20'000, .least_elements = 10}, "sum(k < i, in[k])");
  EXPECT_GT(some.values.size(), 10u);
  EXPECT_LT(some.values.size(), 100u);
}

TEST(DefinedElements, IsOneThatIsDearOrNone) {
  const std::string value = "sum(k < 1000, k)";
  EXPECT_EQ(some_of(1000, {.whole = 100, .sample = 10, .one_element = 1500}, value).values.size(),
            1u);
  EXPECT_THROW(some_of(1000, {.whole = 100, .sample = 10, .one_element = 900}, value),
               TooManyOperations);
}

TEST(DefinedElements, AreNotBegunWhereLoopsAreKnownToTakeForever) {
  EXPECT_THROW(some_of(1000, {}, "sum(a < 1000000, sum(b < 1000000, sum(c < 1000000, a)))"),
               TooManyOperations);
}

HostArray whole_out(const std::string& value, ScalarType type) {
  HostArray in = wide({(1ull << 53) + 1, ~0ull, 7, 1ull << 63}, type);
  HostArray out = {.shape = {4}, .elements = {}, .type = type};
  return evaluate("out[i] = " + value, {{"in", in}, {"out", out}});
}

TEST(Definition, GivesIntegersExactlyAndWrapsAround) {
  EXPECT_THAT(whole_out("in[i] + 1", ScalarType::uint64).bits,
              ElementsAre((1ull << 53) + 2, 0, 8, (1ull << 63) + 1));
  EXPECT_THAT(whole_out("in[i] * 6364136223846793005 - in[i]", ScalarType::uint64).bits,
              ElementsAre(((1ull << 53) + 1) * 6364136223846793004ull, 0 - 6364136223846793004ull,
                          7 * 6364136223846793004ull, (1ull << 63) * 6364136223846793004ull));
  EXPECT_THAT(whole_out("sum(k < 3, in[i])", ScalarType::uint64).bits,
              ElementsAre(3 * ((1ull << 53) + 1), ~0ull - 2, 21, 1ull << 63));
  // Signs depend on the type.
  EXPECT_THAT(whole_out("in[i] < 0 ? 1 : 2", ScalarType::int64).elements, ElementsAre(2, 1, 2, 1));
  EXPECT_THAT(whole_out("in[i] < 0 ? 1 : 2", ScalarType::uint64).elements, ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(whole_out("floor(in[i] / 2)", ScalarType::int64).bits,
              ElementsAre(1ull << 52, ~0ull, 3, 3ull << 62));
  EXPECT_THAT(whole_out("in[i] % 4 + (in[i] == 9007199254740993)", ScalarType::uint64).elements,
              ElementsAre(2, 3, 3, 0));
  EXPECT_THAT(whole_out("max(k < 2, k == 0 ? in[i] : -in[i])", ScalarType::int64).bits,
              ElementsAre((1ull << 53) + 1, 1, 7, 1ull << 63));
}

TEST(Definition, GivesIntegersInRowsAsOneByOne) {
  HostArray in = {.shape = {150}, .elements = {}, .type = ScalarType::int64};
  for (std::uint64_t i = 0; i < 150; ++i) {
    in.bits.push_back(i % 3 == 0 ? ~i : i << (i % 60));
    in.elements.push_back(static_cast<double>(static_cast<std::int64_t>(in.bits.back())));
  }
  for (const ScalarType type : {ScalarType::int64, ScalarType::uint8}) {
    const HostArray out = {.shape = {150}, .elements = {}, .type = type};
    for (const std::string value :
         {"in[i] % 7", "in[i] // 5 - i", "in[i] * in[149 - i] % 2147483647", "abs(in[i]) % 3",
          "max(in[i], -4) // 3", "N == 4 ? in[i] % 10 : in[i] / 0",
          "(i * 40000000 + 3) // 65537 % 1000", "(4294967295 - i) // 4294967295",
          "(4294967295 - i) % 3", "(4294967296 - i) % 4294967291", "i // 1 + i % 1"}) {
      const HostArray rows = evaluate("out[i] = " + value, {{"in", in}, {"out", out}});
      const HostArray single =
          evaluate("out[i] = i < 0 ? 0 : " + value, {{"in", in}, {"out", out}});
      EXPECT_EQ(rows.bits, single.bits) << value;
      EXPECT_EQ(rows.elements, single.elements) << value;
      EXPECT_EQ(150, rows.bits.size()) << value;
    }
  }
}

TEST(Definition, EvaluatesALoopOnceWhereTheLoopAroundItChangesNothing) {
  constexpr std::int64_t kLength = 2000;
  std::vector<double> elements;
  for (std::int64_t i = 0; i < kLength; ++i) elements.push_back(static_cast<double>(i * 37 % 1999));
  const Arrays arrays = {{"out", vector_of({0, 0})}, {"in", vector_of(elements)}};
  const std::string largest = "max(k < 2000, in[k] - i)";
  const Definition first =
      compile("out[i] = min(j < 2000, in[j] - i == " + largest + " ? j : 2000)");
  const auto at = std::ranges::max_element(elements) - elements.begin();
  EXPECT_THAT(first.evaluate(arrays, {}, 25'000).elements, ElementsAre(at, at));
  EXPECT_THAT(first.evaluate_some(arrays, {}, {.whole = 25'000}, 1).values, ElementsAre(at, at));
  // A loop that depends on the outer loop's index is evaluated in each turn.
  const std::string partial = "sum(j < 4, in[j] * sum(k < j, in[k]) + max(k < 3, in[k]))";
  EXPECT_THAT(evaluate("out[i] = " + partial, arrays).elements,
              ElementsAre(37 * 0 + 74 * 37 + 111 * 111 + 4 * 74, 74 * 37 + 111 * 111 + 4 * 74));
}

TEST(Definition, LeavesOutWhatAConstantRulesOut) {
  const Arrays arrays = {{"out", vector_of({0, 0})}, {"in", vector_of({2, 3})}};
  EXPECT_THAT(evaluate("out[i] = K == 3 ? in[i] : in[i + 2]", arrays).elements, ElementsAre(2, 3));
  EXPECT_THAT(
      evaluate("out[i] = K < 3 ? in[i + 2] : T == float ? 2 * in[i] : in[9]", arrays).elements,
      ElementsAre(4, 6));
}

TEST(Definition, GivesNarrowIntegersModuloTheirRange) {
  const HostArray in = {.shape = {4}, .elements = {250, 1, 2, 3}, .type = ScalarType::uint8};
  const HostArray out = {.shape = {4}, .elements = {}, .type = ScalarType::uint8};
  const HostArray made = evaluate("out[i] = in[i] + 10", {{"in", in}, {"out", out}});
  EXPECT_THAT(made.elements, ElementsAre(4, 11, 12, 13));
  EXPECT_THAT(made.bits, ElementsAre(4, 11, 12, 13));
}

TEST(Definition, IsInDoublePrecisionWhereFractionsTakePart) {
  EXPECT_TRUE(whole_out("in[i] / 2", ScalarType::uint64).bits.empty());
  EXPECT_TRUE(whole_out("in[i] * alpha", ScalarType::uint64).bits.empty());
  EXPECT_TRUE(whole_out("in[i] * 1.0", ScalarType::uint64).bits.empty());
  EXPECT_TRUE(whole_out("in[i] + 1", ScalarType::float64).bits.empty());
  // A value that is only selected by fractions is still whole.
  EXPECT_THAT(whole_out("alpha < 0.75 ? in[i] : 0", ScalarType::uint64).bits,
              ElementsAre((1ull << 53) + 1, ~0ull, 7, 1ull << 63));
}

TEST(Definition, RefusesToDivideAWholeNumberByZero) {
  const HostArray out = {.shape = {4}, .elements = {}, .type = ScalarType::int32};
  EXPECT_THAT(message_of("out[i] = floor(1 / i)", {{"out", out}}), HasSubstr("divided by 0"));
}

// The array as a device has it.
HostArray encoded(const HostArray& array, ScalarType type) {
  return {
      .shape = array.shape, .elements = {}, .type = type, .bytes = encode(array.elements, type)};
}

TEST(Definition, ReadsArraysAsADeviceHasThem) {
  const HostArray numbers = vector_of({1, -2, 4, 8, 0.5, 3, -7, 16});
  for (const std::string text :
       {"sum(k < K, in[i + k])", "sum(k < K, in[7 - 2 * k - i])", "max(k < K, in[k * k])",
        "sum(k < K, in[(i + k) % 4] * alpha)", "in[3]", "sum(k < 4, in[2 * k] * in[7 - k])"}) {
    const Definition definition = compile("out[i] = " + text);
    const Arrays doubles = {{"in", numbers}, {"out", {.shape = {2}, .elements = {}}}};
    const HostArray expected = definition.evaluate(doubles, {{"alpha", 0.5}});
    for (const ScalarType type : {ScalarType::float64, ScalarType::float32, ScalarType::float16}) {
      Arrays arrays = doubles;
      arrays["in"] = encoded(numbers, type);
      EXPECT_EQ(definition.evaluate(arrays, {{"alpha", 0.5}}).elements, expected.elements) << text;
      EXPECT_EQ(arrays["in"].in_numbers().elements, numbers.elements);
    }
  }
}

TEST(Definition, ReadsWideIntegersExactlyAsADeviceHasThem) {
  const std::uint64_t large = (std::uint64_t{1} << 62) + 1;
  const HostArray in = {
      .shape = {2},
      .elements = {},
      .type = ScalarType::uint64,
      .bytes = encode_bits(2, ScalarType::uint64,
                           each<std::uint64_t>([&](std::uint64_t i) { return large + i; }))};
  const Arrays arrays = {{"in", in},
                         {"out", {.shape = {1}, .elements = {}, .type = ScalarType::uint64}}};
  EXPECT_THAT(compile("out[i] = sum(k < 2, in[k])").evaluate(arrays, {{"alpha", 0}}).bits,
              ElementsAre(2 * large + 1));
  EXPECT_THAT(in.in_numbers().bits, ElementsAre(large, large + 1));
}

TEST(Definition, SumsALongRowAlikeOnAnyNumberOfThreads) {
  std::vector<double> elements(1'000'003);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = 1 / static_cast<double>(3 * i + 1) - 0.25;
  }
  elements[777'777] = -1e9;
  const HostArray in = vector_of(elements);
  const Arrays arrays = {{"in", in}, {"out", {.shape = {1}, .elements = {}}}};
  for (const char* text : {"sum(k < 1000003, in[k])", "min(k < 1000003, in[1000002 - k])",
                           "sum(k < 1000003, in[k] < 0)"}) {
    const Definition definition = compile("out[i] = " + std::string(text));
    const DefinitionEffort alone = {.threads = 1};
    const DefinitionEffort many = {.threads = 5};
    const DefinedElements expected = definition.evaluate_some(arrays, {{"alpha", 0}}, alone, 1);
    const DefinedElements found = definition.evaluate_some(arrays, {{"alpha", 0}}, many, 1);
    ASSERT_THAT(found.at, ElementsAre());
    EXPECT_EQ(found.values, expected.values) << text;
    EXPECT_EQ(found.operations, expected.operations) << text;
    EXPECT_EQ(definition.evaluate(arrays, {{"alpha", 0}}).elements, expected.values) << text;
  }
  EXPECT_EQ(compile("out[i] = min(k < 1000003, in[k])")
                .evaluate(arrays, {{"alpha", 0}}, 10'000'000, 4)
                .elements,
            std::vector<double>{-1e9});
}

TEST(Definition, SaysWhereALongRowEndsOnAnyNumberOfThreads) {
  const Arrays arrays = {{"in", vector_of(std::vector<double>(600'000))},
                         {"out", {.shape = {1}, .elements = {}}}};
  const Definition definition = compile("out[i] = sum(k < 700000, in[k])");
  EXPECT_THROW(definition.evaluate(arrays, {{"alpha", 0}}, 10'000'000, 4), ExpressionError);
  EXPECT_THROW(definition.evaluate(arrays, {{"alpha", 0}}, 1000, 4), TooManyOperations);
}

}  // namespace
}  // namespace smemtune
