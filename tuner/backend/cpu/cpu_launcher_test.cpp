#include "tuner/backend/cpu/cpu_launcher.h"

#include "tuner/backend/cpu/kernel_test_support.h"
#include "tuner/core/element_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace smemtune::cpu {
namespace {

// Every kernel of these tests, compiled once.
const char* const kSource = R"cuda(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void triple(const __nv_fp8_e4m3* in, __nv_fp8_e4m3* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __nv_fp8_e4m3(static_cast<float>(in[i]) * 3);
}

template <typename T>
__global__ void add_one(T* array, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) array[i] += T(1);
}

template <typename T, int TILE>
__global__ void __launch_bounds__(TILE* TILE)
    gemm(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n, int k) {
  __shared__ T a_tile[TILE][TILE + 1], b_tile[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y;
  const int column = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
  for (int first = 0; first < k; first += TILE) {
    const int i = first + threadIdx.x, j = first + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * k + i] : T(0);
    b_tile[threadIdx.y][threadIdx.x] = j < k && column < n ? b[j * n + column] : T(0);
    __syncthreads();
#pragma unroll
    for (int l = 0; l < TILE; ++l) sum += a_tile[threadIdx.y][l] * b_tile[l][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

template <int RADIUS>
__global__ void stencil(const int* in, int* out, int n) {
  extern __shared__ __align__(16) unsigned char bytes[];
  int* const tile = reinterpret_cast<int*>(bytes);
  const int first = blockIdx.x * blockDim.x;
  for (int i = threadIdx.x; i < blockDim.x + 2 * RADIUS; i += blockDim.x) {
    tile[i] = first + i < n + 2 * RADIUS ? in[first + i] : 0;
  }
  __syncthreads();
  if (first + threadIdx.x >= n) return;
  int sum = 0;
  for (int i = 0; i <= 2 * RADIUS; ++i) sum += tile[threadIdx.x + i];
  out[first + threadIdx.x] = sum;
}

__device__ __forceinline__ float warp_sum(float value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffff, value, offset);
  }
  return value;
}

__global__ void block_sums(const float* in, float* sums, int n) {
  __shared__ float warp_sums[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = warp_sum(i < n ? in[i] : 0.0f);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  }
}

__global__ void total(const float* sums, float* out, int count) {
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += 32) sum += sums[i];
  for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (threadIdx.x == 0) *out = sum;
}

__global__ void step_from(const int* from, int* to, int n, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = 10 * from[i] + step;
}

__global__ void votes(const int* in, int* out) {
  const int lane = threadIdx.x & 31;
  const bool odd = in[threadIdx.x] & 1;
  const unsigned ballot = __ballot_sync(0xffffffff, odd);
  const int before = __popc(ballot & ((1u << lane) - 1));
  const int up = __shfl_up_sync(0xffffffff, lane, 1, 8);
  const int third = __shfl_sync(0xffffffff, lane, 3, 16);
  const int count = __syncthreads_count(odd);
  const int any = __syncthreads_or(threadIdx.x == 70);
  const int all = __syncthreads_and(threadIdx.x != 70);
  int* const mine = out + 8 * threadIdx.x;
  mine[0] = before;
  mine[1] = up;
  mine[2] = third;
  mine[3] = count;
  mine[4] = any * 2 + all;
  mine[5] = __any_sync(0xffffffff, odd) + 2 * __all_sync(0xffffffff, lane < 32);
  mine[6] = __reduce_max_sync(0xffffffff, in[threadIdx.x]);
  // Two halves of each warp on their own.
  const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  mine[7] = __popc(__ballot_sync(half, lane % 4 == 0));
}

__global__ void groups(const int* in, int* out) {
  __shared__ int sums[8];
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  const int value = in[block.thread_rank()];
  int sum = value;
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
  if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = sum;
  cg::sync(block);
  int* const mine = out + 4 * block.thread_rank();
  mine[0] = sums[tile.meta_group_rank()];
  mine[1] = cg::reduce(tile, value, cg::plus<int>());
  mine[2] = cg::reduce(tile, value, cg::greater<int>());
  mine[3] = tile.ballot(tile.thread_rank() < 3);
}

__global__ void histogram(const unsigned* in, unsigned* bins, int n) {
  __shared__ unsigned counts[16];
  if (threadIdx.x < 16) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&counts[in[i] % 16], 1);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(bins + threadIdx.x, counts[threadIdx.x]);
}

__constant__ float weights[4];

__global__ void weighted(const float4* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = __ldg(in + i);
  out[i] = fmaf(v.x, weights[0], v.y * weights[1]) + __fmaf_rn(v.z, weights[2], v.w * weights[3]);
}

template <typename T>
__global__ void scale(const T* in, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * T(3) + T(1);
}

__global__ void fetch(cudaTextureObject_t scalars, cudaTextureObject_t vectors, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 vector;
  tex1Dfetch(&vector, vectors, i);
  out[i] = tex1Dfetch<short>(scalars, i) + vector.w;
}

