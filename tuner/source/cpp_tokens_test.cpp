#include "tuner/source/cpp_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  for (const CppToken& token : cpp_tokens(text)) result.emplace_back(token.text);
  return result;
}

TEST(CppTokens, AreWithoutComments) {
  EXPECT_THAT(words("a // b\nc/* d\n*/e"), ElementsAre("a", "c", "e"));
  EXPECT_THAT(words("a // b \\\n c\nd"), ElementsAre("a", "d"));
  EXPECT_THAT(words("a /* never closed"), ElementsAre("a"));
  EXPECT_THAT(words("/*/ a */ b"), ElementsAre("b"));
  EXPECT_THAT(words(""), IsEmpty());
}

TEST(CppTokens, KeepStringsWhole) {
  EXPECT_THAT(words(R"(f("a // \" {", '"', u8"x"))"),
              ElementsAre("f", "(", R"("a // \" {")", ",", "'\"'", ",", "u8\"x\"", ")"));
  EXPECT_THAT(words("R\"x(a \" )\" } )x\" b"), ElementsAre("R\"x(a \" )\" } )x\"", "b"));
  EXPECT_THAT(words("\"open\nb"), ElementsAre("\"open", "b"));
  EXPECT_THAT(words("R\"(open"), ElementsAre("R\"(open"));
}

TEST(CppTokens, AreJoinedWithoutTheMarksInNumbers) {
  const std::string text = "f(1'000,  0xff'ff, '\\'', \"1'0\")";
  const CppTokens tokens = cpp_tokens(text);
  EXPECT_EQ(joined(tokens, {0, tokens.size()}), "f(1000, 0xffff, '\\'', \"1'0\")");
}

TEST(CppTokens, KnowNumbers) {
  EXPECT_THAT(words("1'000 1.5e-3f .5 0x1p-3 0xE+1 a1"),
              ElementsAre("1'000", "1.5e-3f", ".5", "0x1p-3", "0xE", "+", "1", "a1"));
}

TEST(CppTokens, MakeOneOfAPreprocessorLine) {
  const std::vector<CppToken> tokens = cpp_tokens("int a;\n  #define X \\\n  1 // one\nb # c");
  ASSERT_EQ(tokens.size(), 7u);
  EXPECT_EQ(tokens[3].kind, CppToken::Kind::directive);
  EXPECT_EQ(tokens[3].text, "#define X \\\n  1 // one");
  EXPECT_EQ(tokens[3].line, 2u);
  EXPECT_EQ(tokens[4].line, 4u);
  EXPECT_EQ(tokens[5].kind, CppToken::Kind::symbol);  // It is not at the beginning of its line.
  EXPECT_THAT(words("#define A /* x\n y */ 2\nb"), ElementsAre("#define A /* x\n y */ 2", "b"));
}

TEST(CppTokens, LeaveAngleBracketsSingle) {
  EXPECT_THAT(words("a<b<c>>=d"), ElementsAre("a", "<", "b", "<", "c", ">", ">=", "d"));
  EXPECT_THAT(words("k<<<1,2>>>()"),
              ElementsAre("k", "<", "<", "<", "1", ",", "2", ">", ">", ">", "(", ")"));
}

TEST(Closing, FindsTheOtherBracket) {
  const auto close = [](std::string_view text, std::size_t open) {
    return closing(cpp_tokens(text), open);
  };
  EXPECT_EQ(close("( [ { } ] )", 0), 5u);
  EXPECT_EQ(close("< a , ( b > c ) >", 0), 8u);
  EXPECT_EQ(close("< < a > >", 0), 4u);
  EXPECT_EQ(close("( a", 0), 2u);
  EXPECT_EQ(close("a < b ; c > d", 1), 7u);  // A comparison.
  EXPECT_EQ(close("", 0), 0u);
}

TEST(CppTokens, BeginBehindAByteOrderMark) {
  EXPECT_THAT(words("\xEF\xBB\xBF__global__ void"), ElementsAre("__global__", "void"));
}

TEST(CppTokens, TakeAHeadersNameForNoComment) {
  EXPECT_THAT(words("#include <a/*b.h>\nc\n*/"), ElementsAre("#include <a/*b.h>", "c", "*", "/"));
  EXPECT_THAT(words("%: include <a//b.h> // x\nc"), ElementsAre("%: include <a//b.h> // x", "c"));
  EXPECT_EQ("#define A 1 \"//\" ", directive_line("#def\\\nine A 1 \"//\" // x"));
}

TEST(Identifiers, AreNoNumbersSuffixes) {
  EXPECT_THAT(identifiers("a1 + 2ull * _b(c)"), ElementsAre("a1", "_b", "c"));
}

}  // namespace
}  // namespace smemtune
