#include "tuner/core/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Returns a scope in which THREADS = 256 and ITEMS = 4 lie in slots and RADIUS = 3 is a constant; T
// is a word in a slot, U a constant word.
Scope example_scope() {
  Scope scope;
  scope.add_variable("THREADS", 0);
  scope.add_variable("ITEMS", 1);
  scope.add_variable("T", 2, Scope::Kind::word);
  scope.add_constant("RADIUS", std::int64_t{3});
  scope.add_constant("U", std::string("float"));
  return scope;
}

std::int64_t evaluate(std::string_view text) {
  const std::array<std::int64_t, 3> slots = {256, 4, to_slot(std::string("double"))};
  return Expression::compile(text, example_scope()).evaluate(slots);
}

std::string message_of(std::string_view text) {
  try {
    return "no error but " + std::to_string(evaluate(text));
  } catch (const ExpressionError& error) {
    return error.what();
  }
}

TEST(Expression, ReadsPythonAsPythonDoes) {
  EXPECT_EQ(1, evaluate("python(32 <= THREADS * ITEMS <= 1024)"));
  EXPECT_EQ(0, evaluate("python(32 <= THREADS * ITEMS < 1024)"));
  EXPECT_EQ(1, evaluate("python(3 > 2 > 1)")) << "which is (3 > 2) > 1 in C++";
  EXPECT_EQ(1, evaluate("python(1 < 2 == 2 < 3 != 4)"));
  EXPECT_EQ(1, evaluate("python(7 / 2 == 3.5)"));
  EXPECT_EQ(0, evaluate("python(7 / 2 == 3)"));
  EXPECT_EQ(1, evaluate("python(ITEMS % (THREADS / 128) == 0)"));
  EXPECT_EQ(1, evaluate("python(32 % (64 / 24) != 0)")) << "64 / 24 is rounded";
  EXPECT_EQ(2, evaluate("python(-7 % 3)"));
  EXPECT_EQ(-2, evaluate("python(7 % -3)"));
  EXPECT_EQ(1, evaluate("python(-7.5 % 2 == 0.5)"));
  EXPECT_EQ(1, evaluate("python(7.5 // -2 == -4)"));
  EXPECT_EQ(3, evaluate("python(int(7 / 2))"));
  EXPECT_EQ(-3, evaluate("python(int(-7 / 2))"));
  EXPECT_EQ(1, evaluate("python(4 ** 0.5 == 2 and 2 ** 3 ** 2 == 512)"));
  EXPECT_EQ(1, evaluate("python(6 & 3 == 2)")) << "which is 6 & (3 == 2) in C++";
  EXPECT_EQ(1, evaluate("python(ITEMS in [1, 2, 4] and ITEMS not in (8, 16))"));
  EXPECT_EQ(0, evaluate("python(ITEMS in [])"));
  EXPECT_EQ(1, evaluate("python(U in ['int', 'float'])"));
  EXPECT_EQ(1, evaluate("python(not ITEMS == 3 or 1 / 0 > 1)"));
  EXPECT_EQ(5, evaluate("python(5 if ITEMS > 2 else 6)"));
  EXPECT_EQ(1, evaluate("python((1.5 if ITEMS > 2 else 6) == 1.5)"));
  EXPECT_EQ(1, evaluate("python(max(ITEMS / 8, 0.25) == 0.5 and abs(-0.5) == 0.5)"));
  EXPECT_EQ(2, evaluate("7 / 3 + python(0 < 1 < 2) - 1")) << "outside of it all is as before";
}

TEST(Expression, ComputesInDoublePrecisionWhereThatIsAskedFor) {
  const auto real = [](std::string_view text) {
    const std::array<std::int64_t, 3> slots = {256, 4, to_slot(std::string("double"))};
    return Expression::compile_real(text, example_scope()).evaluate_real(slots);
  };
  EXPECT_EQ(256.0, real("THREADS"));
  EXPECT_EQ(0.25, real("1 / ITEMS"));
  EXPECT_EQ(0.0625, real("1.0 / sqrt(THREADS)"));
  EXPECT_EQ(2.5, real("ITEMS > 2 ? 2.5 : 1"));
  EXPECT_EQ(1.0, real("ITEMS > 8 ? 2.5 : 1"));
  EXPECT_EQ(0.5, real("select(ITEMS > 2, 1 / 2, 7)"));
  EXPECT_EQ(-2.0, real("-floor(2.5)"));
  EXPECT_EQ(1.0, real("exp(log(1)) + sin(0) * cos(0)"));
  EXPECT_EQ(1.5, real("5.5 % 2"));
  EXPECT_EQ(3.0, real("7 // 2 + ITEMS % 2"));
  EXPECT_THROW(real("1 / (ITEMS - 4)"), ExpressionError);
  EXPECT_THROW(real("sqrt(-ITEMS)"), ExpressionError);
  EXPECT_THROW(real("1.5 << 2"), ExpressionError);
  EXPECT_THROW(real("U"), ExpressionError) << "a word";
}

