#include "tuner/source/source_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<SourceFile> file(const std::string& text) {
  return {{.name = "k.cu", .place = {}, .text = text, .lines = source_lines(text)}};
}

TEST(SourceLines, AreWithoutComments) {
  using Line = SourceLine;
  EXPECT_THAT(source_lines("a // b\nc /* d\ne */ f\n"),
              ElementsAre(Line{1, "a "}, Line{2, "c    f"}, Line{4, ""}));
  EXPECT_THAT(source_lines("\"//\" // x"), ElementsAre(Line{1, "\"//\" "}));
  EXPECT_THAT(source_lines("'\"' // x"), ElementsAre(Line{1, "'\"' "}));
  EXPECT_THAT(source_lines("\"a\\\"//\" // x"), ElementsAre(Line{1, "\"a\\\"//\" "}));
  EXPECT_THAT(source_lines("1'000 // x"), ElementsAre(Line{1, "1'000 "}));
  EXPECT_THAT(source_lines("/*/ a */ b"), ElementsAre(Line{1, "  b"}));
}

TEST(SourceLines, AreJoinedByABackslash) {
  using Line = SourceLine;
  EXPECT_THAT(source_lines("#define A \\\n  1\nb"),
              ElementsAre(Line{1, "#define A   1"}, Line{3, "b"}));
  EXPECT_THAT(source_lines("// a \\\n b\nc"), ElementsAre(Line{1, ""}, Line{3, "c"}));
}

TEST(KernelNames, AreThoseOfGlobalFunctions) {
  EXPECT_THAT(kernel_names(file("__global__ void a(int n) { f(n); }")), ElementsAre("a"));
  EXPECT_THAT(kernel_names(file("template <int N>\n__global__ void __launch_bounds__(N * (2), 1)\n"
                                "    b(int n) {}\nextern \"C\" __global__ void c();\n")),
              ElementsAre("b", "c"));
  EXPECT_THAT(kernel_names(file("__launch_bounds__(32) __global__ void d(void (*f)(int)) {}")),
              ElementsAre("d"));
  EXPECT_THAT(kernel_names(file("static __device__ int e(int n) { return n; }")), IsEmpty());
  EXPECT_THAT(kernel_names(file("// __global__ void f(int n) {}")), IsEmpty());
  EXPECT_THAT(kernel_names(file("#define KERNEL __global__ void g(int n)\n")), IsEmpty());
}

TEST(Redefinition, IsOneThatNothingGuards) {
  EXPECT_EQ("k.cu:2: #define N 4", redefinition(file("\n#define N 4\n"), "N"));
  EXPECT_EQ("k.cu:1: #define N(x) x", redefinition(file("#define N(x) x\n"), "N"));
  EXPECT_EQ("k.cu:1: #undef N", redefinition(file("#undef N\n"), "N"));
  EXPECT_EQ(std::nullopt, redefinition(file("#define NN 4\n"), "N"));
  EXPECT_EQ(std::nullopt, redefinition(file("#ifndef N\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ(std::nullopt,
            redefinition(
                file("#ifndef N\n#if A\n#define N 4\n#else\n#define N 5\n#endif\n#endif\n"), "N"));
  EXPECT_EQ("k.cu:3: #define N 4", redefinition(file("#ifndef N\n#endif\n#define N 4\n"), "N"));
  EXPECT_EQ("k.cu:2: #define N 4", redefinition(file("#ifdef N\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ("k.cu:2: #define N 4", redefinition(file("#ifndef M\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ(std::nullopt, redefinition(file("#if defined(N)\n#else\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ("k.cu:4: #define N 4",
            redefinition(file("#ifndef N\n#elif A\n#else\n#define N 4\n#endif\n"), "N"));
  EXPECT_EQ("k.cu:2: #define N 4",
            redefinition(file("#if !defined(N) || A\n#define N 4\n#endif\n"), "N"));
}

TEST(UsesMacro, WhereItsValueMayMatter) {
  EXPECT_TRUE(uses_macro(file("int a[N];"), "N"));
  EXPECT_TRUE(uses_macro(file("#if N > 2\n#endif"), "N"));
  EXPECT_TRUE(uses_macro(file("#define M (N + 1)"), "N"));
  EXPECT_FALSE(uses_macro(file("#ifndef N\n#define N 4\n#endif"), "N"));
  EXPECT_FALSE(uses_macro(file("int NN; // N"), "N"));
}

TEST(Identifiers, AreNoNumbersSuffixes) {
  EXPECT_THAT(identifiers("a1 + 2ull * _b(c)"), ElementsAre("a1", "_b", "c"));
}

}  // namespace
}  // namespace smemtune
