#include "tuner/backend/cuda/nvrtc_compiler.h"

#include "tuner/backend/cuda/cubin.h"
#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace smemtune::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

CompileRequest request(std::vector<KernelSource::File> files, std::vector<std::string> expressions,
                       std::vector<std::string> symbols = {}, std::vector<std::string> options = {},
                       std::string architecture = "sm_90") {
  return {.architecture = std::move(architecture),
          .source = {.files = std::move(files)},
          .name_expressions = std::move(expressions),
          .symbol_expressions = std::move(symbols),
          .options = std::move(options)};
}

// All tests share one compiler: starting one costs as much as a compilation.
class NvrtcCompilerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("NVRTC_DISABLE_CONCURRENT_NVVM", "1", 1);
    try {
      compiler_ = std::make_unique<NvrtcCompiler>();
    } catch (const UnavailableError& error) {
      why_not_ = error.what();
    }
  }
  static void TearDownTestSuite() { compiler_.reset(); }

  void SetUp() override {
    if (compiler_) return;
    if (std::getenv("SMEMTUNE_REQUIRE_CUDA") != nullptr) FAIL() << why_not_;
    GTEST_SKIP() << why_not_;
  }

  static Outcome<CompiledKernel> compile(const std::string& text, const std::string& expression,
                                         std::vector<std::string> options = {}) {
    return compiler_->compile(request({{"kernel.cu", text}}, {expression}, {}, std::move(options)));
  }

  static std::unique_ptr<NvrtcCompiler> compiler_;
  static std::string why_not_;
};
std::unique_ptr<NvrtcCompiler> NvrtcCompilerTest::compiler_;
std::string NvrtcCompilerTest::why_not_;

// Names that nvcc declares by itself are known as constants, and beside the toolkit's own headers.
TEST_F(NvrtcCompilerTest, KnowsWhatNvccDeclaresUnasked) {
  const std::string kernel = R"(
constexpr float kLowest = -INFINITY;
__global__ void k(float* x, const uint8_t* bytes, int64_t n, size_t m) {
  static_assert(sizeof(int64_t) == 8 && sizeof(uint8_t) == 1, "");
  if (bytes != NULL) x[0] = kLowest + float(M_PI) + NAN;
}
)";
  for (const char* headers :
       {"", "#include <math.h>\n#include <stdint.h>\n#include <assert.h>\n#include <cstdio>\n",
        "#include <cuda/std/cstdint>\n#include <cuda_fp16.h>\n"}) {
    const auto compiled = compile(headers + kernel, "k");
    EXPECT_TRUE(compiled) << headers << compiled.failure().detail;
  }
}

/// Returns the request to compile `entry` of `text`, which is passed a buffer of `type` and an int.
CompileRequest with_signature(const std::string& text, ScalarType type,
                              const std::string& entry = "k", bool is_result = false) {
  CompileRequest request;
  request.architecture = "sm_90";
  request.source.files = {{.name = "k.cu", .text = text}};
  request.name_expressions = {entry};
  const PassedArgument a = {
      .name = "a", .kind = PassedArgument::Kind::buffer, .type = type, .is_result = is_result};
  const PassedArgument n = {.name = "n", .type = ScalarType::int32};
  request.signatures = {{{.name_expression = entry, .arguments = {a, n}}}};
  return request;
}

/// Returns why that is refused; empty if it is not.
std::string refused(NvrtcCompiler& compiler, const std::string& text, ScalarType type,
                    const std::string& entry = "k", bool is_result = false) {
  CompileRequest request = with_signature(text, type, entry, is_result);
  const auto compiled = compiler.compile(request);
  request.name_expressions.clear();
  const auto looked = compiler.compile(request);
  // A check of signatures alone does not report that the source itself is wrong.
  const bool is_fault = !compiled && compiled.failure().reason == "signature";
  EXPECT_EQ(is_fault ? compiled.failure().detail : "", looked ? "" : looked.failure().detail);
  if (compiled) return "";
  return compiled.failure().reason + ": " + compiled.failure().detail;
}

