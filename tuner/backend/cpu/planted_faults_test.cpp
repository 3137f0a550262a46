#include "tuner/backend/cpu/kernel_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace smemtune::cpu {
namespace {

using testing::HasSubstr;

// Each kernel has one fault, and is right without the fault.
const char* const kPlantedSource = R"cuda(
template <bool BARRIER>
__global__ void reverse(const float* in, float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  if (BARRIER) __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

// Without the second barrier a fast thread overwrites what a slow one has yet to read.
template <bool SECOND_BARRIER>
__global__ void shift(const float* in, float* out) {
  __shared__ float tile[64];
  for (int step = 0; step < 2; ++step) {
    tile[threadIdx.x] = in[64 * step + threadIdx.x];
    __syncthreads();
    out[64 * step + threadIdx.x] = tile[(threadIdx.x + 1) % 64];
    if (SECOND_BARRIER) __syncthreads();
  }
}

__global__ void warp_without_sync(const float* in, float* out) {
  __shared__ float tile[32];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[31 - threadIdx.x];
}
__global__ void warp_with_sync(const float* in, float* out) {
  __shared__ float tile[32];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = tile[31 - threadIdx.x];
}

// In ascending order each thread finds what its left neighbor has left there.
__device__ float scratch[64];
template <bool BARRIER>
__global__ void through_global(const float* in, float* out) {
  scratch[threadIdx.x] = in[threadIdx.x];
  if (BARRIER) __syncthreads();
  out[threadIdx.x] = scratch[threadIdx.x == 0 ? 0 : threadIdx.x - 1];
  __syncthreads();
  scratch[threadIdx.x] = 0;
}
__global__ void copy_shifted(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x == 0 ? 0 : threadIdx.x - 1];
}

template <int OFF_BY>
__global__ void stencil(const float* in, float* out, int n) {
  extern __shared__ float tile[];
  const int first = blockIdx.x * 64;
  for (int i = threadIdx.x; i < 64 + 2 - OFF_BY; i += 64) tile[i] = in[first + i];
  __syncthreads();
  out[first + threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 1] + tile[threadIdx.x + 2];
}

__global__ void overrun_static(const float* in, float* out, int index) {
  __shared__ float first[8], second[8];
  float* const p = first;
  second[threadIdx.x] = in[threadIdx.x];
  p[threadIdx.x + index] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}

__global__ void overrun_row(const float* in, float* out, int column) {
  __shared__ float tile[8][8];
  for (int row = 0; row < 8; ++row) tile[row][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[2][threadIdx.x + column];
}

__global__ void overrun_dynamic(const float* in, float* out) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[7 - threadIdx.x];
}

__global__ void local_array(const float* in, float* out, int index) {
  float values[4];
  for (int i = 0; i < 4; ++i) values[i] = in[i];
  out[threadIdx.x] = values[index + threadIdx.x % 2];
}

__global__ void read_behind(const float* in, float* out, int n) {
  out[threadIdx.x] = in[threadIdx.x + n];
}
__global__ void fetch_behind(cudaTextureObject_t in, float* out, int n) {
  out[threadIdx.x] = tex1Dfetch<float>(in, threadIdx.x + n);
}
__global__ void fetch_other_type(cudaTextureObject_t in, float* out) {
  out[threadIdx.x] = tex1Dfetch<float2>(in, 0).y;
}
__global__ void write_behind(const float* in, float* out, int n) {
  if (threadIdx.x <= n) out[threadIdx.x] = in[0];
}
__global__ void write_before(const float* in, float* out) { out[int(threadIdx.x) - 1] = in[0]; }
__global__ void write_far(const float* in, float* out, long long distance) {
  out[distance] = in[threadIdx.x];
}

__global__ void some_wait(const float* in, float* out, int waiting) {
  out[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < waiting) __syncthreads();
}
__global__ void some_shuffle(const float* in, float* out, int shuffling) {
  float value = in[threadIdx.x];
  if (threadIdx.x < shuffling) value += __shfl_xor_sync(0xffffffffu, value, 1);
  out[threadIdx.x] = value;
}
__global__ void not_in_mask(const float* in, float* out) {
  out[threadIdx.x] = __shfl_xor_sync(0xfffffffeu, in[threadIdx.x], 1);
}

__global__ void nan(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x] * 0.0f / (threadIdx.x == 5 ? 0.0f : 1.0f);
}
__global__ void skip(const float* in, float* out, int skipped) {
  if (threadIdx.x != skipped) out[threadIdx.x] = in[threadIdx.x];
}
__global__ void copy(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void copy_wrong(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x] + (threadIdx.x % 4 == 1 ? 0.5f : 0.0f);
}
// All numbers of a byte, once.
template <typename T>
__global__ void count(T* out) { out[threadIdx.x] = T(threadIdx.x * 7); }
template <typename T>
__global__ void count_wrong(T* out) { out[threadIdx.x] = T(threadIdx.x * 7 + 1); }
template <typename T>
__global__ void count_minus_one(T* out) { out[threadIdx.x] = T(-1); }
template <typename T>
__global__ void count_some(T* out) {
  if (threadIdx.x != 17) out[threadIdx.x] = T(threadIdx.x * 7);
}
__global__ void modify(float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]++; }