__global__ void copy_async(const float* in, float* out) {
  __shared__ alignas(16) float tile[256];
  __pipeline_memcpy_async(&tile[4 * threadIdx.x], in + 4 * threadIdx.x, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

namespace shared_outside {
__shared__ double outside[64];
extern __shared__ int dynamic_outside[];
}  // namespace shared_outside

template <typename T>
__device__ T from_neighbor(T value) {
  __shared__ volatile T values[64];
  values[threadIdx.x] = value;
  __syncthreads();
  return values[threadIdx.x ^ 1];
}

__global__ void neighbors(int* out) {
  using namespace shared_outside;
  outside[threadIdx.x] = from_neighbor(0.5 * threadIdx.x);
  dynamic_outside[threadIdx.x] = from_neighbor(int(threadIdx.x));
  __syncthreads();
  out[threadIdx.x] = int(2 * outside[63 - threadIdx.x]) + dynamic_outside[0];
}

__global__ void dimensions(int* out) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = 1000 * block + thread;
}
)cuda";

class Kernels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto outcome =
        compile(kSource,
                {"add_one<int>", "add_one<double>", "gemm<float, 8>", "gemm<double, 16>",
                 "stencil<3>", "block_sums", "total", "step_from", "votes", "groups", "histogram",
                 "weighted", "fetch", "scale<__half>", "scale<__nv_bfloat16>", "triple",
                 "copy_async", "neighbors", "dimensions"},
                {"weights"});
    ASSERT_TRUE(outcome) << outcome.failure().detail;
    compiled_ = new CompiledKernel(*outcome);
  }
  static void TearDownTestSuite() { delete std::exchange(compiled_, nullptr); }

  RunReport run(const std::vector<LaunchShape>& launches, const std::vector<Argument>& arguments) {
    CpuLauncher launcher(test_limits(), options);
    const auto report = run_once(launcher, *compiled_, launches, arguments);
    EXPECT_TRUE(report) << report.failure().reason << ": " << report.failure().detail;
    if (!report) return {};
    EXPECT_FALSE(report->mismatch)
        << report->mismatch->reason << " in " << report->mismatch->argument << "["
        << report->mismatch->index << "]";
    return *report;
  }

  std::int64_t shared_bytes(const std::string& entry) const {
    return compiled_->entry(entry)->resources.static_shared_bytes;
  }

  static CompiledKernel* compiled_;
  CpuOptions options;
};

CompiledKernel* Kernels::compiled_ = nullptr;

TEST_F(Kernels, AddOneToInts) {
  const Argument array = buffer("array", ScalarType::int32, Role::inout, 1001,
                                {.kind = Init::Kind::iota, .a = 0, .b = 0, .file = {}});
  const RunReport report = run({shape("add_one<int>", {8, 1, 1}, {128, 1, 1}, {"array", "n"})},
                               {array, integer("n", 1001)});
  for (std::size_t i = 0; i < 1001; ++i) {
    ASSERT_EQ(report.before.at("array")[i] + 1, report.after.at("array")[i]) << i;
  }
}

TEST_F(Kernels, MultiplyMatricesThatTheTileDoesNotDivide) {
  for (const auto& [entry, tile, type] :
       {std::tuple{"gemm<float, 8>", 8, ScalarType::float32},
        std::tuple{"gemm<double, 16>", 16, ScalarType::float64}}) {
    const std::int64_t m = 37, n = 41, k = 29;
    const RunReport report =
        run({shape(entry, {(n + tile - 1) / tile, (m + tile - 1) / tile, 1}, {tile, tile, 1},
                   {"a", "b", "c", "m", "n", "k"})},
            {input("a", type, m * k), input("b", type, k * n), output("c", type, m * n),
             integer("m", m), integer("n", n), integer("k", k)});
    const auto& a = report.before.at("a").doubles();
    const auto& b = report.before.at("b").doubles();
    for (std::size_t row = 0; row < 37; ++row) {
      for (std::size_t column = 0; column < 41; ++column) {
        double sum = 0;
        for (std::size_t i = 0; i < 29; ++i) sum += a[row * 29 + i] * b[i * 41 + column];
        ASSERT_NEAR(sum, report.after.at("c")[row * 41 + column], 1e-3);
      }
    }
  }
  EXPECT_EQ((8 * 9 + 8 * 8) * 4, shared_bytes("gemm<float, 8>"));
  EXPECT_EQ((16 * 17 + 16 * 16) * 8, shared_bytes("gemm<double, 16>"));
}

TEST_F(Kernels, AddUpAStencilWithAHaloInDynamicSharedMemory) {
  const RunReport report =
      run({shape("stencil<3>", {8, 1, 1}, {128, 1, 1}, {"in", "out", "n"}, (128 + 6) * 4)},
          {input("in", ScalarType::int32, 1006), output("out", ScalarType::int32, 1000),
           integer("n", 1000)});
  for (std::size_t i = 0; i < 1000; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j <= 6; ++j) sum += report.before.at("in")[i + j];
    ASSERT_EQ(sum, report.after.at("out")[i]) << i;
  }
  EXPECT_EQ(0, shared_bytes("stencil<3>"));
}