TEST_F(NvrtcCompilerTest, HoldsSignaturesAgainstWhatIsPassed) {
  const auto of = [&](const std::string& parameters, ScalarType type = ScalarType::float32) {
    return refused(*compiler_, "__global__ void k(" + parameters + ") {}", type);
  };
  EXPECT_EQ(
      of("float* x, float m"),
      "signature: k.cu:1: argument 2 of k is of type float, but the space passes 'n', a value "
      "of type int");
  EXPECT_EQ(of("float* x"), "signature: k.cu:1: k takes 1 arguments, but the space passes 2: a, n");
  for (const char* taken :
       {"float* x, int m", "const float* __restrict__ x, unsigned m", "float4* x, int m",
        "volatile float* x, const int m", "void* x, int m", "uint4* x, int m",
        "unsigned long long x, int m", "unsigned long x, int m"}) {
    EXPECT_EQ(of(taken), "") << taken;
  }
  for (const char* other :
       {"double* x, int m", "int* x, int m", "int m, float* x", "float** x, int m",
        "float* x, long long m", "double2* x, int m", "long long x, int m"}) {
    EXPECT_NE(of(other), "") << other;
  }
  EXPECT_EQ(of("long* x, int m", ScalarType::int64), "");
  EXPECT_EQ(of("char* x, int m", ScalarType::uint8), "");
  EXPECT_EQ(of("unsigned short* x, int m", ScalarType::bfloat16), "");
}

TEST_F(NvrtcCompilerTest, LeavesNothingOfASignatureInTheModule) {
  const CompileRequest request =
      with_signature("__global__ void k(float* x, int m) { x[m] = 1; }", ScalarType::float32);
  ASSERT_FALSE(request.signatures.empty());
  const auto held = compiler_->compile(request);
  const auto plain = compiler_->compile(without_signatures(request));
  ASSERT_TRUE(held && plain);
  EXPECT_EQ(held->image, plain->image);
}

TEST_F(NvrtcCompilerTest, TellsHalvesFromBfloats) {
  const std::string half = "#include <cuda_fp16.h>\n__global__ void k(__half* x, int m) {}";
  const std::string pairs =
      "#include <cuda_bf16.h>\n__global__ void k(__nv_bfloat162* x, int m) {}";
  EXPECT_EQ(refused(*compiler_, half, ScalarType::float16), "");
  EXPECT_EQ(refused(*compiler_, half, ScalarType::bfloat16),
            "signature: k.cu:2: argument 1 of k is of type __half*, but the space passes 'a', a "
            "buffer of __nv_bfloat16");
  EXPECT_EQ(refused(*compiler_, pairs, ScalarType::bfloat16), "");
  EXPECT_NE(refused(*compiler_, pairs, ScalarType::float16), "");
}

TEST_F(NvrtcCompilerTest, AsksWhatEachInstantiationTakes) {
  const std::string text = "template <typename T, int B> __global__ void k(T* x, int m) {}";
  EXPECT_EQ(refused(*compiler_, text, ScalarType::float32, "k<float, 2>"), "");
  EXPECT_NE(refused(*compiler_, text, ScalarType::float32, "k<double, 2>"), "");
  EXPECT_EQ(refused(*compiler_,
                    "enum class E { one };\nstruct S { float x, y; };\n"
                    "namespace ns { extern \"C\" __global__ void k(const S* x, E m) {} }",
                    ScalarType::float32, "ns::k"),
            "");
  EXPECT_NE(refused(*compiler_, "__global__ void k(const float* x, int m) {}", ScalarType::float32,
                    "k", true),
            "");
}

