#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/config/devices_file.h"
#include "tuner/config/space_file.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/limits.h"
#include "tuner/core/sample_test_support.h"
#include "tuner/source/in_double.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace smemtune {
namespace {

const std::filesystem::path kRoot = SMEMTUNE_SOURCE_DIR;

LoadedSpace load(const std::string& name) {
  return load_space(kRoot / "configs" / (name + ".json"), kRoot);
}

cuda::NvrtcCompiler& compiler() {
  static cuda::NvrtcCompiler compiler;
  return compiler;
}

/// Whether the device lacks what the kernel requires.
bool lacks_features(const Space& space, const KernelTemplate& kernel, const Device& device) {
  const KernelBinding bound(space, kernel, space.problems.front(), device);
  const auto failure = exceeds_limits(bound.instantiate(kernel.default_configuration), device);
  return failure && failure->reason == "requires";
}

/// Entries of one kernel with what the space declares of them, each instantiation once.
using Declared = std::map<std::string, std::int64_t>;  ///< Static shared bytes by name expression.

/// Returns the entries of one configuration for every `stride`-th problem that has one, each time of
/// another configuration.
Declared declared(const Space& space, const KernelTemplate& kernel, const Device& device,
                  std::size_t stride) {
  std::vector<Problem> problems = space.problems;
  problems.insert(problems.end(), space.cpu_problems.begin(), space.cpu_problems.end());
  problems.insert(problems.end(), space.verify.also.begin(), space.verify.also.end());
  Declared result;
  std::size_t found = 0;
  for (const Problem& problem : problems) {
    const auto instance =
        sample_instance(KernelBinding(space, kernel, problem, device), device, found);
    if (!instance || found++ % stride != 0) continue;
    for (const LaunchShape& launch : instance->launches) {
      EXPECT_TRUE(launch.static_shared_bytes) << kernel.name << " declares no static memory";
      result.emplace(launch.name_expression, launch.static_shared_bytes.value_or(-1));
    }
  }
  return result;
}

CompileRequest request(const LoadedSpace& loaded, const KernelTemplate& kernel,
                       const std::string& architecture, std::vector<std::string> entries) {
  return {.architecture = architecture + (kernel.architecture_specific ? "a" : ""),
          .source = loaded.sources.at(kernel.name),
          .name_expressions = std::move(entries),
          .symbol_expressions = {},
          .options = kernel.options};
}

struct Sample {
  std::string space;
  std::string architecture;
  std::size_t stride;  ///< A kernel is compiled for every one of so many problems.
};

class ShippedTemplates : public testing::TestWithParam<Sample> {};

// No accepted configuration trips a static_assert, and the space declares the static shared memory
// that ptxas reports.
TEST_P(ShippedTemplates, CompileAsTheirSpaceDeclares) {
  const auto& [space, architecture, stride] = GetParam();
  const int nvrtc = 10 * compiler().nvrtc().major + compiler().nvrtc().minor;
  if (architecture == "sm_120" && nvrtc < 128) GTEST_SKIP() << "sm_120 came with CUDA 12.8";
  const LoadedSpace loaded = load(space);
  const Device device = find_device(load_devices(kRoot / "configs/devices.json"), architecture);
  for (const KernelTemplate& kernel : loaded.space.kernels) {
    if (lacks_features(loaded.space, kernel, device)) continue;
    const Declared entries = declared(loaded.space, kernel, device, stride);
    // An older GPU may lack what a kernel's constraints ask for: 8-bit floats came with sm_89.
    if (entries.empty() && architecture == "sm_80") continue;
    ASSERT_FALSE(entries.empty()) << kernel.name;
    std::vector<std::string> names;
    for (const auto& [name, bytes] : entries) names.push_back(name);
    // One program for all: much less work than one for each.
    const auto compiled = compiler().compile(request(loaded, kernel, architecture, names));
    ASSERT_TRUE(compiled) << kernel.name << ": " << compiled.failure().detail;
    for (const CompiledEntry& entry : compiled->entries) {
      EXPECT_EQ(entries.at(entry.name_expression), entry.resources.static_shared_bytes)
          << entry.name_expression;
    }
  }
}

/// Every shipped space for the oldest, the usual and the newest architecture.
std::vector<Sample> samples() {
  std::vector<Sample> samples;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "configs")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".json" || name == "schema" || name == "devices") continue;
    samples.push_back({name, "sm_80", 4});
    samples.push_back({name, "sm_90", 2});
    samples.push_back({name, "sm_120", 4});
  }
  std::ranges::sort(samples, {}, [](const Sample& s) { return s.space + s.architecture; });
  return samples;
}