__global__ void divide(const float* in, float* out, int by) {
  out[threadIdx.x] = in[0] + int(threadIdx.x + 100) / (int(threadIdx.x) - by);
}
__device__ __noinline__ float deep(const float* in, int depth) {
  volatile float frame[64];
  for (int i = 0; i < 64; ++i) frame[i] = in[i];
  return depth == 0 ? frame[0] : deep(in, depth - 1) + frame[depth % 64];
}
__global__ void recurse(const float* in, float* out, int depth) {
  out[threadIdx.x] = deep(in, threadIdx.x == 3 ? depth : 1);
}
__global__ void trap(const float* in, float* out, int thread) {
  if (threadIdx.x == thread) __trap();
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void assert_small(const float* in, float* out, int thread) {
  assert(threadIdx.x != thread);
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void misaligned(const float* in, float* out, int offset) {
  out[threadIdx.x] = reinterpret_cast<const float4*>(in + offset)->x;
}
__global__ void unguarded_counter(const float* in, float* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  atomicAdd(&count, 1);
  __syncthreads();
  out[threadIdx.x] = in[0] + count;
}
)cuda";

class PlantedFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto outcome = compile(kPlantedSource, {"reverse<false>",
                                                  "reverse<true>",
                                                  "shift<false>",
                                                  "shift<true>",
                                                  "warp_without_sync",
                                                  "warp_with_sync",
                                                  "stencil<0>",
                                                  "stencil<1>",
                                                  "overrun_static",
                                                  "overrun_row",
                                                  "overrun_dynamic",
                                                  "local_array",
                                                  "read_behind",
                                                  "fetch_behind",
                                                  "fetch_other_type",
                                                  "write_behind",
                                                  "write_before",
                                                  "write_far",
                                                  "some_wait",
                                                  "some_shuffle",
                                                  "not_in_mask",
                                                  "nan",
                                                  "skip",
                                                  "copy",
                                                  "copy_wrong",
                                                  "count<unsigned char>",
                                                  "count_wrong<unsigned char>",
                                                  "count_some<unsigned char>",
                                                  "count<int>",
                                                  "count_minus_one<int>",
                                                  "count_some<int>",
                                                  "modify",
                                                  "divide",
                                                  "recurse",
                                                  "trap",
                                                  "assert_small",
                                                  "misaligned",
                                                  "unguarded_counter",
                                                  "through_global<true>",
                                                  "through_global<false>",
                                                  "copy_shifted"});
    ASSERT_TRUE(outcome) << outcome.failure().detail;
    compiled_ = new CompiledKernel(*outcome);
  }
  static void TearDownTestSuite() { delete std::exchange(compiled_, nullptr); }

  /// Launches once with buffers `in` and `out` of 128 floats and, if given, a number.
  Outcome<RunReport> run(const std::string& entry, std::int64_t threads,
                         std::optional<std::int64_t> number = {}, std::int64_t dynamic_bytes = 0,
                         std::int64_t blocks = 1) {
    std::vector<Argument> arguments = {input("in", ScalarType::float32, 128),
                                       buffer("out", ScalarType::float32, Role::scratch, 128)};
    if (entry.starts_with("fetch")) arguments[0].memory = MemorySpace::texture;
    std::vector<std::string> names = {"in", "out"};
    if (number) {
      arguments.push_back(
          integer("n", *number, entry == "write_far" ? ScalarType::int64 : ScalarType::int32));
      names.emplace_back("n");
    }
    CpuLauncher launcher(test_limits(), options);
    return run_once(launcher, *compiled_,
                    {shape(entry, {blocks, 1, 1}, {threads, 1, 1}, names, dynamic_bytes)},
                    arguments);
  }

  /// Returns what a checked run finds in the output of `entry`.
  std::optional<Mismatch> mismatch(const std::string& entry, const std::string& reference,
                                   std::optional<std::int64_t> number = {}) {
    std::vector<Argument> arguments = {input("in", ScalarType::float32, 64),
                                       output("out", ScalarType::float32, 64), integer("n", 0)};
    if (number) arguments.back().integer = *number;
    CpuLauncher launcher(test_limits(), options);
    EXPECT_TRUE(run_once(launcher, *compiled_,
                         {shape(reference, {1, 1, 1}, {64, 1, 1}, {"in", "out"})}, arguments));
    std::vector<std::string> names = {"in", "out"};
    if (number) names.emplace_back("n");
    const auto loaded =
        launcher.load(1, *compiled_, {shape(entry, {1, 1, 1}, {64, 1, 1}, names)}, arguments);
    EXPECT_TRUE(loaded) << loaded.failure().detail;
    const auto report = launcher.run(1, {});
    EXPECT_TRUE(report) << report.failure().detail;
    return report ? report->mismatch : std::nullopt;
  }

  /// Compares a kernel that writes 256 elements of a type with `count`.
  std::optional<Mismatch> mismatch_of_count(const std::string& fault, ScalarType type) {
    const std::string of_type = "<" + std::string(cuda_name(type)) + ">";
    const std::vector<Argument> arguments = {output("out", type, 256)};
    CpuLauncher launcher(test_limits(), options);
    const auto shaped = [&](const std::string& entry) {
      return std::vector{shape(entry + of_type, {1, 1, 1}, {256, 1, 1}, {"out"})};
    };
    EXPECT_TRUE(run_once(launcher, *compiled_, shaped("count"), arguments));
    EXPECT_TRUE(launcher.load(1, *compiled_, shaped(fault), arguments));
    const auto report = launcher.run(1, {});
    EXPECT_TRUE(report) << report.failure().detail;
    return report ? report->mismatch : std::nullopt;
  }

  static void expect_right(const Outcome<RunReport>& report) {
    EXPECT_TRUE(report) << report.failure().reason << ": " << report.failure().detail;
  }

  static void expect_failure(const Outcome<RunReport>& report, Status status,
                             const std::string& reason, const std::vector<std::string>& parts) {
    ASSERT_FALSE(report);
    EXPECT_EQ(status, report.failure().status);
    EXPECT_EQ(reason, report.failure().reason) << report.failure().detail;
    for (const std::string& part : parts) EXPECT_THAT(report.failure().detail, HasSubstr(part));
  }

  static CompiledKernel* compiled_;
  CpuOptions options;
};