TEST_F(NvrtcCompilerTest, SaysOfOtherErrorsWhatItSaidWithoutSignatures) {
  const std::string text = "__global__ void k(float* x, int m) {}";
  const std::string missing = refused(*compiler_, text, ScalarType::float32, "gone");
  EXPECT_THAT(missing, testing::StartsWith("error: "));
  EXPECT_THAT(missing, testing::Not(HasSubstr("smemtune_signature")));
  const std::string wrong = refused(*compiler_, text + "\nint x = ;", ScalarType::float64);
  EXPECT_THAT(wrong, testing::StartsWith("error: "));
}

TEST_F(NvrtcCompilerTest, FindsTheStandardLibrarysNames) {
  const auto compiled = compile(R"(
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <utility>
#include <array>
#include <limits>
__global__ void k(float* o, double d, int n) {
  std::size_t i = threadIdx.x;
  static_assert(sizeof(std::sqrt(1.0f)) == 4 && sizeof(std::sqrt(4)) == 8, "");
  std::array<float, 2> pair = {std::fma(o[i], 2.f, 1.f), std::pow(o[i], 2.f)};
  o[i] = std::isnan(o[i]) ? std::numeric_limits<float>::max() : std::abs(pair[0]);
  o[i] += std::max(1, n) + std::abs(n) + std::sqrt(d) + std::min(pair[0], pair[1]) + std::sqrt(n);
})",
                                "k");
  EXPECT_TRUE(compiled) << compiled.failure().detail;
}

TEST_F(NvrtcCompilerTest, LeavesTypesToTheSourceThatDeclaresThem) {
  const auto compiled =
      compile("typedef unsigned long uint64_t;\n__global__ void k(uint64_t* x) { *x = 1; }", "k");
  EXPECT_TRUE(compiled) << compiled.failure().detail;
}

constexpr const char* kReverse = R"(
template <typename T, int N>
__global__ void __launch_bounds__(N) reverse(T* p) {
  __shared__ T tile[N];
  tile[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = tile[N - 1 - threadIdx.x];
}
extern "C" __global__ void plain(float* p) { p[threadIdx.x] = 1; }
)";

TEST_F(NvrtcCompilerTest, GivesPtxForAVirtualArchitecture) {
  const auto outcome = compiler_->compile(
      request({{"kernel.cu", "template <int N> __global__ void twice(int* x) { *x *= N; }"}},
              {"twice<2>"}, {}, {}, "compute_90"));
  ASSERT_TRUE(outcome) << outcome.failure().detail;
  const std::string text(outcome->image.begin(), outcome->image.end());
  EXPECT_THAT(text, HasSubstr(".target sm_90"));
  ASSERT_EQ(outcome->entries.size(), 1u);
  EXPECT_THAT(text, HasSubstr(".entry " + outcome->entries[0].lowered_name));
}

TEST_F(NvrtcCompilerTest, CompilesSeveralInstantiationsOfOneProgramInTheOrderAsked) {
  const auto compiled = compiler_->compile(
      request({{"reverse.cu", kReverse}}, {"reverse<double, 64>", "plain", "reverse<float, 32>"}));
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  ASSERT_EQ(compiled->entries.size(), 3u);
  EXPECT_EQ(compiled->entries[0].name_expression, "reverse<double, 64>");
  EXPECT_EQ(compiled->entries[0].lowered_name, "_Z7reverseIdLi64EEvPT_");
  EXPECT_EQ(compiled->entries[0].resources.static_shared_bytes, 512);
  // 11.8 and 12.0 do not count barriers.
  if (compiled->log.find("barriers") != std::string::npos) {
    EXPECT_EQ(compiled->entries[0].resources.barriers, 1);
  }
  EXPECT_EQ(compiled->entries[0].resources.max_threads_per_block, 64);
  EXPECT_GT(compiled->entries[0].resources.registers_per_thread, 0);
  EXPECT_EQ(compiled->entries[1].lowered_name, "plain");
  EXPECT_EQ(compiled->entries[1].resources.static_shared_bytes, 0);
  EXPECT_EQ(compiled->entries[1].resources.max_threads_per_block, 0);
  EXPECT_EQ(compiled->entries[2].resources.static_shared_bytes, 128);
  EXPECT_GT(compiled->image.size(), 1000u);
  EXPECT_GT(compiled->compile_ms, 0);
}

