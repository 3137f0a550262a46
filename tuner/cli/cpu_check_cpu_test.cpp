// Checks of a GPU's finalists on the CPU device, with real kernels and without a GPU.

#include "tuner/cli/backends.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/config/devices_file.h"
#include "tuner/config/space_file.h"
#include "tuner/core/result_log.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/engine/cpu_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smemtune::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// With RACE, the threads of a block read what others write without a barrier; with PTX, the kernel
// cannot run on the CPU.
constexpr const char* kSource = R"cuda(
template <int THREADS, int KIND>
__global__ void turn(float* out, const float* in) {
  __shared__ float tile[THREADS];
  tile[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
  if (KIND == 2) asm volatile("bar.sync 0;");
  if (KIND == 0) __syncthreads();
  out[blockIdx.x * THREADS + threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}
)cuda";

constexpr const char* kSpace = R"json({
  "name": "turn", "problems": [{ "N": 1048576 }],
  "arguments": [
    { "name": "out", "type": "float", "shape": ["N"], "role": "output" },
    { "name": "in", "type": "float", "shape": ["N"], "role": "input", "init": "uniform(-1, 1)" }],
  "kernels": [{ "name": "turn", "source": "turn.cu", "entry": "turn<THREADS, KIND>",
    "parameters": { "THREADS": [64, 128], "KIND": [0, 1, 2] },
    "block": ["THREADS"], "grid": ["N / THREADS"] }] })json";

/// Checks one configuration of the space above, as a GPU's finals do.
CpuCheck checked(const std::string& configuration, double most_s = 60) {
  const TemporaryFolder folder;
  folder.write("turn.cu", kSource);
  folder.write("turn.json", kSpace);
  const LoadedSpace loaded = load_space(folder.path() / "turn.json", share_folder());
  const Device gpu = find_device(published_devices(), "h200");
  TuningRequest request;
  request.space = &loaded.space;
  request.sources = loaded.sources;
  request.cpu = cpu_beside(gpu);
  // Workers are started from the program, because this test cannot act as one.
  request.cpu->start = [device = request.cpu->device] {
    WorkerCommand command = background_workers(device);
    command.compile.front() = SMEMTUNE_EXECUTABLE;
    command.devices.front().front() = SMEMTUNE_EXECUTABLE;
    return start_workers(command);
  };
  const auto pool = request.cpu->start();
  CompileQueue queue(*pool);
  NoLog log;
  const Observer observer;
  const std::atomic<bool> stop = false;
  TuningSummary summary;
  Tuning tuning = {.request = request,
                   .device = gpu,
                   .pool = *pool,
                   .queue = queue,
                   .log = &log,
                   .observer = observer,
                   .stop = stop,
                   .summary = summary};
  const KernelTemplate& kernel = loaded.space.kernels.front();
  const Problem& problem = loaded.space.problems.front();
  KernelOnProblems bound = {.bound = {}, .source = &loaded.sources.at("turn"), .hash = ""};
  bound.bound.emplace_back(loaded.space, kernel, problem, gpu);
  Result result = begin_result(bound, parse_key(configuration));
  result.launches.emplace_back().resources.static_shared_bytes = 256;
  CpuChecker checker(tuning);
  EXPECT_TRUE(checker.applies_to(result));
  checker.begin(bound, result, most_s);
  for (;;) {
    if (std::optional<CpuCheck> check = checker.step(0.1)) return *check;
  }
}

TEST(CpuCheckOnCpu, SeesARaceAndNamesItsLine) {
  const CpuCheck check = checked("KIND=1,THREADS=64");
  EXPECT_THAT(check.not_run, IsEmpty());
  ASSERT_TRUE(check.has_race());
  EXPECT_THAT(check.found->detail, HasSubstr("turn.cu:"));
}

TEST(CpuCheckOnCpu, SeesNoneWhereABarrierIs) {
  const CpuCheck check = checked("KIND=0,THREADS=128");
  EXPECT_THAT(check.not_run, IsEmpty());
  EXPECT_FALSE(check.found) << check.found->detail;
  EXPECT_GT(check.blocks, 0u);
  EXPECT_EQ(8192u, check.blocks_total);
}

TEST(CpuCheckOnCpu, SaysWhatTheCpuDoesNotHave) {
  EXPECT_THAT(checked("KIND=2,THREADS=64").not_run, HasSubstr("inline PTX"));
}

TEST(CpuCheckOnCpu, BeginsNothingWithoutTime) {
  EXPECT_EQ("time ran out", checked("KIND=0,THREADS=64", 0.1).not_run);
}

}  // namespace
}  // namespace smemtune::cli