CompiledKernel* PlantedFaults::compiled_ = nullptr;

TEST_F(PlantedFaults, MissingBarrierIsARace) {
  expect_right(run("reverse<true>", 64));
  // In this order thread 0 reads first, when no thread has written yet.
  expect_failure(run("reverse<false>", 64), Status::correctness, "uninitialized_shared",
                 {"reverse<false>, block (0, 0, 0), thread (0, 0, 0)", "byte 252 of tile"});
  options.shuffle_threads = true;
  for (options.seed = 1; options.seed <= 4; ++options.seed) {
    expect_right(run("reverse<true>", 64));
    EXPECT_FALSE(run("reverse<false>", 64));
  }
}

TEST_F(PlantedFaults, MissingBarrierAroundGlobalMemoryShowsInAnotherOrder) {
  EXPECT_EQ(std::nullopt, mismatch("through_global<true>", "copy_shifted"));
  EXPECT_EQ(std::nullopt, mismatch("through_global<false>", "copy_shifted"));
  options.shuffle_threads = true;
  options.seed = 1;
  EXPECT_EQ(std::nullopt, mismatch("through_global<true>", "copy_shifted"));
  const auto wrong = mismatch("through_global<false>", "copy_shifted");
  ASSERT_TRUE(wrong);
  EXPECT_EQ("mismatch", wrong->reason);
}

TEST_F(PlantedFaults, MissingSecondBarrierIsARace) {
  expect_right(run("shift<true>", 64));
  expect_failure(
      run("shift<false>", 64), Status::correctness, "race",
      {"thread (0, 0, 0): kernel.cu:", ": writes byte 0 of tile, which thread (63, 0, 0) read"});
}

TEST_F(PlantedFaults, LanesOfAWarpNeedASyncwarp) {
  expect_right(run("warp_with_sync", 32));
  expect_failure(run("warp_without_sync", 32), Status::correctness, "uninitialized_shared", {});
}