TEST_F(NvrtcCompilerTest, ReportsStackAndSpills) {
  const auto compiled = compile(R"(
    __global__ void __launch_bounds__(1024, 2) spill(float* p, int n) {
      float a[128];
      for (int i = 0; i < 128; ++i) a[i] = p[i * n];
      for (int k = 0; k < n; ++k)
        for (int i = 0; i < 128; ++i) a[i] = a[i] * a[(i + 1) % 128] + p[k];
      for (int i = 0; i < 128; ++i) p[i] = a[i];
    })",
                                "spill");
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  const Resources& resources = compiled->entries[0].resources;
  EXPECT_EQ(resources.registers_per_thread, 32);  // 65536 / (2 * 1024)
  EXPECT_GT(resources.spill_store_bytes, 100);
  EXPECT_GT(resources.spill_load_bytes, 100);
  EXPECT_GE(resources.stack_bytes, 4 * (128 - 32));
  EXPECT_EQ(resources.max_threads_per_block, 1024);
}

TEST_F(NvrtcCompilerTest, LeavesDynamicSharedMemoryToTheLaunch) {
  const auto compiled = compile(R"(
    __global__ void dynamic(float* p) {
      extern __shared__ float tile[];
      __shared__ float fixed[10];
      tile[threadIdx.x] = p[0]; fixed[threadIdx.x % 10] = p[1];
      __syncthreads();
      p[threadIdx.x] = tile[99 - threadIdx.x] + fixed[3];
    })",
                                "dynamic");
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  EXPECT_EQ(compiled->entries[0].resources.static_shared_bytes,
            48);  // Rounded up to 16 bytes, where the dynamic part begins.
}

TEST_F(NvrtcCompilerTest, FindsConstantSymbolsAndTheirBytes) {
  const auto compiled =
      compiler_->compile(request({{"constant.cu", R"(
          __constant__ float filter[100];
          template <int N> __constant__ float weights[N];
          namespace inner { __constant__ int shift; }
          template <int N> __global__ void scale(float* p) {
            p[threadIdx.x] *= filter[threadIdx.x] + weights<N>[threadIdx.x] + inner::shift;
          })"}},
                                 {"scale<32>"}, {"filter", "weights<32>", "&inner::shift"}));
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  ASSERT_EQ(compiled->symbols.size(), 3u);
  EXPECT_EQ(compiled->symbols[0], (CompiledSymbol{"filter", "filter"}));
  EXPECT_EQ(compiled->symbols[1], (CompiledSymbol{"weights<32>", "_Z7weightsILi32EE"}));
  EXPECT_EQ(compiled->symbols[2], (CompiledSymbol{"&inner::shift", "_ZN5inner5shiftE"}));
  EXPECT_EQ(compiled->entries[0].resources.constant_bytes, 4 * (100 + 32 + 1));
}

TEST_F(NvrtcCompilerTest, TellsMemoryThatRanOutFromAnErrorOfTheText) {
#ifdef SMEMTUNE_SANITIZED
  GTEST_SKIP() << "the sanitizer itself needs more addresses than are left here";
#endif
  const auto compile_with_little_memory = [] {
    std::size_t pages = 0;  // Pages that are mapped already.
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes =
        pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (std::size_t{60} << 20);
    const rlimit little = {.rlim_cur = bytes, .rlim_max = bytes};
    if (setrlimit(RLIMIT_AS, &little) != 0) _exit(3);
    // Two to the power of 21 classes.
    const auto compiled = compile(R"(
      template <int N, unsigned M> struct Tree {
        static constexpr unsigned value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value;
      };
      template <unsigned M> struct Tree<0, M> { static constexpr unsigned value = M; };
      __global__ void tree(unsigned* out) { out[0] = Tree<20, 1>::value; })",
                                  "tree");
    if (compiled) _exit(2);
    std::fprintf(stderr, "%s: %s\n", compiled.failure().reason.c_str(),
                 compiled.failure().detail.c_str());
    _exit(0);
  };
  EXPECT_EXIT(compile_with_little_memory(), testing::ExitedWithCode(0), "^out_of_memory: ");
}