TEST(Expression, SaysWhatPythonCannotBeReadAs) {
  EXPECT_THAT(message_of("python(7 / 2)"), HasSubstr("gives a fraction"));
  EXPECT_THAT(message_of("python(7 / 0 == 1)"), HasSubstr("division by zero: 7 / 0"));
  EXPECT_THAT(message_of("python(1.5 << 2 == 1)"), HasSubstr("a fraction where"));
  EXPECT_THAT(message_of("python(log2(1.5) == 1)"), HasSubstr("a fraction where"));
  EXPECT_THAT(message_of("python(1.5 == 'float')"), HasSubstr("a word where"));
  EXPECT_THAT(message_of("python(ITEMS not 4)"), HasSubstr("expected 'in'"));
  EXPECT_THAT(message_of("python(1 in 2)"), HasSubstr("expected a list"));
  EXPECT_THAT(message_of("python(1 if 2)"), HasSubstr("expected 'else'"));
  std::string nested = "1";
  for (int i = 0; i < 40; ++i) nested = "(0 < " + nested + " < ITEMS)";
  EXPECT_THAT(message_of("python(" + nested + ")"), HasSubstr("names and operators"));
}

TEST(Expression, GivesEveryOperatorItsMeaning) {
  EXPECT_EQ(7, evaluate("3 + 4"));
  EXPECT_EQ(-1, evaluate("3 - 4"));
  EXPECT_EQ(12, evaluate("3 * 4"));
  EXPECT_EQ(-3, evaluate("-7 / 2"));
  EXPECT_EQ(-1, evaluate("-7 % 2"));
  EXPECT_EQ(-4, evaluate("-7 // 2"));
  EXPECT_EQ(-4, evaluate("7 // -2"));
  EXPECT_EQ(3, evaluate("-7 // -2"));
  EXPECT_EQ(81, evaluate("3 ** 4"));
  EXPECT_EQ(1, evaluate("0 ** 0"));
  EXPECT_EQ(-1, evaluate("(-1) ** 9223372036854775807"));
  EXPECT_EQ(40, evaluate("5 << 3"));
  EXPECT_EQ(-40, evaluate("-5 << 3"));
  EXPECT_EQ(-2, evaluate("-5 >> 2"));
  EXPECT_EQ(4, evaluate("6 & 12"));
  EXPECT_EQ(14, evaluate("6 | 12"));
  EXPECT_EQ(10, evaluate("6 ^ 12"));
  EXPECT_EQ(-7, evaluate("~6"));
  EXPECT_EQ(6, evaluate("+6"));
  EXPECT_EQ(1, evaluate("3 < 4"));
  EXPECT_EQ(0, evaluate("4 < 4"));
  EXPECT_EQ(1, evaluate("4 <= 4"));
  EXPECT_EQ(0, evaluate("4 > 4"));
  EXPECT_EQ(1, evaluate("4 >= 4"));
  EXPECT_EQ(1, evaluate("4 == 4"));
  EXPECT_EQ(0, evaluate("4 != 4"));
  EXPECT_EQ(1, evaluate("7 && -2"));
  EXPECT_EQ(0, evaluate("7 and 0"));
  EXPECT_EQ(1, evaluate("0 || 9"));
  EXPECT_EQ(0, evaluate("0 or 0"));
  EXPECT_EQ(0, evaluate("!5"));
  EXPECT_EQ(1, evaluate("not 0"));
  EXPECT_EQ(5, evaluate("ITEMS ? 5 : 6"));
  EXPECT_EQ(6, evaluate("ITEMS - 4 ? 5 : 6"));
  EXPECT_EQ(255, evaluate("0xfF"));
  EXPECT_EQ(1, evaluate("True and !false"));
}