TEST_F(Kernels, ReduceInTwoLaunchesWithShuffles) {
  const RunReport report =
      run({shape("block_sums", {5, 1, 1}, {224, 1, 1}, {"in", "sums", "n"}),
           shape("total", {1, 1, 1}, {32, 1, 1}, {"sums", "out", "count"})},
          {input("in", ScalarType::float32, 1100),
           buffer("sums", ScalarType::float32, Role::scratch, 5),
           output("out", ScalarType::float32, 1), integer("n", 1100), integer("count", 5)});
  double sum = 0;
  for (const double element : report.before.at("in").doubles()) sum += element;
  EXPECT_NEAR(sum, report.after.at("out")[0], 1e-3);
  EXPECT_EQ(32 * 4, shared_bytes("block_sums"));
  EXPECT_EQ(0, shared_bytes("total"));
}

TEST_F(Kernels, VoteAndShuffleAsWarpsDo) {
  const RunReport report =
      run({shape("votes", {1, 1, 1}, {96, 1, 1}, {"in", "out"})},
          {input("in", ScalarType::int32, 96), output("out", ScalarType::int32, 8 * 96)});
  const std::vector<double> out = report.after.at("out").doubles();
  const auto& in = report.before.at("in").doubles();
  const auto is_odd = [&](int i) {
    return (static_cast<int>(in[static_cast<std::size_t>(i)]) & 1) != 0;
  };
  int odd_in_all = 0;
  for (int i = 0; i < 96; ++i) odd_in_all += is_odd(i) ? 1 : 0;
  for (int i = 0; i < 96; ++i) {
    const int lane = i % 32;
    int before = 0;
    int any = 0;
    double largest = -100;
    for (int j = i - lane; j < i - lane + 32; ++j) {
      if (j < i && is_odd(j)) ++before;
      if (is_odd(j)) any = 1;
      largest = std::max(largest, in[static_cast<std::size_t>(j)]);
    }
    const std::vector<double> expected = {static_cast<double>(before),
                                          static_cast<double>(lane % 8 == 0 ? lane : lane - 1),
                                          static_cast<double>(lane - lane % 16 + 3),
                                          static_cast<double>(odd_in_all),
                                          2,
                                          static_cast<double>(any + 2),
                                          largest,
                                          4};
    const auto begin = out.begin() + 8 * i;
    EXPECT_EQ(expected, std::vector<double>(begin, begin + 8)) << i;
  }
}

TEST_F(Kernels, WorkTogetherInGroups) {
  const RunReport report =
      run({shape("groups", {1, 1, 1}, {16, 6, 1}, {"in", "out"})},
          {input("in", ScalarType::int32, 96), output("out", ScalarType::int32, 4 * 96)});
  const std::vector<double> out = report.after.at("out").doubles();
  const auto& in = report.before.at("in").doubles();
  for (int i = 0; i < 96; ++i) {
    const auto tile = in.begin() + i / 16 * 16;
    const double sum = std::accumulate(tile, tile + 16, 0.0);
    const std::vector<double> expected = {sum, sum, *std::max_element(tile, tile + 16), 7};
    const auto begin = out.begin() + 4 * i;
    EXPECT_EQ(expected, std::vector<double>(begin, begin + 4)) << i;
  }
}

TEST_F(Kernels, CountWithAtomicsInSharedAndGlobalMemory) {
  Argument bins = buffer("bins", ScalarType::uint32, Role::inout, 16,
                         {.kind = Init::Kind::zero, .a = 0, .b = 0, .file = {}});
  Argument in = buffer("in", ScalarType::uint32, Role::input, 5000,
                       {.kind = Init::Kind::uniform, .a = 0, .b = 99, .file = {}});
  const RunReport report = run({shape("histogram", {7, 1, 1}, {96, 1, 1}, {"in", "bins", "n"})},
                               {in, bins, integer("n", 5000)});
  std::vector<double> expected(16);
  for (const double element : report.before.at("in").doubles()) {
    expected[static_cast<std::size_t>(element) % 16] += 1;
  }
  EXPECT_EQ(expected, report.after.at("bins").doubles());
}

TEST_F(Kernels, ReadConstantMemoryAndVectors) {
  Argument weights = input("weights", ScalarType::float32, 4);
  weights.memory = MemorySpace::constant;
  weights.symbol = "weights";
  const RunReport report = run({shape("weighted", {3, 1, 1}, {64, 1, 1}, {"in", "out", "n"})},
                               {weights, input("in", ScalarType::float32, 4 * 150),
                                output("out", ScalarType::float32, 150), integer("n", 150)});
  for (std::size_t i = 0; i < 150; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      sum += report.before.at("weights")[j] * report.before.at("in")[4 * i + j];
    }
    ASSERT_NEAR(sum, report.after.at("out")[i], 1e-4) << i;
  }
}