TEST_F(NvrtcCompilerTest, TakesHeadersFromTheRequest) {
  const auto compiled =
      compiler_->compile(request({{"folder/kernel.cu",
                                   "#include \"common/size.cuh\"\n"
                                   "__global__ void k(float* p) { __shared__ float s[kSize]; "
                                   "s[threadIdx.x] = p[0]; __syncthreads(); p[1] = s[5]; }"},
                                  {"common/size.cuh",
                                   "#include \"factor.cuh\"\n"
                                   "constexpr int kSize = 8 * kFactor;"},
                                  {"factor.cuh", "constexpr int kFactor = 4;"}},
                                 {"k"}));
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  EXPECT_EQ(compiled->entries[0].resources.static_shared_bytes, 128);
}

TEST_F(NvrtcCompilerTest, TakesNoNameOfASourceForAnOption) {
  for (const char* const name : {"-k.cu", "--preinclude=/etc/passwd", "-", "@k.cu"}) {
    const auto compiled =
        compiler_->compile(request({{name, "__global__ void k(int* x) { *x = 1; }"}}, {"k"}));
    EXPECT_TRUE(compiled) << name << ": " << compiled.failure().detail;
  }
}

TEST_F(NvrtcCompilerTest, PassesDefinitionsAndLetsTheRequestChooseTheStandard) {
  const std::string source = R"(
    static_assert(__cplusplus == EXPECTED, "the standard");
    __global__ void k(float* p) { p[0] = EXPECTED; })";
  EXPECT_TRUE(compile(source, "k", {"-DEXPECTED=201703L"}));
  const auto other = compile(source, "k", {"-DEXPECTED=201402L", "-std=c++14"});
  ASSERT_TRUE(other) << other.failure().detail;
  EXPECT_THAT(other->log, Not(HasSubstr("warning")));
}

TEST_F(NvrtcCompilerTest, TurnsAStaticAssertIntoAFailureWithItsSentence) {
  const auto compiled = compile(
      "template <int N> __global__ void k(float* p) {"
      "  static_assert(N % 2 == 0, \"N must be even\"); p[0] = N; }",
      "k<3>");
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.failure().status, Status::compile);
  EXPECT_EQ(compiled.failure().reason, "error");
  EXPECT_THAT(compiled.failure().detail,
              AllOf(HasSubstr("N must be even"), HasSubstr("kernel.cu(1)"), HasSubstr("N=3")));
  EXPECT_FALSE(compiled.failure().context_lost);
}

TEST_F(NvrtcCompilerTest, KeepsPtxasErrorsThatStandBehindANul) {
  const auto compiled = compile(
      "template <int N> __global__ void k(float* p) { __shared__ float s[N];"
      "  s[threadIdx.x] = 1; __syncthreads(); p[0] = s[N - 1 - threadIdx.x]; }",
      "k<20000>");
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.failure().status, Status::constraints);
  EXPECT_EQ(compiled.failure().reason, "shared_bytes");
  EXPECT_THAT(compiled.failure().detail,
              StartsWith("80000 bytes of static shared memory per block, static arrays may have "
                         "49152; "));
  EXPECT_THAT(compiled.failure().detail, HasSubstr("uses too much shared data"));
  EXPECT_EQ(compiled.failure().detail.find('\0'), std::string::npos);
}