TEST(Expression, GivesEveryFunctionItsMeaning) {
  EXPECT_EQ(-2, evaluate("min(3, -2, ITEMS)"));
  EXPECT_EQ(4, evaluate("max(3, -2, ITEMS)"));
  EXPECT_EQ(9, evaluate("max(9)"));
  EXPECT_EQ(9, evaluate("abs(-9)"));
  EXPECT_EQ(4, evaluate("ceil_div(10, 3)"));
  EXPECT_EQ(-3, evaluate("ceil_div(-10, 3)"));
  EXPECT_EQ(4, evaluate("ceil_div(-10, -3)"));
  EXPECT_EQ(3, evaluate("ceil_div(9, 3)"));
  EXPECT_EQ(12, evaluate("round_up(10, 4)"));
  EXPECT_EQ(12, evaluate("round_up(12, 4)"));
  EXPECT_EQ(-8, evaluate("round_up(-10, 4)"));
  EXPECT_EQ(std::int64_t{1} << 62, evaluate("pow2(62)"));
  EXPECT_EQ(1, evaluate("is_pow2(THREADS)"));
  EXPECT_EQ(0, evaluate("is_pow2(0)"));
  EXPECT_EQ(0, evaluate("is_pow2(-4)"));
  EXPECT_EQ(0, evaluate("is_pow2(6)"));
  EXPECT_EQ(8, evaluate("log2(THREADS + 255)"));
  EXPECT_EQ(6, evaluate("gcd(-12, 18)"));
  EXPECT_EQ(0, evaluate("gcd(0, 0)"));
  EXPECT_EQ(8, evaluate("select(ITEMS == 4, 8, 1 / (ITEMS - 4))"));
}

TEST(Expression, BindsAsCppDoesWherePythonAgrees) {
  EXPECT_EQ(14, evaluate("2 + 3 * 4"));
  EXPECT_EQ(2, evaluate("8 - 4 - 2"));
  EXPECT_EQ(1, evaluate("8 / 4 / 2"));
  EXPECT_EQ(24, evaluate("1 + 2 << 3"));
  EXPECT_EQ(7, evaluate("1 | 2 ^ 4 & 12 | 2"));
  EXPECT_EQ(1, evaluate("1 || 0 && 0"));
  EXPECT_EQ(1, evaluate("2 + 3 == 5 and 4 < 1 << 3"));
  EXPECT_EQ(3, evaluate("0 ? 2 : 1 ? 3 : 4"));
  EXPECT_EQ(512, evaluate("2 ** 3 ** 2"));
  EXPECT_EQ(-4, evaluate("-2 ** 2"));
  EXPECT_EQ(18, evaluate("2 * 3 ** 2"));
  EXPECT_EQ(1, evaluate("not 1 == 2"));
  EXPECT_EQ(0, evaluate("!1 == 2"));
  EXPECT_EQ(1, evaluate("not 0 and not 0"));
  EXPECT_EQ(-5, evaluate("-ITEMS - 1"));
}

TEST(Expression, ComparesWordsWithTypesAndWords) {
  EXPECT_EQ(1, evaluate("T == double"));
  EXPECT_EQ(0, evaluate("T == float"));
  EXPECT_EQ(1, evaluate("T != U"));
  EXPECT_EQ(1, evaluate("U == 'float'"));
  EXPECT_EQ(0, evaluate("\"unsigned char\" != unsigned char"));
  EXPECT_THAT(message_of("T == 3"), HasSubstr("column 6: a word is compared with a number"));
  EXPECT_THAT(message_of("T < U"), HasSubstr("column 1: a word where a number is needed"));
  EXPECT_THAT(message_of("T"), HasSubstr("column 1: a word where a number is needed"));
}

TEST(Expression, KnowsTheSizesOfTypes) {
  EXPECT_EQ(8, evaluate("sizeof(T)"));
  EXPECT_EQ(4, evaluate("sizeof(U)"));
  EXPECT_EQ(1, evaluate("sizeof(unsigned char)"));
  EXPECT_EQ(8, evaluate("sizeof( unsigned  long long )"));
  EXPECT_EQ(2, evaluate("sizeof(__half)"));
  EXPECT_EQ(1, evaluate("sizeof(__nv_fp8_e4m3)"));
  EXPECT_EQ(16, evaluate("sizeof(float4)"));
  EXPECT_EQ(16, evaluate("sizeof(double2)"));
  EXPECT_EQ(std::nullopt, type_size("float5"));
  EXPECT_EQ(std::nullopt, type_size("4"));
  EXPECT_EQ(std::nullopt, type_size(""));
  EXPECT_THAT(message_of("sizeof(ITEMS)"), HasSubstr("column 8: sizeof takes a type"));
  EXPECT_THAT(message_of("sizeof('row')"), HasSubstr("not a type of known size"));
  Scope scope;
  scope.add_variable("L", 0, Scope::Kind::word);
  const std::array<std::int64_t, 1> slots = {to_slot(std::string("row"))};
  EXPECT_THROW(Expression::compile("sizeof(L)", scope).evaluate(slots), ExpressionError);
}