INSTANTIATE_TEST_SUITE_P(Shipped, ShippedTemplates, testing::ValuesIn(samples()),
                         [](const auto& sample) {
                           return sample.param.space + "_" + sample.param.architecture;
                         });

// Tolerances can be derived for every space of floats.
TEST(Templates, OfReferencesCompileInDoublePrecision) {
  const Device device = find_device(load_devices(kRoot / "configs/devices.json"), "sm_90");
  for (const char* name :
       {"gemm", "convolution", "stencil1d", "stencil2d", "stencil3d", "add_one"}) {
    const LoadedSpace loaded = load(name);
    const KernelTemplate& reference = *loaded.space.kernel(loaded.space.verify.reference);
    const KernelTemplate wide = in_double(reference);
    const Problem problem = in_double(loaded.space.problems.front());
    const KernelInstance instance =
        KernelBinding(loaded.space, wide, problem, device).instantiate(wide.default_configuration);
    CompileRequest asked = request(loaded, wide, "sm_90", {});
    asked.source = in_double(loaded.sources.at(reference.name));
    for (const LaunchShape& launch : instance.launches) {
      EXPECT_EQ(launch.name_expression.find("float"), std::string::npos);
      asked.name_expressions.push_back(launch.name_expression);
    }
    for (const Argument& argument : instance.arguments) {
      if (argument.in_constant_memory()) asked.symbol_expressions.push_back(argument.symbol);
    }
    const auto compiled = compiler().compile(asked);
    EXPECT_TRUE(compiled) << name << ": " << (compiled ? "" : compiled.failure().detail);
  }
}

