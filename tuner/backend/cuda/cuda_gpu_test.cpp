// Runs on an NVIDIA GPU; skipped without one, unless SMEMTUNE_REQUIRE_GPU is set.

#include "tuner/backend/cheats_test_support.h"
#include "tuner/backend/contents.h"
#include "tuner/backend/cuda/cuda_launcher.h"
#include "tuner/backend/cuda/devices.h"
#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/backend/cuda/texture.h"
#include "tuner/backend/intrinsics_cases_test_support.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/error.h"
#include "tuner/core/measurement.h"
#include "tuner/core/occupancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cuda {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::int64_t kElements = 100'000;

Argument buffer(const std::string& name, Role role, std::int64_t elements,
                ScalarType type = ScalarType::float32) {
  Argument argument;
  argument.name = name;
  argument.type = type;
  argument.role = role;
  argument.shape = {elements};
  if (role == Role::input || role == Role::inout) {
    argument.init = {.kind = Init::Kind::uniform, .a = 1, .b = 100, .file = {}};
  }
  return argument;
}

Argument integer(const std::string& name, std::int64_t value) {
  Argument argument;
  argument.name = name;
  argument.type = ScalarType::int32;
  argument.integer = value;
  return argument;
}

LaunchShape shape(const std::string& expression, std::int64_t blocks, std::int64_t threads,
                  std::vector<std::string> arguments, std::int64_t dynamic_shared_bytes = 0) {
  LaunchShape launch;
  launch.name_expression = expression;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.dynamic_shared_bytes = dynamic_shared_bytes;
  launch.arguments = std::move(arguments);
  return launch;
}

constexpr const char* kSpin = R"(
__global__ void wait(float* out, int clocks) {
  const long long start = clock64();
  while (clock64() - start < clocks) { }
  out[0] = clocks;
})";

// All tests of a process share one launcher.
class CudaGpu : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    try {
      compiler_ = std::make_shared<NvrtcCompiler>();
      launcher_ = std::make_unique<CudaLauncher>(0, compiler_);
    } catch (const UnavailableError& error) {
      why_not_ = error.what();
    }
  }
  static void TearDownTestSuite() {
    launcher_.reset();
    compiler_.reset();
  }

  void SetUp() override {
    if (launcher_) return;
    if (std::getenv("SMEMTUNE_REQUIRE_GPU") != nullptr) FAIL() << why_not_;
    GTEST_SKIP() << why_not_;
  }

  static CompiledKernel compile(const std::string& source, const std::vector<LaunchShape>& launches,
                                std::vector<std::string> symbols = {},
                                std::vector<std::string> options = {}) {
    CompileRequest request;
    request.architecture = launcher_->device().architecture;
    request.source.files = {{"test.cu", source}};
    for (const LaunchShape& launch : launches) {
      const std::string& name = launch.name_expression;
      if (std::ranges::find(request.name_expressions, name) == request.name_expressions.end()) {
        request.name_expressions.push_back(name);
      }
    }
    request.symbol_expressions = std::move(symbols);
    request.options = std::move(options);
    auto compiled = compiler_->compile(request);
    if (!compiled) throw Error(compiled.failure().detail);
    return *compiled;
  }

  static KernelHandle load(const std::string& source, const std::vector<LaunchShape>& launches,
                           const std::vector<Argument>& arguments,
                           std::vector<std::string> symbols = {}) {
    const auto loaded =
        launcher_->load(-1, compile(source, launches, std::move(symbols)), launches, arguments);
    if (!loaded) throw Error(loaded.failure().reason + ": " + loaded.failure().detail);
    return loaded->handle;
  }

  static void prepare(const std::vector<Argument>& arguments, std::uint64_t seed = 1) {
    const auto prepared = launcher_->prepare(0, {.arguments = arguments, .seed = seed});
    if (!prepared) throw Error(prepared.failure().detail);
  }

  /// Loads a kernel that does nothing for `clocks` cycles.
  static KernelHandle load_wait(int clocks) {
    const std::vector<Argument> arguments = {buffer("out", Role::output, 1),
                                             integer("clocks", clocks)};
    prepare(arguments);
    return load(kSpin, {shape("wait", 1, 1, {"out", "clocks"})}, arguments);
  }

  static RunReport run(KernelHandle handle, bool as_reference = false, Tolerance tolerance = {},
                       std::vector<std::string> downloads = {}) {
    RunRequest request;
    request.as_reference = as_reference;
    request.tolerance = tolerance;
    request.download = request.download_before = std::move(downloads);
    const auto report = launcher_->run(handle, request);
    if (!report) throw Error(report.failure().reason + ": " + report.failure().detail);
    return *report;
  }

  static TimeReport time(KernelHandle handle, const TimeRequest& request) {
    const auto report = launcher_->time(handle, request);
    if (!report) throw Error(report.failure().reason + ": " + report.failure().detail);
    return *report;
  }

  static std::shared_ptr<NvrtcCompiler> compiler_;
  static std::unique_ptr<CudaLauncher> launcher_;
  static std::string why_not_;
};
std::shared_ptr<NvrtcCompiler> CudaGpu::compiler_;
std::unique_ptr<CudaLauncher> CudaGpu::launcher_;
std::string CudaGpu::why_not_;

// A kernel that doubles `in`, or does one thing wrong.
constexpr const char* kTwice = R"(
enum Fault { none, one_wrong, one_nan, half_unwritten, overrun, underrun, writes_input, one_inf };

template <int FAULT>
__global__ void twice(float* out, float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (FAULT == overrun ? i > n : i >= n) return;
  if (FAULT == half_unwritten && i >= n / 2) return;
  float x = i < n ? 2 * in[i] : in[i];
  if (FAULT == one_wrong && (i == 777 || i == 99999)) x += 1;
  if (FAULT == one_nan && i == 555) x = __int_as_float(0x7FC00000);
  if (FAULT == one_inf && i == 556) x = __int_as_float(0x7F800000);
  if (FAULT == writes_input && i == 333) in[i] = -1;
  if (FAULT == underrun && i == 0) out[-1] = 1;
  out[i] = x;
})";

std::vector<Argument> twice_arguments() {
  return {buffer("out", Role::output, kElements), buffer("in", Role::input, kElements),
          integer("n", kElements)};
}

std::vector<LaunchShape> twice_launch(const std::string& fault) {
  return {shape("twice<" + fault + ">", kElements / 256 + 1, 256, {"out", "in", "n"})};
}

class CudaGpuTwice : public CudaGpu {
 protected:
  void SetUp() override {
    CudaGpu::SetUp();
    if (!launcher_) return;
    prepare(twice_arguments());
    ASSERT_FALSE(run(load_twice("none"), true).mismatch);
  }

  static KernelHandle load_twice(const std::string& fault) {
    return load(kTwice, twice_launch(fault), twice_arguments());
  }

  static Mismatch mismatch_of(const std::string& fault) {
    const RunReport report = run(load_twice(fault));
    return report.mismatch.value_or(Mismatch{});
  }
};

TEST_F(CudaGpu, DeviceHasWhatItsNameAllows) {
  const std::vector<Device> devices = cuda_devices();
  const Device device = launcher_->device();
  EXPECT_EQ(device, devices[0]);
  EXPECT_EQ(device.kind, DeviceKind::gpu);
  EXPECT_THAT(device.uuid, testing::MatchesRegex("GPU-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-"
                                                 "[0-9a-f]+"));
  EXPECT_EQ(select_device(devices, device.uuid), 0);
  EXPECT_EQ(device.architecture,
            "sm_" + std::to_string(device.compute_major) + std::to_string(device.compute_minor));
  EXPECT_EQ(device.warp_size, 32);
  EXPECT_EQ(device.shared_bytes_per_block, 49152);
  EXPECT_GE(device.max_shared_bytes_per_block, device.shared_bytes_per_block);
  EXPECT_GT(device.shared_bytes_per_sm, device.max_shared_bytes_per_block);
  EXPECT_GT(device.memory_clock_khz, 0);
  EXPECT_GT(device.sm_clock_khz, 0);
  EXPECT_GT(device.l2_bytes, 0);
  EXPECT_GT(device.memory_bytes, 0);
  std::printf("%s %s, %d multiprocessors, driver %s\n", device.name.c_str(),
              device.architecture.c_str(), device.sm_count, device.driver_version.c_str());
}