TEST(Expression, RefusesOverflowAndWhatHasNoValue) {
  EXPECT_EQ(kMax, evaluate("9223372036854775807"));
  EXPECT_EQ(kMin, evaluate("-9223372036854775808"));
  EXPECT_EQ(
      "'9223372036854775808' column 1: '9223372036854775808' is out of the range of 64-bit "
      "integers",
      message_of("9223372036854775808"));
  EXPECT_EQ("'1 + 9223372036854775807' column 3: overflow: 1 + 9223372036854775807",
            message_of("1 + 9223372036854775807"));
  for (const char* text :
       {"-9223372036854775808 - 1", "9223372036854775807 * 2", "-(-9223372036854775808)",
        "-9223372036854775808 / -1", "-9223372036854775808 % -1", "-9223372036854775808 // -1",
        "ceil_div(-9223372036854775808, -1)", "abs(-9223372036854775808)", "10 ** 19", "pow2(63)",
        "round_up(9223372036854775807, 2)", "gcd(-9223372036854775808, 0)", "2 << 62",
        "-9223372036854775807 << 1"}) {
    EXPECT_THAT(message_of(text), HasSubstr("overflow: ")) << text;
  }
  for (const char* text : {"1 / 0", "1 % 0", "1 // 0", "ceil_div(1, 0)"}) {
    EXPECT_THAT(message_of(text), HasSubstr("division by zero: ")) << text;
  }
  for (const char* text : {"1 << 63", "1 << -1", "1 >> 63", "1 >> -1"}) {
    EXPECT_THAT(message_of(text), HasSubstr("the shift is not within 0 .. 62: ")) << text;
  }
  EXPECT_THAT(message_of("2 ** -1"), HasSubstr("the exponent is negative: 2 ** -1"));
  EXPECT_THAT(message_of("pow2(-1)"), HasSubstr("the exponent is negative: pow2(-1)"));
  EXPECT_THAT(message_of("log2(0)"), HasSubstr("needs a positive number: log2(0)"));
  EXPECT_THAT(message_of("round_up(5, 0)"), HasSubstr("multiple of a positive number"));
  EXPECT_EQ("'8 / (ITEMS - 4)' column 3: division by zero: 8 / 0", message_of("8 / (ITEMS - 4)"));
}

TEST(Expression, EvaluatesNothingThatIsNotNeeded) {
  EXPECT_EQ(0, evaluate("ITEMS == 5 && 1 / (ITEMS - 4)"));
  EXPECT_EQ(1, evaluate("ITEMS == 4 || 1 / (ITEMS - 4)"));
  EXPECT_EQ(0, evaluate("ITEMS == 5 and 1 / 0"));
  EXPECT_EQ(7, evaluate("ITEMS == 4 ? 7 : 1 / 0"));
  EXPECT_EQ(7, evaluate("select(RADIUS == 4, 1 / 0, 7)"));
  EXPECT_EQ(1, evaluate("RADIUS == 3 or 1 / 0"));
}

TEST(Expression, TellsWhenCompiledWhatEveryEvaluationWouldMeet) {
  const Scope scope = example_scope();
  EXPECT_THROW(Expression::compile("ITEMS + 1 / (RADIUS - 3)", scope), ExpressionError);
  EXPECT_THROW(Expression::compile("RADIUS == 3 && 1 / 0", scope), ExpressionError);
  const Expression lazy = Expression::compile("ITEMS == 4 && 1 / 0", scope);
  EXPECT_THROW(lazy.evaluate(std::array<std::int64_t, 3>{256, 4, 0}), ExpressionError);
  EXPECT_EQ(0, lazy.evaluate(std::array<std::int64_t, 3>{256, 5, 0}));
}

TEST(Expression, ReadsOnlyTheVariablesThatFoldingLeft) {
  const Scope scope = example_scope();
  EXPECT_THAT(Expression::compile("ITEMS * 2 + THREADS + ITEMS", scope).variables(),
              ElementsAre(0, 1));
  EXPECT_THAT(Expression::compile("RADIUS == 3 ? ITEMS : THREADS", scope).variables(),
              ElementsAre(1));
  EXPECT_THAT(Expression::compile("RADIUS == 2 && THREADS", scope).variables(), IsEmpty());
  EXPECT_THAT(Expression::compile("T == U", scope).variables(), ElementsAre(2));
  EXPECT_EQ(Expression::compile("RADIUS * 2", scope).evaluate(), 6);
}

