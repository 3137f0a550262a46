#include "tuner/core/error.h"
#include "tuner/source/in_double.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smemtune {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string turned(const std::string& text) {
  return in_double(KernelSource{.files = {{"k.cu", text}}}).files.front().text;
}

std::string refusal(const std::string& text) {
  try {
    turned(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(DoubleSource, MakesNarrowTypesDouble) {
  EXPECT_EQ(turned("float4 a = make_float4(x, y, z, w); float b;"),
            "double4 a = make_double4(x, y, z, w); double b;");
  EXPECT_EQ(turned("template <typename T> T f(T x) { return x; }"),
            "template <typename T> T f(T x) { return x; }");
  EXPECT_EQ(turned("__nv_bfloat16 a;"), "double a;");
}

TEST(DoubleSource, LeavesTheNameHalfAloneWhereItIsNoType) {
  EXPECT_EQ(turned("int half = n / 2;"), "int half = n / 2;");
  EXPECT_THAT(turned("#include <cuda_fp16.h>\nhalf a;"), EndsWith("double a;"));
  EXPECT_THAT(turned("#include <cuda_fp16.h>\n__half a; int half = n;"),
              EndsWith("double a; int half = n;"));
}

TEST(DoubleSource, KeepsTheValuesOfConstants) {
  EXPECT_EQ(turned("x = 0.1f + 0x1p-3F + 0x1f + 2.5 + 1;"),
            "x = double(0.1f) + double(0x1p-3F) + 0x1f + 2.5 + 1;");
}

TEST(DoubleSource, TakesTheFunctionsOfDoubles) {
  EXPECT_EQ(turned("sqrtf(x) + __expf(y) + fmaxf(a, b) + __fmaf_rn(a, b, c) + __float2int_rd(x)"),
            "sqrt(x) + exp(y) + fmax(a, b) + __fma_rn(a, b, c) + __double2int_rd(x)");
  EXPECT_EQ(turned("__int2float_rn(i) * __half2float(h)"), "double(i) * double(h)");
  // Members and functions of the user's are not the library's.
  EXPECT_EQ(turned("p.expf + q->sinf + diff + myexpf(x)"), "p.expf + q->sinf + diff + myexpf(x)");
}

TEST(DoubleSource, TurnsWhatMacrosStandForAndNotTheirNames) {
  EXPECT_EQ(turned("#define REAL float\n#define HALF_OF(x) ((x) * 0.5f)\n#if float\n#endif\n"),
            "#define REAL double\n#define HALF_OF(x) ((x) * double(0.5f))\n#if float\n#endif\n");
}

TEST(DoubleSource, LeavesTextsCommentsAndHeadersAlone) {
  const std::string text = "#include \"float.h\"\n// float\nprintf(\"float\"); /* float */\n";
  EXPECT_EQ(turned(text), text);
}

TEST(DoubleSource, AddsWhatHalvesCanDoAndKeepsTheNumbersOfLines) {
  const std::string text = turned("#include <cuda_fp16.h>\nhalf2 s = __hfma2(a, b, c);\n");
  EXPECT_THAT(text, HasSubstr("double2 smemtune_fma("));
  EXPECT_THAT(text, EndsWith("\n#line 1\n#include <cuda_fp16.h>\n"
                             "double2 s = smemtune_fma(a, b, c);\n"));
  EXPECT_THAT(turned("float a;"), Not(HasSubstr("smemtune")));
}

TEST(DoubleSource, LeavesOutWhatDoubleHadWhereFloatHasItsOwn) {
  EXPECT_EQ(turned("template <> __device__ float f<float>(float x) { return sqrtf(x); }\n"
                   "template <> __device__ double f<double>(double y) { return sqrt(y); }\nint a;"),
            "template <> __device__ double f<double>(double x) { return sqrt(x); }\n" +
                std::string(69, ' ') + "\nint a;");
  // The order of the two does not matter.
  EXPECT_THAT(turned("template <> struct V<double> {\n  typedef double4 T;\n};\n"
                     "template <> struct V<float> { typedef float3 T; };"),
              AllOf(EndsWith("\ntemplate <> struct V<double> { typedef double3 T; };"),
                    Not(HasSubstr("double4"))));
  // Overloads, with or without names; operators; explicit instantiations.
  EXPECT_THAT(turned("__device__ float g(float x, int n) { return x; }\n"
                     "__device__ double g(double, int) { return 2; }"),
              Not(HasSubstr("return 2")));
  EXPECT_THAT(turned("inline __device__ void operator+=(float2& a, float2 b) { a.x += b.x; }\n"
                     "inline __device__ void operator+=(double2& a, double2 b) { a.y += b.y; }"),
              Not(HasSubstr("a.y")));
  EXPECT_THAT(turned("template void h<float>(float*);\ntemplate void h<double>(double*);"),
              EndsWith("(double*);\n" + std::string(33, ' ')));
  EXPECT_THAT(turned("#include <cuda_fp16.h>\n__device__ float k(float a) { return a; }\n"
                     "__device__ half k(half a) { return a + a; }"),
              Not(HasSubstr("a + a")));
}

TEST(DoubleSource, TakesTheTemplateThatFloatTakes) {
  const std::string text =
      "template <typename T> T scale() { return narrow; }\n"
      "template <> double scale<double>() { return wide; }";
  EXPECT_THAT(turned(text), AllOf(HasSubstr("return narrow"), Not(HasSubstr("wide"))));
  // The only definition stays, although it is for double.
  const std::string only =
      "template <typename T> T scale();\ntemplate <> double scale<double>() { return wide; }";
  EXPECT_EQ(turned(only), only);
}

TEST(DoubleSource, KeepsDefinitionsThatAreNotTheSame) {
  const std::string overloads =
      "__device__ double g(double x) { return x; }\n__device__ double g(double x, int n) {}\n"
      "template <int N> __device__ double g(double x) { return x; }";
  EXPECT_EQ(turned(overloads), overloads);
  // Only one of several branches is compiled, so both definitions stay.
  EXPECT_THAT(turned("#if A\nfloat g(float x) { return 1; }\n#else\n"
                     "double g(double x) { return 2; }\n#endif"),
              AllOf(HasSubstr("return 1"), HasSubstr("return 2")));
  // A file's include guard is no branch.
  EXPECT_THAT(turned("#ifndef K_H\n#define K_H\nfloat g(float x) { return 1; }\n#endif\n"
                     "double g(double x) { return 2; }"),
              Not(HasSubstr("return 2")));
  const std::string primary = "template <int N> struct P {};\ntemplate <> struct P<2> {};";
  EXPECT_EQ(turned(primary), primary);
}

TEST(DoubleSource, RefusesWhatDependsOnBitsAndNamesTheLine) {
  EXPECT_THAT(refusal("int a;\nasm(\"mov\");"), HasSubstr("k.cu:2: 'asm'"));
  EXPECT_THAT(refusal("#define BITS(x) \\\n  __float_as_int(x)\n"),
              HasSubstr("k.cu:2: '__float_as_int'"));
  EXPECT_THAT(refusal("using namespace nvcuda;"), HasSubstr("double precision"));
  EXPECT_EQ(refusal("// asm\nfloat asmus;"), "");
}

}  // namespace
}  // namespace smemtune