TEST_F(CudaGpu, DriversAttributesEqualPtxasReport) {
  const std::string source = R"(
    template <int N, int BOUND>
    __global__ void __launch_bounds__(BOUND) kernel(float* p, int n) {
      __shared__ float tile[N];
      float a[N / 8];
      for (int i = 0; i < N / 8; ++i) a[i] = p[i * n];
      tile[threadIdx.x % N] = a[0];
      __syncthreads();
      for (int k = 0; k < n; ++k)
        for (int i = 0; i < N / 8; ++i) a[i] = a[i] * tile[(i + k) % N] + p[k];
      for (int i = 0; i < N / 8; ++i) p[i * n] = a[i];
    }
    __global__ void plain(float* p, int n) { p[n] = 1; })";
  std::vector<LaunchShape> launches = {shape("plain", 1, 32, {"p", "n"})};
  for (const char* arguments : {"8, 1024", "64, 256", "512, 512", "512, 1024", "1024, 128"}) {
    launches.push_back(shape("kernel<" + std::string(arguments) + ">", 1, 32, {"p", "n"}));
  }
  const CompiledKernel compiled = compile(source, launches);
  const auto loaded =
      launcher_->load(-1, compiled, launches, {buffer("p", Role::output, 10), integer("n", 1)});
  ASSERT_TRUE(loaded) << loaded.failure().detail;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Resources& ptxas = compiled.entries[i].resources;
    const Resources& driver = loaded->launches[i].resources;
    const std::string& name = launches[i].name_expression;
    EXPECT_EQ(driver.registers_per_thread, ptxas.registers_per_thread) << name;
    EXPECT_EQ(driver.static_shared_bytes, ptxas.static_shared_bytes) << name;
    EXPECT_EQ(driver.stack_bytes, ptxas.stack_bytes) << name;
    if (ptxas.max_threads_per_block > 0) {
      EXPECT_EQ(driver.max_threads_per_block, ptxas.max_threads_per_block) << name;
    }
  }
}

TEST_F(CudaGpu, OccupancyEqualsTheDrivers) {
  const std::string source = R"(
    template <int REGISTERS, int SHARED> __global__ void kernel(float* p, int n) {
      __shared__ float tile[SHARED];
      float a[REGISTERS];
      for (int i = 0; i < REGISTERS; ++i) a[i] = p[i * n];
      tile[threadIdx.x % SHARED] = a[0];
      __syncthreads();
      for (int k = 0; k < n; ++k)
        for (int i = 0; i < REGISTERS; ++i) a[i] = a[i] * tile[k] + p[k];
      for (int i = 0; i < REGISTERS; ++i) p[i * n] = a[i];
    })";
  const Device device = launcher_->device();
  std::vector<LaunchShape> launches;
  for (const int registers : {4, 20, 40, 60, 90, 150}) {
    for (const int shared : {1, 1000, 6000}) {
      const std::string name =
          "kernel<" + std::to_string(registers) + ", " + std::to_string(shared) + ">";
      for (const int threads : {1, 32, 33, 96, 128, 192, 256, 320, 512, 640, 1024}) {
        for (const int dynamic : {0, 4, 1000, 8192, 20000, 49152, 100000, 200000}) {
          if (4 * shared + dynamic + 16 > device.max_shared_bytes_per_block) continue;
          launches.push_back(shape(name, 1, threads, {"p", "n"}, dynamic));
        }
      }
    }
  }
  const CompiledKernel compiled = compile(source, launches);
  const auto loaded =
      launcher_->load(-1, compiled, launches, {buffer("p", Role::output, 10), integer("n", 1)});
  ASSERT_TRUE(loaded) << loaded.failure().detail;
  std::set<int> seen;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Resources& resources = loaded->launches[i].resources;
    const LaunchShape& launch = launches[i];
    if (launch.threads_per_block() > resources.max_threads_per_block) continue;
    const Occupancy ours =
        occupancy(device, launch.threads_per_block(), resources.registers_per_thread,
                  resources.static_shared_bytes + launch.dynamic_shared_bytes);
    EXPECT_EQ(ours.blocks_per_sm, loaded->launches[i].blocks_per_sm)
        << launch.name_expression << ", " << launch.threads_per_block() << " threads, "
        << resources.registers_per_thread << " registers, " << resources.static_shared_bytes
        << " + " << launch.dynamic_shared_bytes << " bytes";
    seen.insert(ours.blocks_per_sm);
  }
  EXPECT_GT(seen.size(), 8u);
  std::printf("%zu launches, %zu different numbers of blocks\n", launches.size(), seen.size());
}

TEST_F(CudaGpu, RunsWithAllTheDynamicSharedMemoryThatThereIs) {
  const std::string source = R"(
    __global__ void reverse(int* out, const int* in, int n) {
      extern __shared__ int tile[];
      for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = in[i];
      __syncthreads();
      for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tile[n - 1 - i];
    })";
  const std::int64_t bytes = launcher_->device().max_shared_bytes_per_block;
  const std::int64_t n = bytes / 4;
  const std::vector<Argument> arguments = {buffer("out", Role::output, n, ScalarType::int32),
                                           buffer("in", Role::input, n, ScalarType::int32),
                                           integer("n", n)};
  prepare(arguments);
  const std::vector<LaunchShape> launch = {shape("reverse", 1, 1024, {"out", "in", "n"}, bytes)};
  const RunReport report = run(load(source, launch, arguments), true, {}, {"in", "out"});
  EXPECT_FALSE(report.mismatch);
  std::vector<double> expected = report.before.at("in").doubles();
  std::ranges::reverse(expected);
  EXPECT_EQ(report.after.at("out").doubles(), expected);

  std::vector<LaunchShape> too_much = launch;
  too_much[0].dynamic_shared_bytes = bytes + 1;
  const auto refused = launcher_->load(-1, compile(source, too_much), too_much, arguments);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().reason, "shared_bytes");
  EXPECT_FALSE(refused.failure().context_lost);
  EXPECT_THAT(refused.failure().detail, HasSubstr(std::to_string(bytes + 1)));
}

TEST_F(CudaGpu, CountsWhatEachLaunchDoes) {
  // The second launch does what the first does, and the same again on banks that conflict.
  constexpr const char* kCopies = R"(
    template <int STRIDE>
    __global__ void copy(float4* out, const float4* in) {
      __shared__ float tiles[8][32 * 32];
      float* const tile = tiles[threadIdx.x / 32];
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      float4 v = in[i];
      tile[threadIdx.x % 32 * STRIDE] = v.x;
      __syncwarp();
      v.x = *(volatile float*)&tile[threadIdx.x % 32 * STRIDE];
      out[i] = v;
    })";
  constexpr std::int64_t kFloats = 1 << 26;
  const std::vector<Argument> arguments = {buffer("out", Role::output, kFloats),
                                           buffer("in", Role::input, kFloats)};
  const std::vector<LaunchShape> launches = {
      shape("copy<1>", kFloats / 4 / 256, 256, {"out", "in"}),
      shape("copy<32>", kFloats / 4 / 256, 256, {"out", "in"})};
  prepare(arguments);
  const KernelHandle handle = load(kCopies, launches, arguments);
  const auto report = launcher_->count(handle, 0);
  ASSERT_TRUE(report) << report.failure().detail;
  if (!report->refused.empty()) GTEST_SKIP() << "no counters: " << report->refused;
  ASSERT_EQ(report->launches.size(), 2u);
  const double bytes = kFloats * 4.0;
  for (const Facts& facts : report->launches) {
    EXPECT_NEAR(facts.at("counter.dram_read_bytes"), bytes, 0.05 * bytes);
    EXPECT_NEAR(facts.at("counter.shared_load_instructions"), kFloats / 128.0, 1);
    EXPECT_GT(facts.at("counter.duration_ns"), 0);
  }
  const Facts& free_of_conflicts = report->launches[0];
  const Facts& conflicting = report->launches[1];
  EXPECT_LT(free_of_conflicts.at("counter.shared_bank_conflicts"),
            0.02 * conflicting.at("counter.shared_bank_conflicts"));
  EXPECT_GT(conflicting.at("counter.shared_wavefronts"),
            10 * free_of_conflicts.at("counter.shared_wavefronts"));
  // Counting leaves nothing behind that changes what a launch gives.
  EXPECT_FALSE(run(handle, true).mismatch);
  EXPECT_FALSE(run(handle).mismatch);
}