TEST(Expression, NamesTheNearestKnownName) {
  EXPECT_EQ("'THREADS * ITEM' column 11: unknown name 'ITEM'; did you mean 'ITEMS'?",
            message_of("THREADS * ITEM"));
  EXPECT_EQ("'threads' column 1: unknown name 'threads'; did you mean 'THREADS'?",
            message_of("threads"));
  EXPECT_EQ("'WARPS' column 1: unknown name 'WARPS'", message_of("WARPS"));
  EXPECT_EQ("'1 + minn(2)' column 5: unknown function 'minn'; did you mean 'min'?",
            message_of("1 + minn(2)"));
}

TEST(Expression, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ("'' column 1: expected a number or a name at the end", message_of(""));
  EXPECT_EQ("'1 +' column 4: expected a number or a name at the end", message_of("1 +"));
  EXPECT_EQ("'(1' column 3: expected ')' at the end", message_of("(1"));
  EXPECT_EQ("'1)' column 2: expected an operator before ')'", message_of("1)"));
  EXPECT_EQ("'1 2' column 3: expected an operator before '2'", message_of("1 2"));
  EXPECT_EQ("'* 2' column 1: expected a number or a name before '*'", message_of("* 2"));
  EXPECT_EQ("'ITEMS = 4' column 7: '=' is not an operator; did you mean '=='?",
            message_of("ITEMS = 4"));
  EXPECT_EQ("'1 ? 2' column 6: expected ':' at the end", message_of("1 ? 2"));
  EXPECT_EQ("'4 @ 2' column 3: unexpected character '@'", message_of("4 @ 2"));
  EXPECT_EQ(
      "'010' column 1: '010' has a leading zero, which means octal to some and decimal to "
      "others",
      message_of("010"));
  EXPECT_EQ("'1.5' column 1: '1.5' is not an integer", message_of("1.5"));
  EXPECT_EQ("'12abc' column 1: '12abc' is not a number", message_of("12abc"));
  EXPECT_EQ("'0x' column 1: '0x' is not a number", message_of("0x"));
  EXPECT_EQ("''row' column 1: the quote is never closed", message_of("'row"));
  EXPECT_EQ("'gcd(1)' column 1: gcd takes 2 operands, not 1", message_of("gcd(1)"));
  EXPECT_EQ("'min()' column 1: min takes one or more operands, not 0", message_of("min()"));
  EXPECT_EQ("'ITEMS(1)' column 1: 'ITEMS' is not a function", message_of("ITEMS(1)"));
  EXPECT_THAT(message_of("1\n+\t;"), Not(HasSubstr("\n")));
}

TEST(Expression, AsksForParenthesesWhereCppAndPythonDisagree) {
  EXPECT_THAT(message_of("1 < 2 < 3"), HasSubstr("column 7: comparisons in a row"));
  EXPECT_THAT(message_of("1 == 2 < 3"), HasSubstr("comparisons in a row"));
  EXPECT_THAT(message_of("1 & 2 == 2"), HasSubstr("'&' beside a comparison"));
  EXPECT_THAT(message_of("1 == 2 | 4"), HasSubstr("'|' beside a comparison"));
  EXPECT_THAT(message_of("1 + not 2"), HasSubstr("column 5: 'not' after an operator"));
  EXPECT_EQ(1, evaluate("(1 < 2) < 3"));
  EXPECT_EQ(1, evaluate("(3 & 2) == 2"));
  EXPECT_EQ(1, evaluate("min(1 < 2) < 3"));
}

TEST(Expression, KeepsItsLimits) {
  const auto repeated = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  EXPECT_EQ(1, evaluate(repeated("(", 64) + "1" + repeated(")", 64)));
  EXPECT_THAT(message_of(repeated("(", 65) + "1" + repeated(")", 65)),
              HasSubstr("nested more than 64 levels deep"));
  EXPECT_THAT(message_of(repeated("-", 65) + "1"), HasSubstr("nested more than 64 levels deep"));
  EXPECT_THAT(message_of(repeated("2 ** ", 65) + "1"), HasSubstr("more than 64 levels"));
  EXPECT_THAT(message_of(repeated("1 ? 1 : ", 65) + "1"), HasSubstr("more than 64 levels"));
  EXPECT_EQ(500, evaluate("1" + repeated(" + 1", 499)));
  EXPECT_THAT(message_of("1" + repeated(" + 1", 500)), HasSubstr("more than 1000 names"));
  EXPECT_EQ(4, evaluate("4" + repeated(" ", 4095)));
  EXPECT_THAT(message_of("4" + repeated(" ", 4096)),
              HasSubstr("the text has 4097 characters, at most 4096 are allowed"));
  EXPECT_LT(message_of("4" + repeated(" ", 4096)).size(), 300u);
}

