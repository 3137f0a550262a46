#include "tuner/config/double_source.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smemtune {
namespace {

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
  // Members and other people's names are not the library's.
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

TEST(DoubleSource, RefusesWhatDependsOnBitsAndNamesTheLine) {
  EXPECT_THAT(refusal("int a;\nasm(\"mov\");"), HasSubstr("k.cu:2: 'asm'"));
  EXPECT_THAT(refusal("#define BITS(x) \\\n  __float_as_int(x)\n"),
              HasSubstr("k.cu:2: '__float_as_int'"));
  EXPECT_THAT(refusal("using namespace nvcuda;"), HasSubstr("double precision"));
  EXPECT_EQ(refusal("// asm\nfloat asmus;"), "");
}

}  // namespace
}  // namespace smemtune