TEST_F(CudaGpu, TellsTheEnergyOfABusyKernel) {
  constexpr const char* kBusy = R"(
    template <int ROUNDS>
    __global__ void busy(float* out, const float* in) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      float x = in[i];
      for (int round = 0; round < ROUNDS; ++round) x = x * 1.0001f + 0.5f;
      out[i] = x;
    })";
  constexpr std::int64_t kFloats = 1 << 22;
  const std::vector<Argument> arguments = {buffer("out", Role::output, kFloats),
                                           buffer("in", Role::input, kFloats)};
  prepare(arguments);
  const auto facts = [&](const char* entry) {
    const KernelHandle handle =
        load(kBusy, {shape(entry, kFloats / 256, 256, {"out", "in"})}, arguments);
    const auto report = launcher_->energy(handle, 0, 2);
    EXPECT_TRUE(report) << report.failure().detail;
    if (!report || !report->refused.empty()) return Facts();
    EXPECT_EQ(report->launches.size(), 1u);
    EXPECT_FALSE(run(handle, true).mismatch) << "energy leaves nothing behind";
    EXPECT_FALSE(run(handle).mismatch);
    return report->launches.front();
  };
  const Facts once = facts("busy<5000>");
  if (once.empty()) GTEST_SKIP() << "no energy is told";
  const Facts twice = facts("busy<10000>");
  EXPECT_GT(once.at("energy.joules_per_launch"), 0);
  EXPECT_GE(once.at("energy.measured_s"), 1.9);
  EXPECT_GT(once.at("energy.mean_watts"), once.at("energy.idle_watts"));
  EXPECT_NEAR(once.at("energy.joules_per_launch"),
              1e-3 * once.at("energy.launch_ms") * once.at("energy.mean_watts"), 1e-6);
  EXPECT_NEAR(twice.at("energy.joules_per_launch") / once.at("energy.joules_per_launch"), 2, 0.3);
}

TEST_F(CudaGpu, ComparesTheSumOfPartialSums) {
  const std::string source = R"(
    __global__ void add(float* sums, const float* in, int n) {
      float sum = 0;
      for (int i = blockIdx.x; i < n; i += gridDim.x) sum += in[i];
      sums[blockIdx.x] = sum;
    })";
  Argument sums = buffer("sums", Role::inout, 64);
  sums.init = {.kind = Init::Kind::zero, .a = 0, .b = 0, .file = {}};
  sums.compares_sum = true;
  Argument in = buffer("in", Role::input, 4096);
  in.init = {.kind = Init::Kind::uniform, .a = 1, .b = 2, .file = {}};
  const std::vector<Argument> arguments = {sums, in, integer("n", 4096), integer("less", 4095)};
  prepare(arguments);
  const Tolerance tolerance = {.absolute = 0.5, .relative = 0};
  const auto report = [&](int blocks, const char* n, bool as_reference) {
    return run(load(source, {shape("add", blocks, 1, {"sums", "in", n})}, arguments), as_reference,
               tolerance);
  };
  EXPECT_FALSE(report(1, "n", true).mismatch);
  EXPECT_FALSE(report(64, "n", false).mismatch);
  EXPECT_LT(report(64, "n", false).max_absolute_error, 0.5);
  const auto wrong = report(7, "less", false).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->reason, "mismatch");
  EXPECT_EQ(wrong->count, 0);
  EXPECT_NE(wrong->value, wrong->expected);
}

TEST_F(CudaGpuTwice, AcceptsWhatEqualsTheReferenceAndReturnsTheBuffers) {
  const RunReport report = run(load_twice("none"), false, {}, {"in", "out"});
  EXPECT_FALSE(report.mismatch);
  EXPECT_EQ(report.max_absolute_error, 0);
  EXPECT_EQ(report.max_relative_error, 0);
  EXPECT_GT(report.elapsed_ms, 0);
  const std::vector<double>& in = report.before.at("in").doubles();
  const std::vector<double>& out = report.after.at("out").doubles();
  ASSERT_EQ(in.size(), static_cast<std::size_t>(kElements));
  ASSERT_EQ(out.size(), in.size());
  EXPECT_EQ(in, to_doubles(initial_contents(buffer("in", Role::input, kElements), 1),
                           ScalarType::float32));
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 2 * in[i]) << i;
  EXPECT_TRUE(std::isnan(report.before.at("out")[0]));  // The poison.
}

TEST_F(CudaGpuTwice, FindsTheFirstOfTheWrongElements) {
  const RunReport report = run(load_twice("one_wrong"));
  ASSERT_TRUE(report.mismatch);
  EXPECT_EQ(report.mismatch->argument, "out");
  EXPECT_EQ(report.mismatch->reason, "mismatch");
  EXPECT_EQ(report.mismatch->index, 777);
  EXPECT_EQ(report.mismatch->count, 2);
  EXPECT_NEAR(report.mismatch->value, report.mismatch->expected + 1, 1e-4);
  EXPECT_NEAR(report.max_absolute_error, 1, 1e-4);
  EXPECT_GT(report.max_relative_error, 1.0 / 200);
  EXPECT_LE(report.max_relative_error, 0.5);
}

TEST_F(CudaGpuTwice, AcceptsWhatIsWithinTheTolerance) {
  const KernelHandle one_wrong = load_twice("one_wrong");
  EXPECT_FALSE(run(one_wrong, false, {.absolute = 1.001, .relative = {}}).mismatch);
  EXPECT_FALSE(run(one_wrong, false, {.absolute = {}, .relative = 0.51}).mismatch);
  EXPECT_TRUE(run(one_wrong, false, {.absolute = 0.99, .relative = {}}).mismatch);
}

TEST_F(CudaGpuTwice, FindsNanAndInfinityWhateverTheTolerance) {
  const RunReport nan = run(load_twice("one_nan"), false, {.absolute = 1e30, .relative = {}});
  ASSERT_TRUE(nan.mismatch);
  EXPECT_EQ(nan.mismatch->reason, "nan");
  EXPECT_EQ(nan.mismatch->index, 555);
  EXPECT_EQ(nan.mismatch->count, 1);
  EXPECT_TRUE(std::isnan(nan.mismatch->value));
  EXPECT_FALSE(std::isnan(nan.mismatch->expected));
  EXPECT_EQ(mismatch_of("one_inf").reason, "nan");
  EXPECT_EQ(mismatch_of("one_inf").index, 556);
}

TEST_F(CudaGpuTwice, FindsWhatWasNotWritten) {
  const Mismatch mismatch = mismatch_of("half_unwritten");
  EXPECT_EQ(mismatch.reason, "unwritten");
  EXPECT_EQ(mismatch.index, kElements / 2);
  EXPECT_EQ(mismatch.count, kElements - kElements / 2);
}

TEST_F(CudaGpuTwice, FindsAnElementWrittenBehindTheBuffer) {
  // The kernel copies the input's guard zone into the output's: the zones must differ for this to
  // be seen.
  const Mismatch mismatch = mismatch_of("overrun");
  EXPECT_EQ(mismatch.argument, "out");
  EXPECT_EQ(mismatch.reason, "overrun");
  EXPECT_EQ(mismatch.index, kElements);
  EXPECT_EQ(mismatch.count, 1);
}

TEST_F(CudaGpuTwice, FindsAnElementWrittenBeforeTheBuffer) {
  const Mismatch mismatch = mismatch_of("underrun");
  EXPECT_EQ(mismatch.reason, "overrun");
  EXPECT_EQ(mismatch.index, -1);
}

TEST_F(CudaGpuTwice, FindsAChangedInputAndRestoresItForTheNextRun) {
  const Mismatch mismatch = mismatch_of("writes_input");
  EXPECT_EQ(mismatch.argument, "in");
  EXPECT_EQ(mismatch.reason, "input_modified");
  EXPECT_EQ(mismatch.index, 333);
  EXPECT_EQ(mismatch.count, 1);
  EXPECT_EQ(mismatch.value, -1);
  EXPECT_FALSE(run(load_twice("none")).mismatch);
}

TEST_F(CudaGpuTwice, ChecksTheReferenceToo) {
  const RunReport report = run(load_twice("half_unwritten"), true);
  ASSERT_TRUE(report.mismatch);
  EXPECT_EQ(report.mismatch->reason, "unwritten");
  const auto after = launcher_->run(load_twice("none"), {});
  ASSERT_FALSE(after);  // There is no reference any more.
  EXPECT_EQ(after.failure().reason, "arguments");
}

TEST_F(CudaGpuTwice, AnotherSeedNeedsAnotherReference) {
  const KernelHandle none = load_twice("none");
  const auto first = run(none, false, {}, {"in"}).before.at("in").doubles();
  prepare(twice_arguments(), 2);
  EXPECT_NE(run(none, true, {}, {"in"}).before.at("in").doubles(), first);
  EXPECT_FALSE(run(none).mismatch);
}

TEST_F(CudaGpuTwice, ReplacesAndUnloadsKernels) {
  const KernelHandle handle = load_twice("one_wrong");
  ASSERT_TRUE(run(handle).mismatch);
  const auto launch = twice_launch("none");
  const auto replaced = launcher_->load(handle, compile(kTwice, launch), launch, twice_arguments());
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->handle, handle);
  EXPECT_FALSE(run(handle).mismatch);
  ASSERT_TRUE(launcher_->load(handle, {}, {}, {}));
  EXPECT_THROW(run(handle), Error);
}

TEST_F(CudaGpuTwice, RefusesABufferOfAnotherSizeOrName) {
  std::vector<Argument> arguments = twice_arguments();
  arguments[0].shape = {kElements + 1};
  const auto longer = launcher_->run(load(kTwice, twice_launch("none"), arguments), {});
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.failure().reason, "arguments");
  EXPECT_THAT(longer.failure().detail, HasSubstr("400004"));
  EXPECT_THAT(longer.failure().detail, HasSubstr("400000"));
}