TEST(Expression, UsesTheWholeStackOfTheDeepestText) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "(ITEMS - ";
  text += "ITEMS";
  for (int i = 0; i < 60; ++i) text += ")";
  EXPECT_EQ(4, evaluate(text));
  text = "1 || 1 && 1 | 1 ^ 1 & (1 == ITEMS << 1 + 1 * ITEMS)";
  EXPECT_EQ(1, evaluate(text));
}

TEST(Scope, RefusesANameThatMeansTwoThings) {
  Scope scope = example_scope();
  EXPECT_THROW(scope.add_constant("ITEMS", std::int64_t{1}), InputError);
  EXPECT_THROW(scope.add_variable("RADIUS", 7), InputError);
  EXPECT_TRUE(scope.contains("U"));
  EXPECT_FALSE(scope.contains("V"));
}

TEST(Scope, HidesTypesAndFunctions) {
  Scope scope;
  scope.add_constant("min", std::int64_t{5});
  scope.add_constant("half", std::int64_t{7});
  EXPECT_EQ(5, Expression::compile("min(min, half)", scope).evaluate());
}

TEST(Slots, TellWordsApartAndKeepTheirSizes) {
  EXPECT_EQ(-5, to_slot(std::int64_t{-5}));
  EXPECT_EQ(to_slot(std::string("row")), to_slot(std::string("row")));
  EXPECT_NE(to_slot(std::string("row")), to_slot(std::string("col")));
  EXPECT_EQ(4, to_slot(std::string("float")) & 0xFF);
  EXPECT_EQ(0, to_slot(std::string("row")) & 0xFF);
}

// The reference implementation: a tree that is evaluated in 128 bits, with an independent
// implementation of every operation.

__extension__ using Wide = __int128;

struct Tree {
  std::string operation;  // Empty for a leaf.
  std::string leaf;
  std::int64_t value = 0;
  std::vector<std::unique_ptr<Tree>> children;
};

using Result = std::optional<std::int64_t>;

Result in_range(Wide x) {
  if (x < kMin || x > kMax) return std::nullopt;
  return static_cast<std::int64_t>(x);
}

Wide rounded_down(Wide a, Wide b) {
  Wide quotient = a / b;
  if (quotient * b != a && ((a < 0) != (b < 0))) --quotient;
  return quotient;
}

Result reference(const Tree& tree) {
  if (tree.operation.empty()) return tree.value;
  const std::string& o = tree.operation;
  const Result first = reference(*tree.children[0]);
  if (!first) return std::nullopt;
  const Wide a = *first;
  if (o == "-" && tree.children.size() == 1) return in_range(-a);
  if (o == "~") return in_range(-a - 1);
  if (o == "!") return a == 0;
  if (o == "abs") return in_range(a < 0 ? -a : a);
  if (o == "is_pow2") {
    for (int bit = 0; bit < 63; ++bit) {
      if (a == Wide{1} << bit) return 1;
    }
    return 0;
  }
  if (o == "pow2") return a < 0 || a > 62 ? Result() : in_range(Wide{1} << static_cast<int>(a));
  if (o == "log2") {
    if (a <= 0) return std::nullopt;
    std::int64_t log = 0;
    while ((Wide{2} << log) <= a) ++log;
    return log;
  }
  if (o == "?") return reference(*tree.children[a != 0 ? 1 : 2]);
  if (o == "&&" && a == 0) return 0;
  if (o == "||" && a != 0) return 1;
  const Result second = reference(*tree.children[1]);
  if (!second) return std::nullopt;
  const Wide b = *second;
  if (o == "&&" || o == "||") return b != 0;
  if (o == "+") return in_range(a + b);
  if (o == "-") return in_range(a - b);
  if (o == "*") return in_range(a * b);
  if (o == "<") return a < b;
  if (o == "<=") return a <= b;
  if (o == ">") return a > b;
  if (o == ">=") return a >= b;
  if (o == "==") return a == b;
  if (o == "!=") return a != b;
  if (o == "&") return *first & *second;
  if (o == "|") return *first | *second;
  if (o == "^") return *first ^ *second;
  if (o == "min") return in_range(a < b ? a : b);
  if (o == "max") return in_range(a < b ? b : a);
  if (o == "<<") return b < 0 || b > 62 ? Result() : in_range(a * (Wide{1} << static_cast<int>(b)));
  if (o == ">>") {
    return b < 0 || b > 62 ? Result() : in_range(rounded_down(a, Wide{1} << static_cast<int>(b)));
  }
  if (o == "**") {
    if (b < 0) return std::nullopt;
    if (b == 0 || a == 1) return 1;
    if (a == 0) return 0;
    if (a == -1) return b % 2 == 0 ? 1 : -1;
    Wide result = 1;
    for (Wide i = 0; i < b; ++i) {
      result *= a;
      if (!in_range(result)) return std::nullopt;
    }
    return in_range(result);
  }
  if (o == "gcd") {
    Wide x = a < 0 ? -a : a;
    Wide y = b < 0 ? -b : b;
    while (y != 0) x = std::exchange(y, x % y);
    return in_range(x);
  }
  if (o == "round_up") return b <= 0 ? Result() : in_range(-rounded_down(-a, b) * b);
  if (b == 0 || (a == kMin && b == -1)) return std::nullopt;
  if (o == "/") return in_range(a / b);
  if (o == "%") return in_range(a % b);
  if (o == "//") return in_range(rounded_down(a, b));
  EXPECT_EQ("ceil_div", o);
  return in_range(-rounded_down(-a, b));
}