// The words of double_source.cpp stand for what there is.
TEST(Templates, OfOneOfEachFunctionCompileInDoublePrecision) {
  const KernelSource source = {.files = {{"k.cu", R"cuda(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define SCALE 0.5f
__constant__ float weights[4];
__device__ float4 twice(float4 v) { return make_float4(2.0f * v.x, v.y, v.z, v.w); }
__global__ void k(float* out, const __half* in, const __half2* pairs, const __nv_bfloat16* brain,
                  float alpha, int n) {
  __shared__ float tile[32];
  const int i = threadIdx.x;
  float x = SCALE * __half2float(in[i]) + __bfloat162float(brain[i]);
  x += sqrtf(x) + rsqrtf(x) + expf(x) + __expf(x) + __logf(x) + __sinf(x) + fmaf(x, alpha, 1.0f);
  x += fmaxf(x, 0.0f) + fminf(x, 1e-3f) + fabsf(x) + powf(x, 2.0f) + __powf(x, 3.0f) + tanhf(x);
  x += __fdividef(x, alpha) + __saturatef(x) + __fadd_rn(x, x) + __fmaf_rn(x, x, x) + __frcp_rn(x);
  x += static_cast<float>(__float2int_rn(x)) + __int2float_rn(n) + floorf(x) + erff(x) + exp2f(x);
  x += __shfl_down_sync(0xffffffffu, x, 1) + __ldg(out + i) + weights[i & 3];
  const __half2 sum = __hfma2(pairs[i], __hadd2(pairs[i], pairs[i]), __float2half2_rn(x));
  x += __low2float(sum) + __half22float2(sum).y + __half2float(__hmul(in[i], in[i]));
  tile[i] = x;
  __syncthreads();
  const float4 v = twice(*reinterpret_cast<const float4*>(&tile[i & ~3]));
  atomicAdd(out + i, v.x + (float)n);
}
)cuda"}}};
  for (const bool wide : {false, true}) {
    const auto compiled = compiler().compile({.architecture = "sm_90",
                                              .source = wide ? in_double(source) : source,
                                              .name_expressions = {"k"},
                                              .symbol_expressions = {},
                                              .options = {}});
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.failure().detail);
  }
}

// Kernels with headers of the toolkit find them.
TEST(Templates, MayIncludeTheToolkitsHeaders) {
  const std::vector<std::pair<std::string, std::string>> uses = {
      {"cuda_fp16.h", "out[0] = __half2float(__float2half(out[1]));"},
      {"cuda_bf16.h", "out[0] = __bfloat162float(__float2bfloat16(out[1]));"},
      {"mma.h",
       "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;"
       "nvcuda::wmma::fill_fragment(c, 1.0f);"
       "nvcuda::wmma::store_matrix_sync(out, c, 16, nvcuda::wmma::mem_row_major);"},
      {"cooperative_groups.h",
       "auto block = cooperative_groups::this_thread_block(); block.sync(); out[0] = "
       "block.size();"},
      {"cooperative_groups/reduce.h",
       "auto block = cooperative_groups::this_thread_block();"
       "auto warp = cooperative_groups::tiled_partition<32>(block);"
       "out[0] = cooperative_groups::reduce(warp, out[1], cooperative_groups::plus<float>());"},
      {"cuda/std/array", "cuda::std::array<float, 2> a = {1, 2}; out[0] = a[1];"},
      {"cuda/std/limits", "out[0] = cuda::std::numeric_limits<float>::max();"},
      {"cuda/std/type_traits", "out[0] = cuda::std::is_same<float, float>::value;"},
      {"cub/block/block_reduce.cuh",
       "using Reduce = cub::BlockReduce<float, 128>; __shared__ Reduce::TempStorage storage;"
       "out[0] = Reduce(storage).Sum(out[1]);"},
      {"cuda/barrier",
       "__shared__ cuda::barrier<cuda::thread_scope_block> barrier;"
       "if (threadIdx.x == 0) init(&barrier, blockDim.x); __syncthreads(); "
       "barrier.arrive_and_wait();"},
      {"cuda/pipeline",
       "auto pipe = cuda::make_pipeline(); pipe.producer_acquire(); pipe.producer_commit();"
       "pipe.consumer_wait(); pipe.consumer_release();"}};
  for (const auto& [header, body] : uses) {
    // CUB came to NVRTC with toolkit 12.
    if (header.starts_with("cub/") && compiler().nvrtc().major < 12) continue;
    const std::string text =
        "#include <" + header + ">\n__global__ void k(float* out) { " + body + " }\n";
    const auto compiled = compiler().compile({.architecture = "sm_90",
                                              .source = {.files = {{"k.cu", text}}},
                                              .name_expressions = {"k"},
                                              .symbol_expressions = {},
                                              .options = {}});
    EXPECT_TRUE(compiled) << header << ": " << (compiled ? "" : compiled.failure().detail);
  }
}

// What `run --profile` launches is what was tuned.
TEST(Templates, AreTheSameCodeWithLinesOfTheSource) {
  const LoadedSpace loaded = load("gemm");
  CompileRequest asked = request(loaded, *loaded.space.kernel("tiled"), "sm_90",
                                 {"gemm_tiled<float, 32, 8, 4, 4, 0>"});
  const auto plain = compiler().compile(asked);
  asked.options.push_back("-lineinfo");
  const auto with_lines = compiler().compile(asked);
  ASSERT_TRUE(plain && with_lines);
  ASSERT_FALSE(plain->entries.front().code_sha256.empty());
  EXPECT_EQ(plain->entries.front().code_sha256, with_lines->entries.front().code_sha256);
  EXPECT_EQ(plain->entries.front().resources, with_lines->entries.front().resources);
  const std::string image(with_lines->image.begin(), with_lines->image.end());
  EXPECT_NE(image.find("gemm_tiled.cu"), std::string::npos) << "the line table names no source";
}

/// The message of the compiler for one instantiation.
std::string refusal(const std::string& space, const std::string& kernel, const std::string& entry) {
  const LoadedSpace loaded = load(space);
  const auto compiled =
      compiler().compile(request(loaded, *loaded.space.kernel(kernel), "sm_90", {entry}));
  return compiled ? "" : compiled.failure().detail;
}

// What the copy engine does not take is rejected by name, before anything is compiled; what no tile
// divides is not.
TEST(Templates, SayWhichSizesTheCopyEngineDoesNotTake) {
  const Device device = find_device(load_devices(kRoot / "configs/devices.json"), "sm_90");
  struct Case {
    std::string space;
    std::string problem;
    std::string reason;  ///< Empty: the sizes are taken.
  };
  const std::vector<Case> cases = {
      {"gemm_tc", "K=1001,M=77,N=264,OUT=float,T=__half,TRANSPOSED=0", "a has 2002 bytes"},
      {"gemm_tc", "K=1000,M=77,N=260,OUT=float,T=__half,TRANSPOSED=0", "b has 520 bytes"},
      {"gemm_tc", "K=1000,M=77,N=260,OUT=float,T=__half,TRANSPOSED=1", ""},
      {"gemm_tc", "K=1000,M=77,N=260,OUT=__half,T=__half,TRANSPOSED=1", "c has 520 bytes"},
      {"gemm_fp8", "FAST=0,K=1000,M=77,N=264,OUT=float", "a has 1000 bytes"},
      {"gemm_fp8", "FAST=0,K=1008,M=77,N=264,OUT=float", ""},
      {"gemm_int8", "K=1008,M=77,N=264,OUT=int8_t", "c has 264 bytes"},
      {"gemm_int8", "K=1008,M=77,N=264,OUT=int", ""}};
  for (const auto& [space, problem, reason] : cases) {
    const LoadedSpace loaded = load(space);
    const KernelTemplate& kernel = *loaded.space.kernel("wgmma");
    const KernelBinding bound(loaded.space, kernel, parse_key(problem), device);
    const auto failure = exceeds_limits(bound.instantiate(kernel.default_configuration), device);
    EXPECT_EQ(failure.has_value(), !reason.empty()) << problem;
    if (!failure) continue;
    EXPECT_EQ(failure->reason, "tensor_map") << problem;
    EXPECT_THAT(failure->detail, testing::HasSubstr("the tensor map of " + reason)) << problem;
    EXPECT_THAT(failure->detail, testing::HasSubstr("a multiple of 16 is needed")) << problem;
  }
}

// Where rows begin anywhere, warps copy what the copy engine does not take, and only there.
TEST(Templates, CopyByWarpsWhatTheCopyEngineDoesNotTake) {
  const Device device = find_device(load_devices(kRoot / "configs/devices.json"), "sm_90");
  const LoadedSpace loaded = load("gemm_tc");
  const auto takes = [&](const std::string& kernel, const std::string& problem) {
    const KernelTemplate& found = *loaded.space.kernel(kernel);
    const KernelBinding bound(loaded.space, found, parse_key(problem), device);
    return bound.satisfies_constraints(found.default_configuration) &&
           !exceeds_limits(bound.instantiate(found.default_configuration), device);
  };
  for (const char* const problem : {"K=1001,M=2047,N=2048,OUT=__half,T=__half,TRANSPOSED=0",
                                    "K=1000,M=2047,N=2048,OUT=__half,T=__half,TRANSPOSED=0",
                                    "K=1000,M=2047,N=2044,OUT=__half,T=__half,TRANSPOSED=0",
                                    "K=1000,M=2047,N=2044,OUT=float,T=__half,TRANSPOSED=0",
                                    "K=1000,M=2047,N=2044,OUT=float,T=__half,TRANSPOSED=1",
                                    "K=1000,M=2047,N=2045,OUT=float,T=__half,TRANSPOSED=1"}) {
    EXPECT_NE(takes("wgmma", problem), takes("wgmma_of_copies", problem)) << problem;
  }
}

TEST(Templates, RefuseWhatWouldBeWrong) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("add_one", "add_one", "add_one<double, 128, 1, 4>"),
              HasSubstr("at most 16 bytes"));
  EXPECT_THAT(refusal("convolution", "naive", "convolution_naive<32, 8, 33, 32>"),
              HasSubstr("at most 1024 coefficients"));
  EXPECT_THAT(refusal("convolution", "tiled", "convolution_tiled<32, 4, 1, 1, 0, 1, 1, 3, 3>"),
              HasSubstr("read by half warps"));
  EXPECT_THAT(refusal("convolution", "tiled", "convolution_tiled<256, 4, 4, 4, 0, 0, 1, 15, 15>"),
              HasSubstr("ends at 48 KB"));
  EXPECT_THAT(refusal("gemm", "naive", "gemm_naive<float, 64, 32>"), HasSubstr("1 to 1024"));
  EXPECT_THAT(refusal("gemm", "tiled", "gemm_tiled<float, 32, 8, 3, 1, 0>"),
              HasSubstr("whole number of rows"));
  EXPECT_THAT(refusal("gemm", "tiled", "gemm_tiled<double, 128, 32, 8, 8, 0>"),
              HasSubstr("ends at 48 KB"));
  EXPECT_THAT(refusal("gemm", "buffered", "gemm_buffered<float, 32, 8, 1, 1, 0>"),
              HasSubstr("same number of elements"));
  EXPECT_THAT(
      refusal("gemm", "register_tiled", "gemm_register_tiled<float, 4, 96, 32, 8, 16, 8, 2, 1, 1>"),
      HasSubstr("whole warps"));
  EXPECT_THAT(
      refusal("gemm", "register_tiled", "gemm_register_tiled<float, 4, 64, 64, 8, 8, 2, 2, 1, 1>"),
      HasSubstr("pieces of 16 bytes"));
  EXPECT_THAT(refusal("gemm", "stream_k", "gemm_stream_k<float, 8, 128, 128, 8, 8, 8, 2, 1>"),
              HasSubstr("at most 16 bytes"));
  EXPECT_THAT(
      refusal("gemm_tc", "mma", "gemm_tc_mma<int8_t, int, 1, 16, 16, 64, 64, 32, 32, 64, 2>"),
      HasSubstr("sums of products of 8 bits are scaled"));
  EXPECT_THAT(refusal("gemm_tc", "wgmma",
                      "gemm_tc_wgmma<__half, float, 0, 0, 64, 160, 1, 4, 1, 1, 1, 1, 0>"),
              HasSubstr("boxes have 64 columns of B"));
  EXPECT_THAT(refusal("gemm_tc", "wgmma_of_copies",
                      "gemm_tc_wgmma_of_copies<__half, float, 1, 1, 1, 0, 1, 64, 72, 1, 4, 1, 0>"),
              HasSubstr("whole rows of all warps"));
  EXPECT_THAT(refusal("gemm_fp8", "wgmma",
                      "gemm_tc_wgmma_scaled<__nv_fp8_e4m3, float, 0, 64, 64, 1, 4, 1, 1, 1, 1>"),
              HasSubstr("complete before they are added"));
  EXPECT_THAT(refusal("convolution", "rows", "convolution_rows<4, 128, 2, 64, 3, 3>"),
              HasSubstr("whole accesses"));
  EXPECT_THAT(refusal("stencil1d", "grouped", "stencil1d_grouped<float, 1, 128, 1>"),
              HasSubstr("a whole group"));
  EXPECT_THAT(refusal("stencil1d", "shared", "stencil1d_shared<float, 5000, 1024, 8, 0, 1>"),
              HasSubstr("ends at 48 KB"));
}

}  // namespace
}  // namespace smemtune
