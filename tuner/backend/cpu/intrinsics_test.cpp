#include "tuner/backend/cpu/kernel_test_support.h"
#include "tuner/backend/intrinsics_cases_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune::cpu {
namespace {

using testing::HasSubstr;

TEST(Intrinsics, HaveTheValuesThatCudaDocuments) {
  CpuLauncher launcher(test_limits());
  const auto compiled = compile(intrinsics_kernel(), {"values"});
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  const auto count = static_cast<std::int64_t>(kIntrinsicCases.size());
  const auto report =
      run_once(launcher, *compiled, {shape("values", {1, 1, 1}, {1, 1, 1}, {"out", "counter"})},
               {output("out", ScalarType::float64, count),
                buffer("counter", ScalarType::int32, Role::inout, 1,
                       {.kind = Init::Kind::zero, .file = {}})});
  ASSERT_TRUE(report) << report.failure().detail;
  const std::vector<double>& values = report->after.at("out").doubles();
  for (std::size_t i = 0; i < kIntrinsicCases.size(); ++i) {
    const IntrinsicCase& one = kIntrinsicCases[i];
    EXPECT_TRUE(agrees(one, values[i]))
        << one.expression << " is " << values[i] << ", not " << one.value;
  }
}

TEST(Intrinsics, ExistForFloatsOfSixteenBits) {
  const auto compiled = compile(R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void kernel(float* out, __half a, __nv_bfloat16 b) {
  out[0] = float(hsqrt(a)) + float(hexp(a)) + float(hrcp(b)) + float(__hmax(a, a));
  const __half2 pair = __hmax2(__half2half2(a), h2exp(__half2half2(a)));
  out[1] = __low2float(__hneg2(pair)) + __hisnan(a) + __half2int_rn(a) + __hbeq2(pair, pair);
})",
                                {"kernel"});
  EXPECT_TRUE(compiled) << compiled.failure().detail;
}

TEST(StandardLibrary, HasMathematicsInStd) {
  const auto compiled = compile(R"(
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <algorithm>
#include <array>
#include <utility>
extern "C" __global__ void kernel(float* out, double d, int n) {
  std::size_t i = threadIdx.x;
  static_assert(sizeof(std::sqrt(1.0f)) == 4 && sizeof(std::sqrt(4)) == 8, "");
  std::array<float, 2> pair = {std::fma(out[i], 2.f, 1.f), std::pow(out[i], 2.f)};
  std::swap(pair[0], pair[1]);
  out[i] = std::isnan(out[i]) ? std::numeric_limits<float>::max() : std::abs(pair[0]);
  out[i] += std::max(1, n) + std::abs(n) + std::sqrt(d) + std::min(pair[0], pair[1]);
})",
                                {"kernel"});
  EXPECT_TRUE(compiled) << compiled.failure().detail;
}

TEST(UnknownNames, AreNamedWithoutTheCompilersWords) {
  const auto refused = compile(R"(
template <typename T> __global__ void kernel(T* out, cudaTextureObject_t t) {
  out[0] = tex3D<float>(t, 0, 0, 0);
  out[1] = __nv_umax_of_everything(1u);
}
)",
                               {"kernel<float>"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().reason, "cpu_unsupported");
  EXPECT_EQ(refused.failure().detail,
            "the CPU device does not have tex3D, __nv_umax_of_everything (kernel.cu:3)");
  const auto header =
      compile("#include <curand_kernel.h>\n__global__ void kernel() {}", {"kernel"});
  ASSERT_FALSE(header);
  EXPECT_EQ(header.failure().detail, "the CPU device does not have curand_kernel.h (kernel.cu:1)");
  const auto wrong = compile("__global__ void kernel(int* x) { *x = mistyped; }", {"kernel"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.failure().reason, "error");
  EXPECT_THAT(wrong.failure().detail, HasSubstr("mistyped"));
}

/// Returns why the entry of `text`, passed a buffer `a` of `type` and an int `n`, is refused when
/// it is compiled or only its signature is checked; empty if it is not.
std::string refused(const std::string& text, ScalarType type, bool is_result = false,
                    bool compiles = false) {
  CompileRequest request;
  request.architecture = "host";
  request.source.files = {{.name = "k.cu", .text = text}};
  request.name_expressions = {"k"};
  const PassedArgument a = {
      .name = "a", .kind = PassedArgument::Kind::buffer, .type = type, .is_result = is_result};
  const PassedArgument n = {.name = "n", .type = ScalarType::int32};
  request.signatures = {{{.name_expression = "k", .arguments = {a, n}}}};
  if (!compiles) request.name_expressions.clear();
  const auto outcome = test_compiler().compile(request);
  if (outcome) return "";
  return outcome.failure().reason == "signature" ? outcome.failure().detail
                                                 : "not by its signature";
}

TEST(SignatureOnHost, IsHeldAgainstWhatIsPassed) {
  for (const bool compiles : {false, true}) {
    EXPECT_EQ(
        refused("__global__ void k(float* x, int m) {}", ScalarType::float32, false, compiles), "");
    EXPECT_EQ(
        refused("\n__global__ void k(float* x, float m) {}", ScalarType::float32, false, compiles),
        "k.cu:2: argument 2 of k is of type float, but the space passes 'n', a value of type "
        "int");
  }
  EXPECT_EQ(refused("#include <cuda_fp16.h>\n__global__ void k(const __half* x, int m) {}",
                    ScalarType::bfloat16),
            "k.cu:2: argument 1 of k is of type const __half*, but the space passes 'a', a buffer "
            "of __nv_bfloat16");
  EXPECT_EQ(refused("__global__ void k(float* x) {}", ScalarType::float32),
            "k.cu:1: k takes 1 arguments, but the space passes 2: a, n");
  EXPECT_EQ(refused("__global__ void k(const float* x, int m) {}", ScalarType::float32, true),
            "k.cu:1: argument 1 of k is of type const float*, which cannot be written, but the "
            "space passes 'a', a result");
  for (const char* taken : {"float4* x, unsigned m", "const void* x, int m", "uint4* x, int m",
                            "unsigned long long x, int m", "float3* x, int m"}) {
    EXPECT_EQ(refused("__global__ void k(" + std::string(taken) + ") {}", ScalarType::float32), "")
        << taken;
  }
  for (const char* other :
       {"double* x, int m", "int* x, int m", "double2* x, int m", "float x, int m",
        "float** x, int m", "float* x, long m", "float* x, float* m"}) {
    EXPECT_NE(refused("__global__ void k(" + std::string(other) + ") {}", ScalarType::float32), "")
        << other;
  }
  EXPECT_EQ(refused("enum E { one };\nstruct S { int i; };\n"
                    "__global__ void k(S* x, E m) {}",
                    ScalarType::int32),
            "");
}

}  // namespace
}  // namespace smemtune::cpu