const std::vector<std::string> kUnary = {"-", "~", "!", "abs", "is_pow2", "pow2", "log2"};
const std::vector<std::string> kBinary = {
    "+",  "-",  "*",  "/",  "%", "//", "**", "<<",  ">>",  "<",   "<=",       ">",       ">=",
    "==", "!=", "&&", "||", "&", "|",  "^",  "min", "max", "gcd", "round_up", "ceil_div"};

int level(const Tree& tree) {
  const std::string& o = tree.operation;
  if (o.empty()) return tree.value < 0 && tree.leaf[0] == '-' ? 12 : 14;
  if (o == "?") return 1;
  if (o == "||") return 2;
  if (o == "&&") return 3;
  if (o == "|") return 5;
  if (o == "^") return 6;
  if (o == "&") return 7;
  if (o == "==" || o == "!=" || o == "<" || o == "<=" || o == ">" || o == ">=") return 8;
  if (o == "<<" || o == ">>") return 9;
  if (tree.children.size() == 2 && (o == "+" || o == "-")) return 10;
  if (o == "*" || o == "/" || o == "%" || o == "//") return 11;
  if (o == "-" || o == "~" || o == "!") return 12;
  if (o == "**") return 13;
  return 14;  // A function.
}

class RandomTrees {
 public:
  explicit RandomTrees(unsigned seed) : random_(seed) {}

  std::array<std::int64_t, 4> slots{};

  // Chooses new values for the four variables, of which the last two are constants to the
  // expression.
  Scope scope() {
    Scope scope;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i] = number();
      if (i < 2) {
        scope.add_variable(names_[i], i);
      } else {
        scope.add_constant(names_[i], slots[i]);
      }
    }
    return scope;
  }

  std::unique_ptr<Tree> tree(int depth) {
    auto tree = std::make_unique<Tree>();
    if (depth == 0 || below(6) == 0) {
      if (below(2) == 0) {
        const std::size_t i = below(slots.size());
        tree->leaf = names_[i];
        tree->value = slots[i];
      } else {
        tree->value = number();
        tree->leaf = std::to_string(tree->value);
      }
      return tree;
    }
    const std::size_t kind = below(10);
    const std::size_t operands = kind == 0 ? 3 : kind < 3 ? 1 : 2;
    tree->operation = operands == 3   ? "?"
                      : operands == 1 ? kUnary[below(kUnary.size())]
                                      : kBinary[below(kBinary.size())];
    for (std::size_t i = 0; i < operands; ++i) tree->children.push_back(this->tree(depth - 1));
    return tree;
  }

  // Formats a tree with the parentheses that its meaning needs, and some superfluous ones.
  std::string text(const Tree& tree, int at_least = 0) {
    const int own = level(tree);
    const std::string bare = bare_text(tree, own);
    return own < at_least || below(8) == 0 ? "(" + bare + ")" : bare;
  }

  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }

 private:
  std::string bare_text(const Tree& tree, int own) {
    const std::string& o = tree.operation;
    if (o.empty()) return tree.leaf;
    const auto child = [&](std::size_t i, int at_least) {
      // A comparison under a comparison or a bitwise operator is refused without parentheses.
      const bool is_bare_comparison = level(*tree.children[i]) == 8 && own >= 5 && own <= 8;
      return text(*tree.children[i], is_bare_comparison ? 99 : at_least);
    };
    if (o == "?" && below(2) == 0) {
      return "select(" + child(0, 0) + ", " + child(1, 0) + ", " + child(2, 0) + ")";
    }
    if (o == "?") return child(0, 2) + " ? " + child(1, 1) + " : " + child(2, 1);
    if (own == 14) {
      std::string text = o + "(" + child(0, 0);
      if (tree.children.size() == 2) text += ", " + child(1, 0);
      return text + ")";
    }
    if (own == 12) return o + child(0, 12);
    if (o == "**") return child(0, 14) + " ** " + child(1, 12);
    const std::string left = child(0, own);
    const std::string spelled = o == "&&" && below(2) == 0   ? "and"
                                : o == "||" && below(2) == 0 ? "or"
                                                             : o;
    return left + (below(2) == 0 && spelled == o ? spelled : " " + spelled + " ") +
           child(1, own + 1);
  }

  std::int64_t number() {
    constexpr std::array<std::int64_t, 12> kSpecial = {
        0, 1, -1, 2, 3, 62, 63, kMin, kMax, kMin + 1, std::int64_t{1} << 32, -4};
    switch (below(3)) {
      case 0:
        return kSpecial[below(kSpecial.size())];
      case 1:
        return static_cast<std::int64_t>(below(100)) - 20;
      default:
        return static_cast<std::int64_t>(random_()) >> below(63);
    }
  }

  const std::array<std::string, 4> names_ = {"a", "bb", "C3", "d_"};
  std::mt19937_64 random_;
};