TEST_F(CudaGpuTwice, ARefusedLaunchLeavesTheContextAlive) {
  auto launch = twice_launch("none");
  launch[0].block = {2048, 1, 1};
  const auto too_wide = launcher_->run(load(kTwice, launch, twice_arguments()), {});
  ASSERT_FALSE(too_wide);
  EXPECT_EQ(too_wide.failure().status, Status::runtime);
  EXPECT_EQ(too_wide.failure().reason, "launch_configuration");
  EXPECT_FALSE(too_wide.failure().context_lost);
  launch[0].block = {256, 1, 1};
  launch[0].grid = {1, 70000, 1};
  const auto too_high = launcher_->run(load(kTwice, launch, twice_arguments()), {});
  ASSERT_FALSE(too_high);
  EXPECT_FALSE(too_high.failure().context_lost);
  EXPECT_FALSE(run(load_twice("none")).mismatch);
}

TEST_F(CudaGpu, ABlockWithTooManyRegistersIsRefused) {
  const std::string source = R"(
    __global__ void many(float* out, int n) {
      float a[100];
#pragma unroll
      for (int i = 0; i < 100; ++i) a[i] = out[i * n];
      for (int k = 0; k < n; ++k)
#pragma unroll
      for (int i = 0; i < 100; ++i) a[i] = a[i] * a[(i + 1) % 100] + 1;
#pragma unroll
      for (int i = 0; i < 100; ++i) out[i * n] = a[i];
    })";
  const std::vector<Argument> arguments = {buffer("out", Role::output, 1000), integer("n", 1)};
  prepare(arguments);
  const std::vector<LaunchShape> launch = {shape("many", 1, 1024, {"out", "n"})};
  const auto refused = launcher_->run(load(source, launch, arguments),
                                      {.as_reference = true, .tolerance = {}, .download = {}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.failure().reason, AnyOf("launch_resources", "launch_configuration"));
  EXPECT_FALSE(refused.failure().context_lost);
}

TEST_F(CudaGpu, ComparesEveryElementType) {
  // Elements as raw bits: 0, 1, 2, ... and one off by one bit.
  const std::string source = R"(
    template <typename B, int WRONG> __global__ void fill(B* out, int n) {
      const int i = threadIdx.x;
      if (i < n) out[i] = static_cast<B>(i + (WRONG && i == 77 ? 1 : 0));
    })";
  const std::pair<ScalarType, const char*> types[] = {{ScalarType::int8, "unsigned char"},
                                                      {ScalarType::uint8, "unsigned char"},
                                                      {ScalarType::int16, "unsigned short"},
                                                      {ScalarType::uint16, "unsigned short"},
                                                      {ScalarType::int32, "unsigned"},
                                                      {ScalarType::uint32, "unsigned"},
                                                      {ScalarType::int64, "unsigned long long"},
                                                      {ScalarType::uint64, "unsigned long long"},
                                                      {ScalarType::float8_e4m3, "unsigned char"},
                                                      {ScalarType::float16, "unsigned short"},
                                                      {ScalarType::bfloat16, "unsigned short"},
                                                      {ScalarType::float32, "unsigned"},
                                                      {ScalarType::float64, "unsigned long long"}};
  for (const auto& [type, bits] : types) {
    const std::vector<Argument> arguments = {buffer("out", Role::output, 100, type),
                                             integer("n", 100)};
    prepare(arguments);
    const auto launch = [&, bits = bits](const char* wrong) -> std::vector<LaunchShape> {
      return {shape("fill<" + std::string(bits) + ", " + wrong + ">", 1, 128, {"out", "n"})};
    };
    const KernelHandle right = load(source, launch("0"), arguments);
    EXPECT_FALSE(run(right, true).mismatch) << cuda_name(type);
    EXPECT_FALSE(run(right).mismatch) << cuda_name(type);
    const KernelHandle wrong = load(source, launch("1"), arguments);
    const RunReport report = run(wrong, false, {.absolute = 0.0, .relative = 0.0});
    ASSERT_TRUE(report.mismatch) << cuda_name(type);
    EXPECT_EQ(report.mismatch->reason, "mismatch") << cuda_name(type);
    EXPECT_EQ(report.mismatch->index, 77) << cuda_name(type);
    EXPECT_EQ(report.mismatch->count, 1) << cuda_name(type);
    EXPECT_GT(report.mismatch->value, report.mismatch->expected) << cuda_name(type);
    EXPECT_EQ(report.max_absolute_error, report.mismatch->value - report.mismatch->expected)
        << cuda_name(type);
  }
}

TEST_F(CudaGpu, TellsLargeIntegersApart) {
  const std::string source = R"(
    template <int WRONG> __global__ void fill(long long* out) {
      out[threadIdx.x] = 0x7FFFFFFFFFFFFF00ll + (WRONG && threadIdx.x == 5 ? 1 : 0);
    })";
  const std::vector<Argument> arguments = {buffer("out", Role::output, 32, ScalarType::int64)};
  prepare(arguments);
  run(load(source, {shape("fill<0>", 1, 32, {"out"})}, arguments), true);
  const RunReport report = run(load(source, {shape("fill<1>", 1, 32, {"out"})}, arguments));
  ASSERT_TRUE(report.mismatch);
  EXPECT_EQ(report.mismatch->index, 5);
}

TEST_F(CudaGpu, RestoresInoutBuffersBeforeEachRun) {
  const std::string source = R"(
    __global__ void add_one(float* p, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) p[i] += 1;
    })";
  const std::vector<Argument> arguments = {buffer("p", Role::inout, kElements),
                                           integer("n", kElements)};
  prepare(arguments);
  const KernelHandle handle =
      load(source, {shape("add_one", kElements / 256 + 1, 256, {"p", "n"})}, arguments);
  const RunReport reference = run(handle, true, {}, {"p"});
  EXPECT_EQ(reference.after.at("p")[9], reference.before.at("p")[9] + 1);
  TimeRequest request;
  request.samples = 3;
  (void)time(handle, request);
  const RunReport again = run(handle, false, {}, {"p"});
  EXPECT_FALSE(again.mismatch);
  EXPECT_EQ(again.before.at("p").doubles(), reference.before.at("p").doubles());
}

TEST_F(CudaGpu, FillsConstantMemoryForEachWorkload) {
  const std::string source = R"(
    template <int N> __constant__ float weights[N];
    template <int N> __global__ void copy(float* out) { out[threadIdx.x] = weights<N>[threadIdx.x]; }
  )";
  Argument weights = buffer("w", Role::input, 64);
  weights.memory = MemorySpace::constant;
  weights.symbol = "weights<64>";
  const std::vector<Argument> arguments = {buffer("out", Role::output, 64), weights};
  const KernelHandle handle =
      load(source, {shape("copy<64>", 1, 64, {"out"})}, arguments, {"weights<64>"});
  for (const std::uint64_t seed : {1u, 2u}) {
    prepare(arguments, seed);
    const RunReport report = run(handle, true, {}, {"out", "w"});
    EXPECT_EQ(report.after.at("out").doubles(),
              to_doubles(initial_contents(weights, seed), ScalarType::float32));
    EXPECT_EQ(report.before.at("w").doubles(), report.after.at("out").doubles());
  }

  std::vector<Argument> larger = arguments;
  larger[1].shape = {65};
  const std::vector<LaunchShape> launch = {shape("copy<64>", 1, 64, {"out"})};
  const auto refused =
      launcher_->load(-1, compile(source, launch, {"weights<64>"}), launch, larger);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.failure().detail, HasSubstr("256 bytes, its argument 260"));
}