TEST_F(PlantedFaults, UpdateOfACounterThatAnotherThreadClears) {
  expect_failure(
      run("unguarded_counter", 64), Status::correctness, "race",
      {"thread (1, 0, 0): kernel.cu:", ": updates byte 0 of count, which thread (0, 0, 0) wrote"});
}

TEST_F(PlantedFaults, HaloThatIsOneTooSmall) {
  expect_right(run("stencil<0>", 64, 64, 66 * 4));
  expect_failure(run("stencil<1>", 64, 64, 66 * 4), Status::correctness, "uninitialized_shared",
                 {"thread (63, 0, 0): kernel.cu:", ": reads byte 260 of dynamic shared memory"});
}

TEST_F(PlantedFaults, OverrunOfSharedMemory) {
  expect_right(run("overrun_static", 8, 0));
  expect_failure(
      run("overrun_static", 8, 1), Status::correctness, "shared_overrun",
      {"thread (7, 0, 0): kernel.cu:", ": writes 4 bytes at byte 32 of first, which has 32"});
  expect_failure(
      run("overrun_dynamic", 8, {}, 28), Status::correctness, "shared_overrun",
      {"thread (7, 0, 0): kernel.cu:", ": writes 4 bytes at byte 28 of dynamic shared memory"});
  expect_right(run("overrun_dynamic", 8, {}, 32));
}

TEST_F(PlantedFaults, IndexOfARowBeyondItsEnd) {
  expect_right(run("overrun_row", 8, 0));
  expect_failure(run("overrun_row", 8, 1), Status::runtime, "array_bounds",
                 {"thread (7, 0, 0)", "kernel.cu:", "index 8 of 'float"});
  expect_right(run("local_array", 32, 2));
  expect_failure(run("local_array", 32, 3), Status::runtime, "array_bounds",
                 {"thread (1, 0, 0)", "index 4 of 'float"});
}

TEST_F(PlantedFaults, OverrunOfABufferByOne) {
  expect_right(run("read_behind", 128, 0));
  expect_failure(
      run("read_behind", 128, 1), Status::correctness, "overrun",
      {"thread (127, 0, 0): kernel.cu:", ": reads 4 bytes at element 128 of in, which has 128"});
  expect_right(run("write_behind", 256, 127));
  expect_failure(
      run("write_behind", 256, 128), Status::correctness, "overrun",
      {"thread (128, 0, 0): kernel.cu:", ": writes 4 bytes at element 128 of out, which has 128"});
  expect_failure(run("write_before", 1), Status::correctness, "overrun", {"element -1 of out"});
}

TEST_F(PlantedFaults, FetchBeyondATextureAndOfAnotherType) {
  expect_right(run("fetch_behind", 128, 0));
  expect_failure(run("fetch_behind", 128, 1), Status::runtime, "texture_bounds",
                 {"thread (127, 0, 0)", "tex1Dfetch beyond the ends of the texture"});
  expect_failure(run("fetch_behind", 128, -1), Status::runtime, "texture_bounds",
                 {"thread (0, 0, 0)"});
  expect_failure(run("fetch_other_type", 1), Status::runtime, "texture_type",
                 {"tex1Dfetch of a type that is not as large as the texels"});
}

TEST_F(PlantedFaults, AddressWhereNothingIs) {
  const auto report = run("write_far", 1, -(std::int64_t{1} << 40));
  expect_failure(report, Status::runtime, "illegal_address",
                 {"write_far, block (0, 0, 0), thread (0, 0, 0): accesses the address 0x"});
  EXPECT_TRUE(report.failure().context_lost);
}

TEST_F(PlantedFaults, BarrierThatSomeNeverReach) {
  expect_right(run("some_wait", 64, 64));
  expect_right(run("some_wait", 64, 0));
  expect_failure(run("some_wait", 64, 40), Status::correctness, "unreached_barrier",
                 {"thread (0, 0, 0): 40 of 64 threads wait at __syncthreads()",
                  "thread (40, 0, 0) has returned"});
  expect_right(run("some_shuffle", 64, 64));
  expect_failure(
      run("some_shuffle", 64, 50), Status::correctness, "unreached_barrier",
      {"thread (32, 0, 0): waits for the other lanes", "thread (50, 0, 0) has returned"});
  expect_failure(run("not_in_mask", 32), Status::correctness, "warp_mask", {"0xfffffffe"});
}