TEST(Expression, AgreesWithATreeEvaluatedIn128Bits) {
  RandomTrees random(20240607);
  int with_value = 0;
  for (int i = 0; i < 10000; ++i) {
    const Scope scope = random.scope();
    const std::unique_ptr<Tree> tree = random.tree(1 + i % 5);
    const std::string text = random.text(*tree);
    const Result expected = reference(*tree);
    Result actual;
    std::string error;
    try {
      actual = Expression::compile(text, scope).evaluate(random.slots);
    } catch (const ExpressionError& caught) {
      error = caught.what();
    }
    ASSERT_EQ(expected, actual) << text << "\n" << error;
    if (expected) {
      ++with_value;
    } else {
      // The fault must come from the evaluation, not from parsing the text.
      ASSERT_THAT(error, ::testing::ContainsRegex(": [^']*: [^']+$")) << text;
    }
  }
  EXPECT_GT(with_value, 2500);
  EXPECT_LT(with_value, 9500);
}

TEST(Expression, SurvivesTextsOfRandomTokens) {
  const std::vector<std::string> parts = {
      "a",  "bb", "1",   "0",   "(",  ")",  ",",      "+",         "-", "**", "not ", "and ",
      "?",  ":",  "min", "==",  "<",  "&",  "sizeof", "float",     "!", "[",  "'",    "//",
      "\"", "=",  "0x1", "1.5", "||", "<<", " ",      "unsigned ", "%", "\t", "\xFF", "select("};
  RandomTrees random(7);
  int valid = 0;
  for (int i = 0; i < 10000; ++i) {
    const Scope scope = random.scope();
    std::string text;
    for (std::size_t n = random.below(9); n > 0; --n) text += parts[random.below(parts.size())];
    try {
      Expression::compile(text, scope).evaluate(random.slots);
      ++valid;
    } catch (const ExpressionError& error) {
      ASSERT_THAT(error.what(), HasSubstr("' column ")) << text;
    }
  }
  EXPECT_GT(valid, 100);
}

TEST(Expression, KnowsWhereItGrowsByAConstant) {
  Scope scope;
  scope.add_variable("i", 0);
  scope.add_variable("k", 1);
  scope.add_constant("N", std::int64_t{7});
  const auto is_affine = [&](const char* text) {
    return Expression::compile(text, scope).is_affine_in(1);
  };
  for (const char* text : {"k", "i", "3", "i + k", "N - 1 - k", "2 * k + i * N", "i * k - k",
                           "-(k + 1) * i", "i / 2 + k", "min(i, N) * k"}) {
    EXPECT_TRUE(is_affine(text)) << text;
  }
  for (const char* text : {"k * k", "k / 2", "k % N", "min(k, i)", "i < k", "k ? i : N", "abs(k)",
                           "i ? k : 0", "(i + k) * k", "2 ** k", "k << 1", "i && k"}) {
    EXPECT_FALSE(is_affine(text)) << text;
  }
}

}  // namespace
}  // namespace smemtune