TEST_F(CudaGpu, PassesTextureObjectsOverTheirBuffers) {
  const std::string source = R"cuda(
    __global__ void fetch(cudaTextureObject_t bytes, cudaTextureObject_t pairs,
                          cudaTextureObject_t vectors, float* out, int n) {
      const int i = blockIdx.x * 256 + threadIdx.x;
      if (i >= n) return;
      const float4 v = tex1Dfetch<float4>(vectors, i);
      const uint2 u = tex1Dfetch<uint2>(pairs, i / 2);
      out[i] = tex1Dfetch<unsigned char>(bytes, i) + v.x + 2 * v.w + (i % 2 ? u.y : u.x);
    })cuda";
  Argument bytes = buffer("bytes", Role::input, kElements, ScalarType::uint8);
  Argument pairs = buffer("pairs", Role::input, kElements, ScalarType::uint32);
  pairs.shape = {kElements / 2, 2};
  Argument vectors = buffer("vectors", Role::input, kElements);
  vectors.shape = {kElements, 4};
  const std::vector<LaunchShape> launch = {
      shape("fetch", kElements / 256 + 1, 256, {"bytes", "pairs", "vectors", "out", "n"})};
  std::vector<Argument> arguments = {bytes, pairs, vectors, buffer("out", Role::output, kElements),
                                     integer("n", kElements)};
  // The buffers are prepared as such: a texture is only the way in which a kernel sees one.
  prepare(arguments);
  for (std::size_t i = 0; i < 3; ++i) arguments[i].memory = MemorySpace::texture;
  const KernelHandle handle = load(source, launch, arguments);
  for (const std::uint64_t seed : {1u, 2u}) {
    prepare(arguments, seed);
    const RunReport report = run(handle, true, {}, {"bytes", "pairs", "vectors", "out"});
    ASSERT_FALSE(report.mismatch) << report.mismatch->reason;
    const auto& before = report.before;
    for (std::size_t i = 0; i < static_cast<std::size_t>(kElements); ++i) {
      const double expected = before.at("bytes")[i] + before.at("vectors")[4 * i] +
                              2 * before.at("vectors")[4 * i + 3] + before.at("pairs")[i];
      ASSERT_NEAR(report.after.at("out")[i], expected, 1e-4) << i;
    }
    // The launches use several copies of the buffers, each with textures of its own.
    TimeRequest request;
    request.samples = 2;
    request.launches_per_sample = 4;
    EXPECT_EQ(time(handle, request).samples_ms.size(), 2u);
    EXPECT_FALSE(run(handle).mismatch);
  }
}

// Each block of a cluster copies one box by TMA, and its neighbor's from there.
TEST_F(CudaGpu, PassesTensorMapsToClusters) {
  if (launcher_->device().compute_major < 9) GTEST_SKIP() << "needs compute capability 9.0";
  const std::string source = R"cuda(
    struct alignas(64) TensorMap { unsigned long long words[16]; };
    __global__ void copy(const __grid_constant__ TensorMap map, float* out) {
      __shared__ alignas(128) float box[8 * 16];
      __shared__ alignas(8) unsigned long long barrier;
      const unsigned to = __cvta_generic_to_shared(box);
      const unsigned done = __cvta_generic_to_shared(&barrier);
      if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(done) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(done)
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&map), "r"(0), "r"(8 * blockIdx.x),
            "r"(done) : "memory");
      }
      __syncthreads();
      asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; "
                   "@!p bra AGAIN; }" ::"r"(done) : "memory");
      asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
      unsigned rank, there;
      asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
      asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(to + 4 * threadIdx.x),
          "r"(rank ^ 1));
      float value;
      asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
      out[128 * blockIdx.x + threadIdx.x] = value;
      asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
    })cuda";
  // The last rows of the last box lie outside, and are zeros.
  Argument rows = buffer("rows", Role::input, 28 * 16);
  rows.shape = {28, 16};
  std::vector<Argument> arguments = {rows, buffer("out", Role::output, 32 * 16)};
  prepare(arguments);
  arguments[0].memory = MemorySpace::tensor_map;
  arguments[0].box = {8, 16};
  LaunchShape launch = shape("copy", 4, 128, {"rows", "out"});
  launch.cluster = {2, 1, 1};
  const KernelHandle handle = load(source, {launch}, arguments);
  const RunReport report = run(handle, true, {}, {"rows", "out"});
  ASSERT_FALSE(report.mismatch) << report.mismatch->reason;
  for (std::size_t i = 0; i < 32 * 16; ++i) {
    const std::size_t from = i ^ 128;
    const double expected = from < 28 * 16 ? report.before.at("rows")[from] : 0;
    ASSERT_EQ(report.after.at("out")[i], expected) << i;
  }
  TimeRequest request;  // Its launches use several copies, each with a map of its own.
  request.samples = 2;
  request.launches_per_sample = 4;
  EXPECT_EQ(time(handle, request).samples_ms.size(), 2u);

  launch.dynamic_shared_bytes = launcher_->device().max_shared_bytes_per_block - 8192;
  launch.cluster = {16, 1, 1};
  launch.grid = {16, 1, 1};
  const auto refused = launcher_->load(-1, compile(source, {launch}), {launch}, arguments);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().status, Status::constraints);
}

std::int64_t max_texels() {
  int texels = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&texels, cudaDevAttrMaxTexture1DLinearWidth, 0), cudaSuccess);
  return texels;
}

TEST_F(CudaGpu, RefusesATextureThatIsWiderThanTheDeviceAllows) {
  const std::string source =
      "__global__ void f(cudaTextureObject_t t, float* out) { out[0] = tex1Dfetch<char>(t, 0); }";
  Argument texels = buffer("texels", Role::input, max_texels() + 1, ScalarType::int8);
  texels.init = {.kind = Init::Kind::zero, .a = 0, .b = 0, .file = {}};
  texels.memory = MemorySpace::texture;
  const std::vector<Argument> arguments = {texels, buffer("out", Role::output, 1)};
  prepare(arguments);
  const KernelHandle handle = load(source, {shape("f", 1, 1, {"texels", "out"})}, arguments);
  RunRequest request;
  request.as_reference = true;
  const auto refused = launcher_->run(handle, request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().reason, "texture_width");
  EXPECT_THAT(refused.failure().detail, HasSubstr("has " + std::to_string(max_texels() + 1) +
                                                  " texels, the device's linear "
                                                  "textures at most " +
                                                  std::to_string(max_texels())));
}

TEST_F(CudaGpu, RunsSeveralLaunchesOverScratchMemory) {
  const std::string source = R"(
    __global__ void partial_sums(const float* in, float* partial, int n) {
      float sum = 0;
      for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 32 * gridDim.x) sum += in[i];
      for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(~0u, sum, lane);
      if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    }
    __global__ void total(const float* partial, float* out, int blocks) {
      float sum = 0;
      for (int i = 0; i < blocks; ++i) sum += partial[i];
      *out = sum;
    })";
  std::vector<Argument> problem = {buffer("in", Role::input, kElements),
                                   buffer("out", Role::output, 1), integer("n", kElements)};
  problem[0].init = {.kind = Init::Kind::constant, .a = 1, .b = 0, .file = {}};
  prepare(problem);
  for (const int blocks : {1, 8, 300}) {
    std::vector<Argument> arguments = problem;
    arguments.push_back(buffer("partial", Role::scratch, blocks));
    arguments.push_back(integer("blocks", blocks));
    const KernelHandle handle = load(source,
                                     {shape("partial_sums", blocks, 32, {"in", "partial", "n"}),
                                      shape("total", 1, 1, {"partial", "out", "blocks"})},
                                     arguments);
    EXPECT_EQ(run(handle, true, {}, {"out"}).after.at("out").doubles(),
              std::vector<double>{static_cast<double>(kElements)});

    // One partial sum more than the scratch buffer has room for.
    const KernelHandle overrun =
        load(source,
             {shape("partial_sums", blocks + 1, 32, {"in", "partial", "n"}),
              shape("total", 1, 1, {"partial", "out", "blocks"})},
             arguments);
    const RunReport report = run(overrun, false, {.absolute = 1e6, .relative = {}});
    ASSERT_TRUE(report.mismatch);
    EXPECT_EQ(report.mismatch->reason, "overrun");
    EXPECT_EQ(report.mismatch->argument, "partial");
    EXPECT_EQ(report.mismatch->index, blocks);
  }
}

TEST_F(CudaGpu, RepeatsLaunchesMoreOftenThanItsQueueHoldsThem) {
  const std::string source = R"(
    __global__ void add(const int* from, int* to, int step) { *to = *from + step; })";
  std::vector<Argument> arguments = {buffer("a", Role::inout, 1, ScalarType::int32),
                                     buffer("b", Role::output, 1, ScalarType::int32),
                                     integer("step", 0)};
  arguments[0].init = {.kind = Init::Kind::zero, .file = {}};
  LaunchShape launch = shape("add", 1, 1, {"a", "b", "step"});
  launch.times = 1501;  // The stream's queue has 1024 entries.
  for (int i = 0; i < launch.times; ++i) {
    const bool is_odd = i % 2 == 1;
    launch.repetitions.push_back({.turn = i,
                                  .grid = launch.grid,
                                  .block = launch.block,
                                  .arguments = {is_odd ? "b" : "a", is_odd ? "a" : "b", "step"},
                                  .scalars = {integer("step", i)}});
  }
  prepare(arguments);
  const KernelHandle handle = load(source, {launch}, arguments);
  const RunReport report = run(handle, true, {}, {"a", "b"});
  EXPECT_EQ(std::nullopt, report.mismatch);
  EXPECT_EQ(report.after.at("b").doubles(), std::vector<double>{1500.0 * 1501 / 2});
  EXPECT_EQ(report.after.at("a").doubles(), std::vector<double>{1499.0 * 1500 / 2});
  TimeRequest request = {.workload = 0, .samples = 3};
  const TimeReport timed = time(handle, request);
  EXPECT_EQ(3u, timed.samples_ms.size());
  EXPECT_EQ(1, timed.launches_per_sample);
  EXPECT_GT(timed.samples_ms.front(), 0.5);  // 1501 launches of some microseconds.

  request.each_launch = true;  // With more marks than the stream's queue holds.
  const TimeReport by_launch = time(handle, request);
  ASSERT_EQ(1u, by_launch.launches_ms.size());
  EXPECT_GT(by_launch.launches_ms.front(), 0.5);
}