TEST_F(PlantedFaults, BlocksAreNamed) {
  expect_failure(run("read_behind", 128, 1, 0, 3), Status::correctness, "overrun", {"block ("});
}

TEST_F(PlantedFaults, WrongElements) {
  EXPECT_EQ(std::nullopt, mismatch("copy", "copy"));
  const auto wrong = mismatch("copy_wrong", "copy");
  ASSERT_TRUE(wrong);
  EXPECT_EQ("mismatch", wrong->reason);
  EXPECT_EQ("out", wrong->argument);
  EXPECT_EQ(1, wrong->index);
  EXPECT_EQ(16, wrong->count);
  EXPECT_EQ(0.5, wrong->value - wrong->expected);
  const auto nan = mismatch("nan", "copy");
  ASSERT_TRUE(nan);
  EXPECT_EQ("nan", nan->reason);
  EXPECT_EQ(5, nan->index);
  const auto unwritten = mismatch("skip", "copy", 17);
  ASSERT_TRUE(unwritten);
  EXPECT_EQ("unwritten", unwritten->reason);
  EXPECT_EQ(17, unwritten->index);
  EXPECT_EQ(1, unwritten->count);
}

// Among all values of a byte one equals the poison, which is no sign that it was not written.
TEST_F(PlantedFaults, WrongIntegersAreNotTakenForUnwrittenOnes) {
  const auto wrong = mismatch_of_count("count_wrong", ScalarType::uint8);
  ASSERT_TRUE(wrong);
  EXPECT_EQ("mismatch", wrong->reason);
  EXPECT_EQ(0, wrong->index);
  EXPECT_EQ(256, wrong->count);
  const auto minus_one = mismatch_of_count("count_minus_one", ScalarType::int32);
  ASSERT_TRUE(minus_one);
  EXPECT_EQ("mismatch", minus_one->reason);
  for (const ScalarType type : {ScalarType::uint8, ScalarType::int32}) {
    const auto unwritten = mismatch_of_count("count_some", type);
    ASSERT_TRUE(unwritten);
    EXPECT_EQ("unwritten", unwritten->reason);
    EXPECT_EQ(17, unwritten->index);
    EXPECT_EQ(1, unwritten->count);
  }
}

TEST_F(PlantedFaults, InputThatIsWritten) {
  expect_failure(run("modify", 64), Status::correctness, "input_modified",
                 {"thread (0, 0, 0): kernel.cu:", ": writes element 0 of in"});
}

TEST_F(PlantedFaults, DivisionByZero) {
  expect_right(run("divide", 64, 100));
  const auto report = run("divide", 64, 9);
  expect_failure(report, Status::runtime, "division_by_zero", {"thread (9, 0, 0)"});
  EXPECT_FALSE(report.failure().context_lost);
}

TEST_F(PlantedFaults, RecursionWithoutEnd) {
  expect_right(run("recurse", 64, 20));
  expect_failure(run("recurse", 64, 1 << 20), Status::runtime, "stack_overflow",
                 {"thread (3, 0, 0)"});
}

TEST_F(PlantedFaults, TrapsAndAssertions) {
  expect_failure(run("trap", 64, 33), Status::runtime, "trap", {"thread (33, 0, 0)"});
  expect_failure(run("assert_small", 64, 34), Status::runtime, "assert",
                 {"thread (34, 0, 0)", "threadIdx.x != thread"});
}

TEST_F(PlantedFaults, VectorAtAnAddressThatIsNoMultipleOfItsSize) {
  expect_right(run("misaligned", 8, 4));
  expect_failure(run("misaligned", 8, 3), Status::runtime, "misaligned",
                 {"12 bytes past a multiple of 16", "kernel.cu:"});
}

TEST_F(PlantedFaults, LeaveTheLauncherUsable) {
  CpuLauncher launcher(test_limits());
  const std::vector<Argument> arguments = {input("in", ScalarType::float32, 128),
                                           output("out", ScalarType::float32, 64),
                                           integer("n", 40)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(run_once(launcher, *compiled_,
                          {shape("some_wait", {4, 1, 1}, {64, 1, 1}, {"in", "out", "n"})},
                          arguments));
    const auto report = run_once(launcher, *compiled_,
                                 {shape("copy", {1, 1, 1}, {64, 1, 1}, {"in", "out"})}, arguments);
    ASSERT_TRUE(report);
    EXPECT_EQ(std::nullopt, report->mismatch);
  }
}

}  // namespace
}  // namespace smemtune::cpu