TEST_F(Kernels, FetchFromTextures) {
  Argument scalars = input("scalars", ScalarType::int16, 150);
  scalars.memory = MemorySpace::texture;
  Argument vectors = input("vectors", ScalarType::float32, 150);
  vectors.shape = {150, 4};
  vectors.memory = MemorySpace::texture;
  const RunReport report =
      run({shape("fetch", {3, 1, 1}, {64, 1, 1}, {"scalars", "vectors", "out", "n"})},
          {scalars, vectors, output("out", ScalarType::float32, 150), integer("n", 150)});
  for (std::size_t i = 0; i < 150; ++i) {
    EXPECT_EQ(static_cast<float>(report.before.at("scalars")[i]) +
                  static_cast<float>(report.before.at("vectors")[4 * i + 3]),
              report.after.at("out")[i])
        << i;
  }
}

TEST_F(Kernels, RoundSixteenBitFloatsAsTheirFormatsSay) {
  for (const auto& [entry, type] : {std::pair{"scale<__half>", ScalarType::float16},
                                    std::pair{"scale<__nv_bfloat16>", ScalarType::bfloat16}}) {
    const RunReport report =
        run({shape(entry, {2, 1, 1}, {64, 1, 1}, {"in", "out", "n"})},
            {input("in", type, 128), output("out", type, 128), integer("n", 128)});
    for (std::size_t i = 0; i < 128; ++i) {
      const double product = to_doubles(encode(report.before.at("in")[i] * 3, type), type)[0];
      const double expected = to_doubles(encode(product + 1, type), type)[0];
      ASSERT_EQ(expected, report.after.at("out")[i]) << entry << " " << i;
    }
  }
}

TEST_F(Kernels, RoundEveryEightBitFloatAsItsFormatSays) {
  Argument in = input("in", ScalarType::float8_e4m3, 256);
  // Beyond the largest number, and among the subnormal numbers.
  for (const double range : {448.0, 0x1p-5}) {
    in.init.a = -range;
    in.init.b = range;
    const RunReport report =
        run({shape("triple", {4, 1, 1}, {64, 1, 1}, {"in", "out", "n"})},
            {in, output("out", ScalarType::float8_e4m3, 256), integer("n", 256)});
    for (std::size_t i = 0; i < 256; ++i) {
      const double product = report.before.at("in")[i] * 3;
      ASSERT_EQ(to_doubles(encode(product, ScalarType::float8_e4m3), ScalarType::float8_e4m3)[0],
                report.after.at("out")[i])
          << product;
    }
  }
}

TEST_F(Kernels, CopyAsynchronously) {
  const RunReport report =
      run({shape("copy_async", {1, 1, 1}, {64, 1, 1}, {"in", "out"})},
          {input("in", ScalarType::float32, 256), output("out", ScalarType::float32, 64)});
  for (std::size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(report.before.at("in")[255 - i], report.after.at("out")[i]) << i;
  }
}

TEST_F(Kernels, ShareMemoryOfFunctionsAndNamespaces) {
  const RunReport report = run({shape("neighbors", {3, 1, 1}, {64, 1, 1}, {"out"}, 64 * 4)},
                               {output("out", ScalarType::int32, 64)});
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(((63 - i) ^ 1) + 1, report.after.at("out")[static_cast<std::size_t>(i)]) << i;
  }
  EXPECT_EQ(64 * 8 + 64 * 8 + 64 * 4, shared_bytes("neighbors"));
}

TEST_F(Kernels, KnowWhereTheyAre) {
  const RunReport report = run({shape("dimensions", {3, 2, 4}, {5, 3, 2}, {"out"})},
                               {output("out", ScalarType::int32, 24 * 30)});
  for (std::size_t block = 0; block < 24; ++block) {
    for (std::size_t thread = 0; thread < 30; ++thread) {
      ASSERT_EQ(1000.0 * static_cast<double>(block) + static_cast<double>(thread),
                report.after.at("out")[block * 30 + thread]);
    }
  }
}

TEST_F(Kernels, GiveTheSameInAnyOrderOfThreads) {
  options.shuffle_threads = true;
  for (const std::uint64_t seed : {1u, 2u}) {
    options.seed = seed;
    const RunReport report = run({shape("block_sums", {5, 1, 1}, {224, 1, 1}, {"in", "sums", "n"})},
                                 {input("in", ScalarType::float32, 1100),
                                  output("sums", ScalarType::float32, 5), integer("n", 1100)});
    double sum = 0;
    for (const double element : report.before.at("in").doubles()) sum += element;
    double sum_of_sums = 0;
    for (const double element : report.after.at("sums").doubles()) sum_of_sums += element;
    EXPECT_NEAR(sum, sum_of_sums, 1e-3);
  }
}