TEST_F(CudaGpu, LaunchesBlocksThatWaitForEachOther) {
  const std::string source = R"(
    #include <cooperative_groups.h>
    __global__ void last_of(int* flags, int* out) {
      if (threadIdx.x == 0) flags[blockIdx.x] = blockIdx.x + 1;
      cooperative_groups::this_grid().sync();
      if (threadIdx.x == 0) out[blockIdx.x] = flags[gridDim.x - 1 - blockIdx.x];
    })";
  const std::int64_t blocks = launcher_->device().sm_count;
  const std::vector<Argument> arguments = {
      buffer("flags", Role::scratch, blocks, ScalarType::int32),
      buffer("out", Role::output, blocks, ScalarType::int32)};
  LaunchShape launch = shape("last_of", blocks, 64, {"flags", "out"});
  launch.cooperative = true;
  prepare(arguments);
  const RunReport report = run(load(source, {launch}, arguments), true, {}, {"out"});
  EXPECT_EQ(std::nullopt, report.mismatch);
  EXPECT_EQ(report.after.at("out").doubles().front(), static_cast<double>(blocks));
  EXPECT_EQ(report.after.at("out").doubles().back(), 1);

  launch.grid = {blocks * 64, 1, 1};
  const auto loaded = launcher_->load(-1, compile(source, {launch}), {launch}, arguments);
  ASSERT_TRUE(loaded);
  const auto refused =
      launcher_->run(loaded->handle, {.as_reference = true, .tolerance = {}, .download = {}});
  ASSERT_FALSE(refused) << "more blocks than fit at once";
  EXPECT_FALSE(refused.failure().context_lost);
}

TEST_F(CudaGpu, RefusesAProblemThatIsLargerThanTheMemory) {
  const auto refused = launcher_->prepare(
      7, {.arguments = {buffer("in", Role::input, std::int64_t{1} << 42)}, .seed = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().reason, "device_memory");
  EXPECT_THAT(refused.failure().detail, HasSubstr("are free"));
}

TEST_F(CudaGpu, TimesACopyAtAPlausibleBandwidth) {
  const std::string source = R"(
    __global__ void copy(float4* out, const float4* in, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) out[i] = in[i];
    })";
  constexpr std::int64_t kFloats = std::int64_t{64} << 20;  // 256 MB
  const std::vector<Argument> arguments = {buffer("out", Role::output, kFloats),
                                           buffer("in", Role::input, kFloats),
                                           integer("n", kFloats / 4)};
  prepare(arguments);
  const KernelHandle handle =
      load(source, {shape("copy", kFloats / 4 / 256, 256, {"out", "in", "n"})}, arguments);
  ASSERT_FALSE(run(handle, true).mismatch);
  TimeRequest request;
  request.samples = 15;
  const TimeReport report = time(handle, request);
  ASSERT_EQ(report.samples_ms.size(), 15u);
  EXPECT_EQ(report.launches_per_sample, 1);
  const Device device = launcher_->device();
  // Two transfers per clock.
  const double peak_gb_per_s = 2e3 * device.memory_clock_khz * device.memory_bus_bits / 8 / 1e9;
  const Measurement measured = summarize(report.samples_ms);
  const double gb_per_s = 2 * 4.0 * kFloats / measured.median_ms / 1e6;
  EXPECT_GT(gb_per_s, 0.10 * peak_gb_per_s);
  EXPECT_LT(gb_per_s, 1.10 * peak_gb_per_s);
  EXPECT_GT(report.sm_clock_mhz, 0.3e-3 * device.sm_clock_khz);
  EXPECT_LT(report.sm_clock_mhz, 1.1e-3 * device.sm_clock_khz);
  std::printf(
      "copy of 256 MB: %.0f GB/s of %.0f, median %.4f ms, quartiles %.4f and %.4f, %.0f "
      "MHz of %.0f, %d discarded\n",
      gb_per_s, peak_gb_per_s, measured.median_ms, measured.q1_ms, measured.q3_ms,
      report.sm_clock_mhz, 1e-3 * device.sm_clock_khz, report.discarded);
}

TEST_F(CudaGpu, TimesAreProportionalToTheWork) {
  const auto times = [&](int clocks) {
    const KernelHandle handle = load_wait(clocks);
    TimeRequest request;
    request.samples = 11;
    request.launches_per_sample = 1;
    const TimeReport report = time(handle, request);
    std::printf("%d clocks: %.4f ms at %.0f MHz\n", clocks, summarize(report.samples_ms).median_ms,
                report.sm_clock_mhz);
    return std::pair(summarize(report.samples_ms).median_ms, report.sm_clock_mhz);
  };
  const auto [short_ms, short_mhz] = times(500'000);
  const auto [long_ms, long_mhz] = times(2'000'000);
  EXPECT_NEAR(long_ms / short_ms, 4, 0.2);
  EXPECT_NEAR(2000 / long_ms / long_mhz, 1, 0.05);  // 2,000,000 clocks at the measured clock.
}

TEST_F(CudaGpu, LaunchesShortKernelsSeveralTimesPerSample) {
  const KernelHandle handle = load_wait(10'000);
  TimeRequest request;
  request.samples = 9;
  const TimeReport report = time(handle, request);
  ASSERT_EQ(report.samples_ms.size(), 9u);
  EXPECT_GT(report.launches_per_sample, 5);
  EXPECT_LE(report.launches_per_sample, 256);
  const double median_ms = summarize(report.samples_ms).median_ms;
  const double pure_ms = 10 / report.sm_clock_mhz;  // 10,000 clocks
  EXPECT_GT(median_ms, 0.95 * pure_ms);
  EXPECT_LT(median_ms, pure_ms + 0.005);  // Not the microseconds that a launch takes the host.
  std::printf("10000 clocks: %.5f ms each, %d launches per sample\n", median_ms,
              report.launches_per_sample);

  request.launches_per_sample = 7;
  EXPECT_EQ(time(handle, request).launches_per_sample, 7);
  request.launches_per_sample = 0;
  request.max_launches_per_sample = 3;
  EXPECT_EQ(time(handle, request).launches_per_sample, 3);
}

TEST_F(CudaGpu, GivesEachLaunchOfASampleItsOwnInoutBuffer) {
  // The kernel takes a millisecond longer if its data were changed before.
  const std::string source = R"(
    __global__ void once(float* p) {
      const long long start = clock64();
      if (p[0] < 0) while (clock64() - start < 1000000) { }
      p[0] = -1;
    })";
  const std::vector<Argument> arguments = {buffer("p", Role::inout, 1000)};
  prepare(arguments);
  const KernelHandle handle = load(source, {shape("once", 1, 1, {"p"})}, arguments);
  TimeRequest request;
  request.samples = 5;
  const TimeReport report = time(handle, request);
  EXPECT_GT(report.launches_per_sample, 5);
  for (const double sample_ms : report.samples_ms) EXPECT_LT(sample_ms, 0.1);
}

TEST_F(CudaGpu, ColdSamplesFindNothingInTheCache) {
  // One thread follows a chain of dependent loads, past the L1 cache.
  const std::string source = R"(
    __global__ void chase(unsigned* out, const unsigned* in, int n) {
      unsigned sum = 0;
      for (int i = 0; i < n; ++i) sum += __ldcg(in + (32 * i + (sum & 1)));
      out[0] = sum;
    })";
  std::vector<Argument> arguments = {buffer("out", Role::output, 1, ScalarType::uint32),
                                     buffer("in", Role::input, 32 * 1001, ScalarType::uint32),
                                     integer("n", 1000)};
  arguments[1].init = {.kind = Init::Kind::constant, .a = 2, .b = 0, .file = {}};
  prepare(arguments);
  const KernelHandle handle = load(source, {shape("chase", 1, 1, {"out", "in", "n"})}, arguments);
  for (const int launches : {1, 20}) {
    TimeRequest request;
    request.samples = 9;
    request.launches_per_sample = launches;
    const double cold_ms = summarize(time(handle, request).samples_ms).median_ms;
    request.cold = false;
    const double warm_ms = summarize(time(handle, request).samples_ms).median_ms;
    EXPECT_GT(cold_ms, 1.3 * warm_ms) << launches;
    std::printf("1000 dependent loads, %d launches: %.4f ms cold, %.4f ms warm\n", launches,
                cold_ms, warm_ms);
  }
}