TEST_F(NvrtcCompilerTest, NamesWhatIsNoKernel) {
  const auto unknown = compile("__global__ void k(float* p) { p[0] = 1; }", "nosuch<2>");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.failure().detail, HasSubstr("nosuch"));
  const auto variable = compile("__device__ int v; __global__ void k(int* p) { p[0] = v; }", "&v");
  ASSERT_FALSE(variable);
  EXPECT_THAT(variable.failure().detail, HasSubstr("&v is not a kernel"));
}

TEST_F(NvrtcCompilerTest, RefusesAnOptionThatNvrtcDoesNotKnowAsAFailure) {
  const auto compiled = compile("__global__ void k() {}", "k", {"--nosuch"});
  ASSERT_FALSE(compiled);
  EXPECT_THAT(compiled.failure().detail, HasSubstr("--nosuch"));
}

TEST_F(NvrtcCompilerTest, NamesTheArchitecturesThatItCompilesFor) {
  for (const char* architecture : {"sm_30", "host", "sm_90x", ""}) {
    try {
      (void)compiler_->compile(
          request({{"k.cu", "__global__ void k() {}"}}, {"k"}, {}, {}, architecture));
      FAIL() << architecture;
    } catch (const UnavailableError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(architecture), HasSubstr("sm_90")));
    }
  }
}

TEST_F(NvrtcCompilerTest, CompilesForAnArchitecturesOwnFeatures) {
  if (compiler_->nvrtc().major < 12) GTEST_SKIP() << "sm_90a came with CUDA 12.0";
  CompileRequest specific =
      request({{"k.cu",
                "__global__ void k(float* p) {"
                "  asm volatile(\"wgmma.fence.sync.aligned;\"); p[0] = 1; }"}},
              {"k"}, {}, {}, "sm_90a");
  const auto compiled = compiler_->compile(specific);
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  EXPECT_EQ(compiled->entries[0].lowered_name, "_Z1kPf");

  specific.architecture = "sm_90";
  EXPECT_FALSE(compiler_->compile(specific));
}

TEST_F(NvrtcCompilerTest, ClearsTheEnvironmentOfNvrtc) {
  EXPECT_EQ(std::getenv("NVRTC_DISABLE_CONCURRENT_NVVM"), nullptr);
}

TEST_F(NvrtcCompilerTest, FindsTheToolkitsHeadersIfTheyAreThere) {
  if (header_folders(compiler_->nvrtc()).empty()) GTEST_SKIP() << "no cuda_fp16.h on this machine";
  const auto compiled = compile(
      "#include <cuda_fp16.h>\n"
      "__global__ void k(__half* p) { p[0] = __hadd(p[1], p[2]); }",
      "k");
  EXPECT_TRUE(compiled) << compiled.failure().detail;
}

TEST_F(NvrtcCompilerTest, TellsInWhichStateTheToolkitsHeadersWere) {
  const TemporaryFolder toolkit;
  toolkit.write("include/cuda_fp16.h", "#define STEP 1\n");
  std::filesystem::create_directory(toolkit.path() / "lib64");
  Nvrtc nvrtc = compiler_->nvrtc();
  nvrtc.path = toolkit.path() / "lib64" / "libnvrtc.so";
  std::filesystem::create_symlink(compiler_->nvrtc().path, nvrtc.path);
  const CompileRequest asked = request(
      {{"k.cu", "#include <cuda_fp16.h>\n__global__ void k(int* p) { p[0] = STEP; }"}}, {"k"});
  const auto before = NvrtcCompiler(nvrtc).compile(asked);
  ASSERT_TRUE(before) << before.failure().detail;
  ASSERT_EQ(before->read.size(), 1u);
  EXPECT_EQ(before->read.front(), read_place(toolkit.path() / "include"));
  toolkit.write("include/cuda_fp16.h", "#define STEP 2\n");
  const auto after = NvrtcCompiler(nvrtc).compile(asked);
  ASSERT_TRUE(after) << after.failure().detail;
  EXPECT_NE(before->entries.front().code_sha256, after->entries.front().code_sha256);
  EXPECT_NE(before->read, after->read);
}