TEST_F(Kernels, MayWriteAnyNumberOfPartialSums) {
  CpuLauncher launcher(test_limits());
  Argument sums = buffer("sums", ScalarType::float32, Role::inout, 9,
                         {.kind = Init::Kind::zero, .a = 0, .b = 0, .file = {}});
  sums.compares_sum = true;
  const std::vector<Argument> arguments = {input("in", ScalarType::float32, 1100), sums,
                                           integer("n", 1100), integer("less", 1099)};
  ASSERT_TRUE(launcher.prepare(0, {.arguments = arguments, .seed = 1}));
  const auto report = [&](std::int64_t blocks, const char* n, bool as_reference) {
    const auto loaded = launcher.load(
        0, *compiled_, {shape("block_sums", {blocks, 1, 1}, {224, 1, 1}, {"in", "sums", n})},
        arguments);
    RunRequest request;
    request.as_reference = as_reference;
    request.tolerance = {.absolute = 1e-2, .relative = {}};
    return *launcher.run(loaded->handle, request);
  };
  EXPECT_FALSE(report(5, "n", true).mismatch);
  EXPECT_FALSE(report(9, "n", false).mismatch);
  EXPECT_LT(report(9, "n", false).max_absolute_error, 1e-2);
  const auto wrong = report(4, "n", false).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ("mismatch", wrong->reason);
  EXPECT_EQ(0, wrong->count);
  EXPECT_NE(wrong->value, wrong->expected);
  EXPECT_TRUE(report(5, "less", false).mismatch);
}

TEST_F(Kernels, TakeTheScalarsOfTheirConfiguration) {
  CpuLauncher launcher(test_limits());
  std::vector<Argument> arguments = {buffer("array", ScalarType::int32, Role::inout, 64,
                                            {.kind = Init::Kind::zero, .a = 0, .b = 0, .file = {}}),
                                     integer("n", 64)};
  ASSERT_TRUE(launcher.prepare(0, {.arguments = arguments, .seed = 1}));
  arguments[1] = integer("n", 10);
  const auto loaded = launcher.load(
      0, *compiled_, {shape("add_one<int>", {1, 1, 1}, {64, 1, 1}, {"array", "n"})}, arguments);
  ASSERT_TRUE(loaded) << loaded.failure().detail;
  const auto report =
      launcher.run(loaded->handle,
                   {.workload = 0, .as_reference = true, .tolerance = {}, .download = {"array"}});
  ASSERT_TRUE(report) << report.failure().detail;
  const std::vector<double>& array = report->after.at("array").doubles();
  EXPECT_EQ(10, std::accumulate(array.begin(), array.end(), 0.0));
}

// Scratch has neither too little room after a smaller configuration, nor after a larger one so much
// that an overrun is not seen.
TEST_F(Kernels, HaveScratchOfTheSizeThatTheirConfigurationWants) {
  CpuLauncher launcher(test_limits());
  const auto arguments = [](std::int64_t blocks) {
    return std::vector<Argument>{input("in", ScalarType::float32, 1100),
                                 buffer("sums", ScalarType::float32, Role::scratch, blocks),
                                 output("out", ScalarType::float32, 1), integer("n", 1100),
                                 integer("count", blocks)};
  };
  ASSERT_TRUE(launcher.prepare(0, {.arguments = arguments(5), .seed = 1}));
  const auto run = [&](std::int64_t room, std::int64_t blocks, bool as_reference) {
    const auto loaded =
        launcher.load(0, *compiled_,
                      {shape("block_sums", {blocks, 1, 1}, {224, 1, 1}, {"in", "sums", "n"}),
                       shape("total", {1, 1, 1}, {32, 1, 1}, {"sums", "out", "count"})},
                      arguments(room));
    RunRequest request;
    request.as_reference = as_reference;
    return launcher.run(loaded->handle, request);
  };
  ASSERT_TRUE(run(5, 5, true));
  const auto larger = run(5000, 5000, false);
  ASSERT_TRUE(larger) << larger.failure().detail;
  EXPECT_FALSE(larger->mismatch);
  const auto overrun = run(5, 6, false);
  ASSERT_FALSE(overrun);
  EXPECT_EQ("overrun", overrun.failure().reason);
}

TEST_F(Kernels, AreRepeatedWithSwappedBuffersAndChangedScalars) {
  CpuLauncher launcher(test_limits());
  const std::vector<Argument> arguments = {
      buffer("a", ScalarType::int32, Role::inout, 3, {.kind = Init::Kind::iota, .file = {}}),
      buffer("b", ScalarType::int32, Role::output, 3), integer("n", 3), integer("step", 0)};
  LaunchShape launch = shape("step_from", {1, 1, 1}, {32, 1, 1}, {"a", "b", "n", "step"});
  launch.times = 3;
  for (int i = 0; i < 3; ++i) {
    const bool is_odd = i % 2 == 1;
    launch.repetitions.push_back(
        {.turn = i,
         .grid = launch.grid,
         .block = launch.block,
         .arguments = {is_odd ? "b" : "a", is_odd ? "a" : "b", "n", "step"},
         .scalars = {integer("step", i + 1)}});
  }
  const auto report = run_once(launcher, *compiled_, {launch}, arguments);
  ASSERT_TRUE(report) << report.failure().detail;
  EXPECT_EQ(std::nullopt, report->mismatch);
  EXPECT_EQ((std::vector<double>{123, 1123, 2123}), report->after.at("b").doubles());
  EXPECT_EQ((std::vector<double>{12, 112, 212}), report->after.at("a").doubles());
}