TEST_F(CudaGpu, StopsAfterASampleThatIsTooSlow) {
  const KernelHandle handle = load_wait(1'000'000);
  TimeRequest request;
  request.samples = 50;
  request.stop_above_ms = 0.01;
  EXPECT_EQ(time(handle, request).samples_ms.size(), 1u);
}

// A million clocks are 0.3 to 1 ms.
TEST_F(CudaGpu, StopsWhenItsSamplesTookLongEnough) {
  const KernelHandle handle = load_wait(1'000'000);
  TimeRequest request;
  request.samples = 50;
  request.enough_ms = 5;
  const std::vector<double> samples_ms = time(handle, request).samples_ms;
  EXPECT_GE(samples_ms.size(), 4u);
  EXPECT_LE(samples_ms.size(), 25u);
  EXPECT_GE(std::accumulate(samples_ms.begin(), samples_ms.end(), 0.0), request.enough_ms);
}

class CudaGpuCheats : public CudaGpu {
 protected:
  static constexpr std::int64_t kElementsOfCheats = 4096;

  void SetUp() override {
    CudaGpu::SetUp();
    if (!launcher_) return;
    std::vector<LaunchShape> launches = cheating_launch("honest", kElementsOfCheats);
    for (const Cheat& cheat : kCheats) {
      launches.push_back(cheating_launch(cheat.name, kElementsOfCheats).front());
    }
    compiled_ = compile(cheating_source(), launches);
    for (const WorkloadId id : {0, 1}) {
      const std::uint64_t seed = id == 0 ? 1 : 2;
      ASSERT_TRUE(launcher_->prepare(
          id, {.arguments = cheated_arguments(kElementsOfCheats), .seed = seed}));
    }
    reference_ = load_cheat("honest");
    for (const WorkloadId id : {0, 1}) {
      const auto report = launcher_->run(
          reference_, {.workload = id, .as_reference = true, .tolerance = {}, .download = {}});
      ASSERT_TRUE(report) << report.failure().detail;
      ASSERT_FALSE(report->mismatch) << report->mismatch->reason;
    }
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(*launcher_->draw_data(reference_, 0));
  }

  KernelHandle load_cheat(const std::string& name) const {
    const auto loaded = launcher_->load(-1, compiled_, cheating_launch(name, kElementsOfCheats),
                                        cheated_arguments(kElementsOfCheats));
    if (!loaded) throw Error(loaded.failure().detail);
    return loaded->handle;
  }

  CompiledKernel compiled_;
  KernelHandle reference_ = 0;
};

TEST_F(CudaGpuCheats, AreFoundInTimedLaunchesOrGainNothing) {
  const Fate honest = fate_of(*launcher_, reference_, load_cheat("honest"), 40);
  ASSERT_EQ(honest.reason, "");
  for (const Cheat& cheat : kCheats) {
    const Fate fate = fate_of(*launcher_, reference_, load_cheat(cheat.name), 40);
    EXPECT_EQ(fate.reason != "", cheat.is_wrong) << cheat.name << " " << fate.reason;
    std::printf("%s: %s, %.5f ms, honest %.5f ms\n", cheat.name, fate.reason.c_str(),
                fate.median_ms, honest.median_ms);
    if (!fate.reason.empty()) continue;
    EXPECT_GT(fate.median_ms, 0.95 * honest.median_ms) << cheat.name;
  }
}

TEST_F(CudaGpuCheats, AreFoundWithTheWorkloadsOwnDataWhereNoneAreDrawn) {
  std::vector<Argument> arguments = cheated_arguments(kElementsOfCheats);
  for (Argument& argument : arguments) {
    if (argument.init.kind != Init::Kind::uniform) continue;
    argument.init = {.kind = Init::Kind::constant, .a = 1.5, .b = 0, .file = {}};
  }
  prepare(arguments);
  ASSERT_FALSE(run(reference_, true).mismatch);
  EXPECT_FALSE(*launcher_->draw_data(reference_, 0));
  // leaves_work is right on such data, because what it leaves undone in a copy of the buffers it does
  // there before the next comparison; it saves no work.
  for (const char* const name : {"counts_launches", "returns_if_unchanged"}) {
    const KernelHandle handle = load_cheat(name);
    std::string reason;
    for (int i = 0; i < 16 && reason.empty(); ++i) {
      const TimeReport report = time(handle, {.workload = 0, .launches_per_sample = 2});
      if (report.mismatch) reason = report.mismatch->reason;
    }
    EXPECT_EQ(reason, "unwritten") << name;
  }
}

// The reference's answers are kept under masks, for every size of element.
TEST_F(CudaGpu, ATimedLaunchThatIsWrongIsToldWithWhatWasExpected) {
  const std::string source = R"(
    __device__ int calls;
    __global__ void later(const T* in, T* out, T* sums, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i == 0) ++calls;
      if (i >= n) return;
      out[i] = in[i];
      sums[i] = in[i];
      if (calls > LAST && i == n - 2) out[i] = static_cast<T>(3);
    })";
  for (const ScalarType type : {ScalarType::int8, ScalarType::float16, ScalarType::int32,
                                ScalarType::float32, ScalarType::int64, ScalarType::float64}) {
    const std::int64_t n = 1003;
    std::vector<Argument> arguments = {buffer("in", Role::input, n, type),
                                       buffer("out", Role::output, n, type),
                                       buffer("sums", Role::output, n, type), integer("n", n)};
    arguments[0].init.a = 10;
    arguments[2].compares_sum = true;
    prepare(arguments);
    const auto load_later = [&](int last) {
      const std::string text = "#include <cuda_fp16.h>\n#define T " + std::string(cuda_name(type)) +
                               "\n#define LAST " + std::to_string(last) + "\n" + source;
      return load(text, {shape("later", 1, 1024, {"in", "out", "sums", "n"})}, arguments);
    };
    const KernelHandle right = load_later(1'000'000);
    ASSERT_FALSE(run(right, true).mismatch);
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(*launcher_->draw_data(right, 0));
    EXPECT_EQ(time(right, {.workload = 0, .samples = 9}).mismatch, std::nullopt);
    const TimeReport report = time(load_later(1), {.workload = 0, .samples = 9});
    ASSERT_TRUE(report.mismatch) << cuda_name(type);
    EXPECT_EQ(report.mismatch->argument, "out");
    EXPECT_EQ(report.mismatch->reason, "mismatch");
    EXPECT_EQ(report.mismatch->index, n - 2);
    EXPECT_EQ(report.mismatch->value, 3);
    EXPECT_GE(report.mismatch->expected, 10) << cuda_name(type);
    EXPECT_LE(report.mismatch->expected, 100) << cuda_name(type);
  }
}

TEST_F(CudaGpu, ReturnsSomeElementsOfAKeptOutput) {
  for (const ScalarType type :
       {ScalarType::int8, ScalarType::float16, ScalarType::float32, ScalarType::float64}) {
    const std::int64_t n = 100'003;
    const std::vector<Argument> arguments = {buffer("in", Role::input, n, type),
                                             buffer("out", Role::output, n, type)};
    prepare(arguments);
    const std::string source = "#include <cuda_fp16.h>\nusing T = " + std::string(cuda_name(type)) +
                               ";\n__global__ void same(const T* in, T* out) {\n"
                               "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                               "  if (i < 100003) out[i] = in[i];\n}\n";
    run(load(source, {shape("same", 98, 1024, {"in", "out"})}, arguments), true);
    const std::vector<std::uint8_t> all = launcher_->kept_elements(0, "out", {});
    EXPECT_EQ(all, initial_contents(arguments[0], 1));
    const std::vector<std::int64_t> at = {n - 1, 0, 31, 32, 31, 70'001};
    std::vector<std::uint8_t> expected;
    for (const std::int64_t i : at) {
      const auto begin = all.begin() + i * static_cast<std::int64_t>(size_of(type));
      expected.insert(expected.end(), begin, begin + static_cast<std::int64_t>(size_of(type)));
    }
    EXPECT_EQ(launcher_->kept_elements(0, "out", at), expected) << cuda_name(type);
  }
}