TEST_F(NvrtcCompilerTest, FindsWhatTheToolkitsHeadersIncludeBesideThemselves) {
  if (header_folders(compiler_->nvrtc()).empty()) GTEST_SKIP() << "no cuda_fp16.h on this machine";
  const auto compiled = compile(R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <mma.h>
namespace cg = cooperative_groups;
__global__ void sum(int* p) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  p[0] = cg::reduce(warp, p[warp.thread_rank()], cg::plus<int>());
}
)",
                                "sum");
  ASSERT_TRUE(compiled) << compiled.failure().detail;
}

TEST_F(NvrtcCompilerTest, CompilesASourceThatIncludesTheCLibrary) {
  const auto compiled = compile(R"(
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__global__ void k(uint32_t* p, std::int64_t n) {
  assert(n > 0 && n < INT_MAX);
  static_assert(sizeof(uint8_t) + sizeof(int64_t) + sizeof(uintptr_t) == 17);
  if (sqrtf(n) > FLT_MAX) printf("%u", p[0]);
  memset(p, 0, 4);
}
)",
                                "k");
  ASSERT_TRUE(compiled) << compiled.failure().detail;
}

TEST_F(NvrtcCompilerTest, CompilesASourceThatAsksTheCppLibraryForTypesAndTheirLimits) {
  const auto compiled = compile(R"(
#include <limits>
#include <type_traits>
template <typename T> __global__ void k(T* p) {
  static_assert(std::is_same_v<T, float> && std::is_floating_point<T>::value);
  *p = std::numeric_limits<T>::max() - std::numeric_limits<T>::epsilon();
  *p = std::move(*p);
}
)",
                                "k<float>");
  ASSERT_TRUE(compiled) << compiled.failure().detail;
}

TEST_F(NvrtcCompilerTest, CompilesWhatUsesCub) {
  const auto has_cub = [](const std::filesystem::path& folder) {
    return std::filesystem::exists(folder / "cub" / "block" / "block_scan.cuh");
  };
  if (std::ranges::none_of(header_folders(compiler_->nvrtc()), has_cub)) {
    GTEST_SKIP() << "no cub/block/block_scan.cuh among the headers of " << compiler_->version();
  }
  const auto compiled = compile(R"(
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>
template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS) offsets(T* sums, T* places, const T* in, int n) {
  using Reduce = cub::BlockReduce<T, THREADS>;
  using Scan = cub::BlockScan<T, THREADS>;
  static_assert(std::is_same<T, float>::value, "");
  __shared__ union { typename Reduce::TempStorage reduce; typename Scan::TempStorage scan; } shared;
  const int i = blockIdx.x * THREADS + threadIdx.x;
  std::array<T, 2> found = {i < n ? std::sqrt(in[i]) : T(0), T(0)};
  Scan(shared.scan).ExclusiveSum(found[0], found[1]);
  __syncthreads();
  const T sum = Reduce(shared.reduce).Sum(found[0]);
  if (i < n) places[i] = std::move(found[1]);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
)",
                                "offsets<float, 128>");
  ASSERT_TRUE(compiled) << compiled.failure().detail;
}

TEST_F(NvrtcCompilerTest, PrefersAHeaderOfTheRequestToItsOwn) {
  const auto compiled = compiler_->compile(
      request({{"kernel.cu", "#include \"stdint.h\"\n__global__ void k(mine* p) { *p = 1; }"},
               {"stdint.h", "using mine = float;"}},
              {"k"}));
  ASSERT_TRUE(compiled) << compiled.failure().detail;
}

TEST_F(NvrtcCompilerTest, SaysItsVersion) {
  EXPECT_THAT(compiler_->version(), testing::MatchesRegex("NVRTC [0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace smemtune::cuda