/// A kernel in which each thread writes what its neighbor has read.
std::string neighbors(const std::string& between) {
  return "__global__ void swap(float* out, const float* in) {\n"
         "  __shared__ float tile[64];\n"
         "  tile[threadIdx.x] = in[threadIdx.x];\n" +
         between +
         "  out[blockIdx.x % 7 * 64 + threadIdx.x] = tile[threadIdx.x ^ 1];\n"
         "}\n";
}

Outcome<LookReport> look_at(const std::string& source, const std::vector<Dim3>& grids,
                            double seconds) {
  CpuLauncher launcher(test_limits());
  const std::vector<Argument> arguments = {output("out", ScalarType::float32, 448),
                                           input("in", ScalarType::float32, 64)};
  const auto compiled = compile(source, {"swap"});
  if (!compiled) return compiled.failure();
  std::vector<LaunchShape> launches;
  for (const Dim3& grid : grids) launches.push_back(shape("swap", grid, {64, 1, 1}, {"out", "in"}));
  const auto prepared = launcher.prepare(0, {.arguments = arguments, .seed = 1});
  if (!prepared) return prepared.failure();
  const auto loaded = launcher.load(0, *compiled, launches, arguments);
  if (!loaded) return loaded.failure();
  return launcher.look(loaded->handle, 0, seconds);
}

TEST(Look, SeesEveryBlockOfAllLaunchesWhereThereIsTime) {
  const auto report = look_at(neighbors("__syncthreads();"), {{7, 1, 1}, {2, 3, 2}}, 600);
  ASSERT_TRUE(report) << report.failure().detail;
  EXPECT_EQ((LookReport{.blocks = 19, .blocks_total = 19}), *report);
}