// Some are compared 16 bytes at a time, the last ones one by one.
TEST_F(CudaGpu, FindsTheOneElementThatIsWrongOrTheLeastExactWhereverItIs) {
  const std::string source =
      "__global__ void add(const T* in, T* out, int n, int at, int more) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) out[i] = in[i] + static_cast<T>(i == at ? more : 0);\n}\n";
  for (const ScalarType type : {ScalarType::int8, ScalarType::float16, ScalarType::int32,
                                ScalarType::float32, ScalarType::int64, ScalarType::float64}) {
    const std::string text =
        "#include <cuda_fp16.h>\nusing T = " + std::string(cuda_name(type)) + ";\n" + source;
    for (const std::int64_t n : {1, 17, 100'003}) {
      for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
        std::vector<Argument> arguments = {buffer("in", Role::input, n, type),
                                           buffer("out", Role::output, n, type), integer("n", n),
                                           integer("at", at), integer("more", 0)};
        arguments[0].init = {.kind = Init::Kind::constant, .a = 16, .b = 0, .file = {}};
        prepare(arguments);
        const auto load_add = [&](int more) {
          arguments[4].integer = more;
          return load(text, {shape("add", 98, 1024, {"in", "out", "n", "at", "more"})}, arguments);
        };
        ASSERT_FALSE(run(load_add(0), true).mismatch);
        const RunReport wrong = run(load_add(4));
        ASSERT_TRUE(wrong.mismatch) << cuda_name(type) << " " << at << " of " << n;
        EXPECT_EQ(wrong.mismatch->index, at) << cuda_name(type) << " of " << n;
        EXPECT_EQ(wrong.mismatch->count, 1);
        EXPECT_NEAR(wrong.max_absolute_error, 4, 1e-5);
        EXPECT_NEAR(wrong.max_relative_error, 0.25, 1e-6);
        RunRequest tolerant;
        tolerant.tolerance.absolute = 4;
        const Outcome<RunReport> right = launcher_->run(load_add(4), tolerant);
        ASSERT_TRUE(right && !right->mismatch) << cuda_name(type) << " " << at << " of " << n;
        EXPECT_NEAR(right->max_absolute_error, 4, 1e-5);
      }
    }
  }
}

TEST_F(CudaGpu, KnowsWhatAllElementsOfAnOutputHaveInCommon) {
  for (const int other : {-1, 0, 4097, 100'002}) {
    const std::vector<Argument> arguments = {buffer("out", Role::output, 100'003),
                                             integer("other", other)};
    prepare(arguments);
    const std::string source =
        "__global__ void fill(float* out, int other) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < 100003) out[i] = i == other ? -9 : 7;\n}\n";
    run(load(source, {shape("fill", 98, 1024, {"out", "other"})}, arguments), true);
    const std::vector<KeptOutput> kept = launcher_->kept(0);
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].is_constant, other < 0) << other;
    EXPECT_NEAR(kept[0].largest, other < 0 ? 7 : 9, 1e-4);
  }
}

TEST_F(CudaGpu, DrawsWhatTheHostDraws) {
  using Kind = Init::Kind;
  std::vector<Argument> arguments;
  for (int type = 0; type <= static_cast<int>(ScalarType::float64); ++type) {
    for (const bool is_spread : {false, true}) {
      for (const Kind kind : {Kind::zero, Kind::constant, Kind::iota, Kind::uniform,
                              Kind::full_range, Kind::normal}) {
        for (const auto& [a, b] : {std::pair(0.0, 1.0), std::pair(-8.5, 300.25),
                                   std::pair(-1e-9, 1e9), std::pair(-70000.0, -3.0)}) {
          Argument& one =
              arguments.emplace_back(buffer("x" + std::to_string(arguments.size()), Role::input,
                                            4099, static_cast<ScalarType>(type)));
          one.init.kind = kind;
          one.init.a = a;
          one.init.b = b;
          one.init.is_spread = is_spread;
        }
      }
    }
  }
  ASSERT_TRUE(launcher_->prepare(0, {.arguments = arguments, .seed = 3}));
  for (const Argument& one : arguments) {
    ASSERT_EQ(launcher_->contents(0, one.name), initial_contents(one, 3))
        << cuda_name(one.type) << ", kind " << static_cast<int>(one.init.kind) << " of "
        << one.init.a << " and " << one.init.b << ", spread " << one.init.is_spread;
  }
  ASSERT_TRUE(launcher_->prepare(0, {}));
}

TEST_F(CudaGpu, CopiesContentsThatNoSeedChanges) {
  std::vector<Argument> arguments = {buffer("in", Role::input, 4099, ScalarType::int32),
                                     buffer("random", Role::input, 4099, ScalarType::int32),
                                     buffer("out", Role::output, 4099, ScalarType::int32)};
  arguments[0].init.kind = Init::Kind::definition;
  arguments[0].init.definition = "in[i] = i * i % 4099";
  for (int id = 0; id < 2; ++id) {
    const std::uint64_t seed = id == 0 ? 1 : 2;
    ASSERT_TRUE(launcher_->prepare(id, {.arguments = arguments, .seed = seed}));
    const KernelHandle handle =
        load("__global__ void none(const int* in, const int* random, int* out) { out[0] = 0; }",
             {shape("none", 1, 1, {"in", "random", "out"})}, arguments);
    const auto report = launcher_->run(handle, {.workload = id,
                                                .as_reference = true,
                                                .tolerance = {},
                                                .download = {},
                                                .download_before = {"in", "random"}});
    ASSERT_TRUE(report) << report.failure().detail;
    for (const Argument& argument : std::span(arguments).first(2)) {
      EXPECT_EQ(report->before.at(argument.name).bytes, initial_contents(argument, seed));
    }
  }
  ASSERT_TRUE(launcher_->prepare(1, {}));
}

TEST_F(CudaGpu, RejectsUnknownHandlesAndWorkloads) {
  EXPECT_THROW((void)launcher_->run(12345, {}), Error);
  prepare(twice_arguments());
  const KernelHandle handle = load(kTwice, twice_launch("none"), twice_arguments());
  RunRequest request;
  request.workload = 99;
  EXPECT_THROW((void)launcher_->run(handle, request), Error);
}

// A fault ends the context, so each runs in a process of its own that reports what it found.
class CudaGpuDeathTest : public CudaGpu {
 protected:
  [[noreturn]] static void fault(const std::string& body, bool while_timing = false) {
    const std::vector<Argument> arguments = {buffer("out", Role::output, 32)};
    prepare(arguments);
    const KernelHandle handle = load("__global__ void bad(float* out) { " + body + " }",
                                     {shape("bad", 1, 32, {"out"})}, arguments);
    Failure failure;
    if (while_timing) {
      const auto report = launcher_->time(handle, {});
      if (!report) failure = report.failure();
    } else {
      RunRequest request;
      request.as_reference = true;
      const auto report = launcher_->run(handle, request);
      if (!report) failure = report.failure();
    }
    std::fprintf(stderr, "status %s, reason %s, %s\n", to_text(failure.status).c_str(),
                 failure.reason.c_str(), failure.detail.c_str());
    launcher_.reset();  // Must neither throw nor hang.
    std::_Exit(failure.context_lost ? 70 : 1);
  }
};

TEST_F(CudaGpuDeathTest, AnIllegalAddressLosesTheContext) {
  EXPECT_EXIT(fault("reinterpret_cast<float*>(0x10)[threadIdx.x] = 1; out[0] = 1;"),
              testing::ExitedWithCode(70), "status runtime, reason illegal_address");
}

TEST_F(CudaGpuDeathTest, AMisalignedAddressLosesTheContext) {
  EXPECT_EXIT(fault("*reinterpret_cast<float*>(reinterpret_cast<char*>(out) + 2) = 1;"),
              testing::ExitedWithCode(70), "status runtime, reason misaligned_address");
}

TEST_F(CudaGpuDeathTest, ATrapLosesTheContext) {
  EXPECT_EXIT(fault("out[threadIdx.x] = 1; __trap();"), testing::ExitedWithCode(70),
              "status runtime, reason (illegal_instruction|launch_failure)");
}

TEST_F(CudaGpuDeathTest, AFaultWhileTimingIsReportedToo) {
  EXPECT_EXIT(fault("reinterpret_cast<float*>(0x10)[threadIdx.x] = 1; out[0] = 1;", true),
              testing::ExitedWithCode(70), "status runtime, reason illegal_address");
}

// The CPU device is tested with the same values.
TEST_F(CudaGpu, HasTheValuesOfIntrinsicsThatCudaDocuments) {
  const std::vector<Argument> arguments = {
      buffer("out", Role::output, static_cast<std::int64_t>(kIntrinsicCases.size()),
             ScalarType::float64),
      buffer("counter", Role::scratch, 1, ScalarType::int32)};
  prepare(arguments);
  const KernelHandle handle =
      load(intrinsics_kernel(), {shape("values", 1, 1, {"out", "counter"})}, arguments);
  const RunReport report = run(handle, true, {}, {"out"});
  const std::vector<double>& values = report.after.at("out").doubles();
  for (std::size_t i = 0; i < kIntrinsicCases.size(); ++i) {
    const IntrinsicCase& one = kIntrinsicCases[i];
    EXPECT_TRUE(agrees(one, values[i]))
        << one.expression << " is " << values[i] << ", not " << one.value;
  }
}

}  // namespace
}  // namespace smemtune::cuda