TEST(Look, EndsWhenItsTimeIsUpAndLeavesOutWhatFollows) {
  const auto report =
      look_at(neighbors("__syncthreads();"), {{1'000'000'000, 1, 1}, {7, 1, 1}}, 0.05);
  ASSERT_TRUE(report) << report.failure().detail;
  EXPECT_EQ(1'000'000'007u, report->blocks_total);
  EXPECT_GT(report->blocks, 0u);
  EXPECT_LT(report->blocks, 1'000'000'000u);
}

TEST(Look, RunsOneBlockWhateverTheTime) {
  const auto report = look_at(neighbors("__syncthreads();"), {{1000, 1, 1}}, 0);
  ASSERT_TRUE(report) << report.failure().detail;
  EXPECT_EQ(1u, report->blocks);
}

TEST(Look, FindsARaceAndTheFaultOfTheLastBlock) {
  const auto race = look_at(neighbors(""), {{7, 1, 1}}, 1);
  ASSERT_FALSE(race);
  EXPECT_EQ("race", race.failure().reason);
  const auto last = look_at(
      neighbors("__syncthreads(); if (blockIdx.x == 999999999) tile[64 + threadIdx.x] = 0;"),
      {{1'000'000'000, 1, 1}}, 0);
  ASSERT_FALSE(last);
  EXPECT_EQ("array_bounds", last.failure().reason);
}

TEST_F(Kernels, AreTimed) {
  CpuLauncher launcher(test_limits());
  const std::vector<Argument> arguments = {input("in", ScalarType::float32, 1100),
                                           output("sums", ScalarType::float32, 5),
                                           integer("n", 1100)};
  ASSERT_TRUE(launcher.prepare(3, {.arguments = arguments, .seed = 1}));
  const auto loaded =
      launcher.load(-1, *compiled_,
                    {shape("block_sums", {5, 1, 1}, {224, 1, 1}, {"in", "sums", "n"})}, arguments);
  ASSERT_TRUE(loaded) << loaded.failure().detail;
  TimeRequest request = {.workload = 3, .samples = 4};
  request.max_launches_per_sample = 3;
  const auto report = launcher.time(loaded->handle, request);
  ASSERT_TRUE(report) << report.failure().detail;
  EXPECT_EQ(4u, report->samples_ms.size());
  for (const double sample : report->samples_ms) EXPECT_GT(sample, 0);
  EXPECT_GE(report->launches_per_sample, 1);
  EXPECT_LE(report->launches_per_sample, 3);

  request.launches_per_sample = 2;
  request.stop_above_ms = 1e-9;
  const auto stopped = launcher.time(loaded->handle, request);
  ASSERT_TRUE(stopped);
  EXPECT_EQ(1u, stopped->samples_ms.size());
  EXPECT_EQ(2, stopped->launches_per_sample);

  request.stop_above_ms = 0;
  request.enough_ms = 1e-9;
  EXPECT_EQ(1u, launcher.time(loaded->handle, request)->samples_ms.size());
  request.enough_ms = 1e9;
  EXPECT_EQ(4u, launcher.time(loaded->handle, request)->samples_ms.size());
}

TEST_F(Kernels, AreTimedLaunchByLaunch) {
  CpuLauncher launcher(test_limits());
  const std::vector<Argument> arguments = {
      input("in", ScalarType::float32, 1100), buffer("sums", ScalarType::float32, Role::scratch, 5),
      output("out", ScalarType::float32, 1), integer("n", 1100), integer("count", 5)};
  ASSERT_TRUE(launcher.prepare(3, {.arguments = arguments, .seed = 1}));
  const auto loaded =
      launcher.load(-1, *compiled_,
                    {shape("block_sums", {5, 1, 1}, {224, 1, 1}, {"in", "sums", "n"}),
                     shape("total", {1, 1, 1}, {32, 1, 1}, {"sums", "out", "count"})},
                    arguments);
  ASSERT_TRUE(loaded) << loaded.failure().detail;
  const auto report =
      launcher.time(loaded->handle, {.workload = 3, .samples = 3, .each_launch = true});
  ASSERT_TRUE(report) << report.failure().detail;
  EXPECT_TRUE(report->samples_ms.empty());
  ASSERT_EQ(2u, report->launches_ms.size());
  for (const double ms : report->launches_ms) EXPECT_GT(ms, 0);
}

TEST(CpuLauncher, GuardsScratchThatIsSmallerThanItsRoom) {
  CpuLauncher launcher(test_limits());
  // Only the code that is timed writes where it must not.
  const auto compiled = compile(R"cuda(
__global__ void fill(float* sums, float* out, int beyond) {
  sums[threadIdx.x] = 1;
#ifndef SMEMTUNE_CHECKED
  if (threadIdx.x == 0) sums[63 + beyond] = 1;
#endif
  out[threadIdx.x] = sums[threadIdx.x];
})cuda",
                                {"fill"});
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  const auto with_scratch = [](std::int64_t elements, std::int64_t beyond) {
    return std::vector<Argument>{buffer("sums", ScalarType::float32, Role::scratch, elements),
                                 output("out", ScalarType::float32, 64), integer("beyond", beyond)};
  };
  for (const std::int64_t beyond : {0, 1, 1000}) {
    const auto workload = static_cast<WorkloadId>(beyond);
    ASSERT_TRUE(
        launcher.prepare(workload, {.arguments = with_scratch(1 << 20, beyond), .seed = 1}));
    const auto loaded = launcher.load(
        workload, *compiled, {shape("fill", {1, 1, 1}, {64, 1, 1}, {"sums", "out", "beyond"})},
        with_scratch(64, beyond));
    ASSERT_TRUE(loaded) << loaded.failure().detail;
    const auto report =
        launcher.run(loaded->handle,
                     {.workload = workload, .as_reference = true, .tolerance = {}, .download = {}});
    ASSERT_TRUE(report) << report.failure().detail;
    EXPECT_EQ(beyond > 0, report->mismatch.has_value());
    if (report->mismatch) {
      EXPECT_EQ(63 + beyond, report->mismatch->index);
    }
  }
}

/// Returns the report of a kernel that writes `high` + (in[i] or 0), compared with one that adds
/// in[i].
Outcome<RunReport> wide_difference(bool compares_sum) {
  CpuLauncher launcher(test_limits());
  const auto compiled = compile(R"cuda(
template <bool RIGHT>
__global__ void wide(const int* in, unsigned long long* out) {
  out[threadIdx.x] = (1ull << 62) + (RIGHT ? in[threadIdx.x] : 0);
})cuda",
                                {"wide<true>", "wide<false>"});
  if (!compiled) return compiled.failure();
  std::vector<Argument> arguments = {
      buffer("in", ScalarType::int32, Role::input, 64,
             {.kind = Init::Kind::uniform, .a = 1, .b = 200, .file = {}}),
      output("out", ScalarType::uint64, 64)};
  arguments[1].compares_sum = compares_sum;
  const auto prepared = launcher.prepare(0, {.arguments = arguments, .seed = 1});
  if (!prepared) return prepared.failure();
  RunRequest request;
  request.as_reference = true;
  request.download = {"out"};
  Outcome<RunReport> report = RunReport();
  for (const char* const entry : {"wide<true>", "wide<false>"}) {
    const auto loaded = launcher.load(
        0, *compiled, {shape(entry, {1, 1, 1}, {64, 1, 1}, {"in", "out"})}, arguments);
    if (!loaded) return loaded.failure();
    report = launcher.run(loaded->handle, request);
    request.as_reference = false;
  }
  return report;
}

TEST(CpuLauncher, TellsWideIntegersApartThatDoublesDoNot) {
  const auto report = wide_difference(false);
  ASSERT_TRUE(report) << report.failure().detail;
  ASSERT_TRUE(report->mismatch);
  EXPECT_EQ("mismatch", report->mismatch->reason);
  EXPECT_EQ(64, report->mismatch->count);
  EXPECT_EQ("4611686018427387904", report->mismatch->exact_value);
  EXPECT_NE(report->mismatch->exact_value, report->mismatch->exact_expected);
  EXPECT_GT(report->max_absolute_error, 100);
  EXPECT_LT(report->max_absolute_error, 201);
  EXPECT_EQ(1ull << 62, bits_at(report->after.at("out").bytes, ScalarType::uint64, 5));
}

TEST(CpuLauncher, TellsSumsOfWideIntegersApart) {
  const auto report = wide_difference(true);
  ASSERT_TRUE(report) << report.failure().detail;
  ASSERT_TRUE(report->mismatch);
  EXPECT_EQ(0, report->mismatch->count);
  EXPECT_EQ("0", report->mismatch->exact_value) << "64 times 2^62";
}

/// Three steps that double `a` into `b`, which then change places, leave the answer in `b`.
TEST(CpuLauncher, ComparesTheBufferThatHoldsTheAnswerAfterSwaps) {
  CpuLauncher launcher(test_limits());
  const auto compiled = compile(R"cuda(
__global__ void step(const float* a, float* b, int last) {
  b[threadIdx.x] = last == 3 ? 7 : 2 * a[threadIdx.x];
})cuda",
                                {"step"});
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  const std::vector<Argument> arguments = {
      buffer("a", ScalarType::float32, Role::inout, 32,
             {.kind = Init::Kind::iota, .a = 0, .b = 0, .file = {}}),
      buffer("b", ScalarType::float32, Role::scratch, 32), integer("right", 0),
      integer("wrong", 3)};
  ASSERT_TRUE(launcher.prepare(0, {.arguments = arguments, .seed = 1}));
  const auto run = [&](const std::string& last, bool as_reference) {
    LaunchShape launch = shape("step", {1, 1, 1}, {32, 1, 1}, {"a", "b", "right"});
    for (int i = 0; i < 3; ++i) {
      Repetition one = {
          .turn = i, .block = {32, 1, 1}, .arguments = {"a", "b", "right"}, .scalars = {}};
      if (i == 1) std::swap(one.arguments[0], one.arguments[1]);
      if (i == 2) one.arguments[2] = last;
      if (i == 2) one.renamed = {{"a", "b"}, {"b", "a"}};
      launch.repetitions.push_back(one);
    }
    const auto loaded = launcher.load(0, *compiled, {launch}, arguments);
    RunRequest request;
    request.as_reference = as_reference;
    request.download = request.download_before = {"a"};
    return launcher.run(loaded->handle, request);
  };
  const auto right = run("right", true);
  ASSERT_TRUE(right) << right.failure().detail;
  EXPECT_EQ(std::nullopt, right->mismatch);
  EXPECT_EQ(3, right->before.at("a")[3]);
  EXPECT_EQ(24, right->after.at("a")[3]);
  EXPECT_EQ(std::nullopt, run("right", false)->mismatch);
  const auto wrong = run("wrong", false);
  ASSERT_TRUE(wrong->mismatch);
  EXPECT_EQ("a", wrong->mismatch->argument);
  EXPECT_EQ(7, wrong->mismatch->value);
}

TEST(CpuLauncher, ComparesWhatIsKeptWithItsEdits) {
  CpuLauncher launcher(test_limits());
  const auto compiled = compile(R"cuda(
__global__ void some(float* io, float* all) {
  if (threadIdx.x % 4 == 0) io[threadIdx.x] += 1;
  all[threadIdx.x] = 5;
})cuda",
                                {"some"});
  ASSERT_TRUE(compiled) << compiled.failure().detail;
  const std::vector<Argument> arguments = {
      buffer("io", ScalarType::float32, Role::inout, 32,
             {.kind = Init::Kind::iota, .a = 0, .b = 0, .file = {}}),
      output("all", ScalarType::float32, 32)};
  EXPECT_THROW(launcher.kept(0), Error);
  const auto report = run_once(launcher, *compiled,
                               {shape("some", {1, 1, 1}, {32, 1, 1}, {"io", "all"})}, arguments);
  ASSERT_TRUE(report) << report.failure().detail;
  const std::vector<KeptOutput> kept = {
      {.name = "io", .elements = 32, .changed = 8, .is_constant = false, .largest = 31},
      {.name = "all", .elements = 32, .changed = 32, .is_constant = true, .largest = 5}};
  EXPECT_EQ(kept, launcher.kept(0));
  EXPECT_EQ((std::vector<std::uint8_t>{0, 0, 0xA0, 0x40}),
            launcher.kept_elements(0, "all", std::vector<std::int64_t>{31}));
  const RunRequest request;
  EXPECT_EQ(std::nullopt, launcher.compare(0, request, {})->mismatch);
  const auto edited = launcher.compare(0, request, {{"io", 3, {0, 0, 0, 0}}});
  ASSERT_TRUE(edited->mismatch);
  EXPECT_EQ(3, edited->mismatch->index);
  EXPECT_EQ(1, edited->mismatch->count);
  EXPECT_EQ(std::nullopt, launcher.compare(0, request, {})->mismatch);
}

}  // namespace
}  // namespace smemtune::cpu
