#include "tuner/core/limits.h"

#include "tuner/core/device.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

/// A device without an opt-in limit, as before compute capability 7.0.
Device without_opt_in() {
  Device device = h200_limits();
  device.max_shared_bytes_per_block = 49152;
  return device;
}

KernelInstance instance_of(LaunchShape launch) {
  KernelInstance instance;
  instance.launches = {std::move(launch)};
  return instance;
}

LaunchShape launch_of(Dim3 block, Dim3 grid = {1, 1, 1}) {
  LaunchShape launch;
  launch.name_expression = "k";
  launch.block = block;
  launch.grid = grid;
  return launch;
}

void expect_rejected(const std::optional<Failure>& failure, const std::string& reason,
                     const std::string& detail) {
  ASSERT_TRUE(failure) << "expected " << reason;
  EXPECT_EQ(Status::constraints, failure->status);
  EXPECT_EQ(reason, failure->reason);
  EXPECT_EQ(detail, failure->detail);
  EXPECT_FALSE(failure->context_lost);
}

TEST(LimitsBeforeCompiling, AcceptALaunchThatFillsTheDevice) {
  LaunchShape launch = launch_of({1024, 1, 1}, {2147483647, 65535, 65535});
  launch.dynamic_shared_bytes = 232448;
  EXPECT_EQ(std::nullopt, exceeds_limits(instance_of(launch), h200_limits()));
}

TEST(LimitsBeforeCompiling, BoundThreadsPerBlock) {
  expect_rejected(exceeds_limits(instance_of(launch_of({64, 32, 1})), h200_limits()), "threads",
                  "2048 threads per block (64 x 32 x 1), the device allows 1024");
  constexpr std::int64_t kHuge = std::int64_t{1} << 32;
  expect_rejected(exceeds_limits(instance_of(launch_of({kHuge, kHuge, 1})), h200_limits()),
                  "threads",
                  "9223372036854775807 threads per block (4294967296 x 4294967296 x 1), the device "
                  "allows 1024");
}

TEST(LimitsBeforeCompiling, BoundEveryRepetition) {
  LaunchShape launch = launch_of({32, 1, 1}, {2, 1, 1});
  launch.repetitions = {
      {.turn = 0, .grid = {2, 1, 1}, .block = {32, 1, 1}, .arguments = {}, .scalars = {}},
      {.turn = 1, .grid = {0, 1, 1}, .block = {32, 1, 1}, .arguments = {}, .scalars = {}}};
  expect_rejected(exceeds_limits(instance_of(launch), h200_limits()), "grid_dim",
                  "grid of 0 x 1 x 1 blocks, every dimension must be at least 1");
}

TEST(LimitsBeforeCompiling, TellThatTheCpuDeviceLaunchesNothingCooperatively) {
  LaunchShape launch = launch_of({32, 1, 1});
  launch.cooperative = true;
  EXPECT_EQ(std::nullopt, exceeds_limits(instance_of(launch), h200_limits()));
  Device cpu = h200_limits();
  cpu.kind = DeviceKind::cpu;
  expect_rejected(exceeds_limits(instance_of(launch), cpu), "requires",
                  "the kernel is launched cooperatively, which the CPU device cannot do");
}

TEST(LimitsBeforeCompiling, BoundEveryDimension) {
  expect_rejected(exceeds_limits(instance_of(launch_of({1, 1, 128})), h200_limits()), "block_dim",
                  "128 threads per block in z, the device allows 64");
  expect_rejected(exceeds_limits(instance_of(launch_of({32, 1, 1}, {1, 65536, 1})), h200_limits()),
                  "grid_dim", "65536 blocks in y, the device allows 65535");
  expect_rejected(
      exceeds_limits(instance_of(launch_of({32, 1, 1}, {2147483648, 1, 1})), h200_limits()),
      "grid_dim", "2147483648 blocks in x, the device allows 2147483647");
}

TEST(LimitsBeforeCompiling, RefuseEmptyBlocksAndGrids) {
  expect_rejected(exceeds_limits(instance_of(launch_of({32, 0, 1})), h200_limits()), "block_dim",
                  "block of 32 x 0 x 1 threads, every dimension must be at least 1");
  expect_rejected(exceeds_limits(instance_of(launch_of({32, 1, 1}, {0, 1, 1})), h200_limits()),
                  "grid_dim", "grid of 0 x 1 x 1 blocks, every dimension must be at least 1");
}

TEST(LimitsBeforeCompiling, BoundSharedMemoryByTheOptInLimit) {
  LaunchShape launch = launch_of({32, 1, 1});
  launch.dynamic_shared_bytes = 65536;
  EXPECT_EQ(std::nullopt, exceeds_limits(instance_of(launch), h200_limits()));
  expect_rejected(exceeds_limits(instance_of(launch), without_opt_in()), "shared_bytes",
                  "65536 bytes of shared memory per block (static 0 + dynamic 65536), the device "
                  "allows 49152");
  launch.static_shared_bytes = 4096;
  launch.dynamic_shared_bytes = 232448 - 4095;
  expect_rejected(exceeds_limits(instance_of(launch), h200_limits()), "shared_bytes",
                  "232449 bytes of shared memory per block (static 4096 + dynamic 228353), the "
                  "device allows 232448");
  launch.dynamic_shared_bytes = INT64_MAX;
  expect_rejected(exceeds_limits(instance_of(launch), h200_limits()), "shared_bytes",
                  "more than 2^63 bytes of shared memory per block (static 4096 + dynamic "
                  "9223372036854775807), the device allows 232448");
}

TEST(LimitsBeforeCompiling, LetLargeStaticArraysPassOnlyForOneArchitecture) {
  LaunchShape launch = launch_of({32, 1, 1});
  launch.static_shared_bytes = 65536;
  KernelInstance instance = instance_of(launch);
  expect_rejected(exceeds_limits(instance, h200_limits()), "shared_bytes",
                  "65536 bytes of static shared memory per block, static arrays may have 49152 "
                  "(dynamic shared memory 232448)");
  instance.architecture_specific = true;
  EXPECT_EQ(std::nullopt, exceeds_limits(instance, h200_limits()));
  EXPECT_TRUE(exceeds_limits(instance, without_opt_in()));
}

TEST(LimitsBeforeCompiling, RequireFeaturesOfTheDevice) {
  KernelInstance instance = instance_of(launch_of({32, 1, 1}));
  instance.required_features = feature_words();
  EXPECT_EQ(std::nullopt, exceeds_limits(instance, h200_limits()));
  Device older = h200_limits();
  older.compute_major = 8;
  older.compute_minor = 6;
  instance.required_features = {"tensor_cores", "clusters"};
  expect_rejected(exceeds_limits(instance, older), "requires",
                  "the kernel requires thread block clusters, which needs compute capability 9.0; "
                  "the device has 8.6");
  Device cpu = h200_limits();
  cpu.kind = DeviceKind::cpu;
  instance.required_features = {"inline_ptx"};
  expect_rejected(exceeds_limits(instance, cpu), "requires",
                  "the kernel requires inline PTX, which the CPU device does not have");
  EXPECT_EQ(std::nullopt, exceeds_limits(instance, older));
}

TEST(LimitsBeforeCompiling, KnowWhichGpusHaveWgmma) {
  KernelInstance instance = instance_of(launch_of({128, 1, 1}));
  instance.required_features = {"wgmma"};
  EXPECT_EQ(std::nullopt, exceeds_limits(instance, h200_limits()));
  Device newer = h200_limits();
  newer.compute_major = 10;
  expect_rejected(
      exceeds_limits(instance, newer), "requires",
      "the kernel requires warpgroup products (wgmma), which needs compute capability 9.0; "
      "the device has 10.0");
}

TEST(LimitsBeforeCompiling, BoundClusters) {
  LaunchShape launch = launch_of({128, 1, 1}, {12, 8, 1});
  launch.cluster = {4, 2, 1};
  EXPECT_EQ(std::nullopt, exceeds_limits(instance_of(launch), h200_limits()));
  Device older = h200_limits();
  older.compute_major = 8;
  expect_rejected(exceeds_limits(instance_of(launch), older), "requires",
                  "the kernel requires thread block clusters, which needs compute capability 9.0; "
                  "the device has 8.0");
  launch.cluster = {6, 2, 1};
  expect_rejected(exceeds_limits(instance_of(launch), h200_limits()), "cluster_dim",
                  "cluster of 6 x 2 x 1 blocks (12), a cluster may have at most 8");
  launch.cluster = {5, 1, 1};
  expect_rejected(
      exceeds_limits(instance_of(launch), h200_limits()), "cluster_dim",
      "cluster of 5 x 1 x 1 blocks, the grid of 12 x 8 x 1 blocks is not a multiple of it "
      "in x");
  launch.cluster = {0, 1, 1};
  expect_rejected(exceeds_limits(instance_of(launch), h200_limits()), "cluster_dim",
                  "cluster of 0 x 1 x 1 blocks, every dimension must be at least 1");
}

TEST(LimitsBeforeCompiling, BoundTheRegistersThatWarpgroupsSet) {
  LaunchShape launch = launch_of({384, 1, 1});
  KernelInstance instance = instance_of(launch);
  const auto failure_of = [&](std::vector<std::int64_t> registers) {
    instance.launches[0].warpgroup_registers = std::move(registers);
    return exceeds_limits(instance, h200_limits());
  };
  expect_rejected(failure_of({40, 232}), "warpgroup_registers",
                  "registers of warpgroups are declared, which only kernels with "
                  "\"architecture_specific\" can set");
  instance.architecture_specific = true;
  EXPECT_EQ(std::nullopt, failure_of({40, 232}));
  EXPECT_EQ(std::nullopt, failure_of({32, 240, 240}));
  EXPECT_EQ(std::nullopt, failure_of({0}));
  expect_rejected(
      failure_of({40, 240}), "warpgroup_registers",
      "66560 registers per block as its warpgroups set them (40 + 240 + 240 per thread), "
      "the device allows 65536");
  for (const std::int64_t registers : {16, 60, 264, -8}) {
    expect_rejected(
        failure_of({40, registers}), "warpgroup_registers",
        std::to_string(registers) +
            " registers per thread of a warpgroup, setmaxnreg takes multiples of 8 from "
            "24 to 256");
  }
  instance.launches[0].block = {96, 2, 1};
  expect_rejected(failure_of({40}), "warpgroup_registers",
                  "registers of warpgroups are declared, and 192 threads per block are not a whole "
                  "number of warpgroups of 128");
}

TEST(LimitsBeforeCompiling, TakeTensorMapsWhereThereIsTma) {
  KernelInstance instance = instance_of(launch_of({128, 1, 1}));
  Argument matrix;
  matrix.name = "a";
  matrix.shape = {4096, 4096};
  matrix.memory = MemorySpace::tensor_map;
  matrix.box = {64, 32};
  instance.arguments = {matrix};
  EXPECT_EQ(std::nullopt, exceeds_limits(instance, h200_limits()));
  Device cpu = h200_limits();
  cpu.kind = DeviceKind::cpu;
  expect_rejected(
      exceeds_limits(instance, cpu), "requires",
      "the kernel requires the tensor memory accelerator, which the CPU device does not "
      "have");
  instance.arguments.front().shape = {4096, 4095};
  expect_rejected(exceeds_limits(instance, h200_limits()), "tensor_map",
                  "the tensor map of a has 16380 bytes from one to the next in dimension 1, a "
                  "multiple of 16 is needed");
}

TEST(LimitsBeforeCompiling, BoundTheSumOfArgumentsInConstantMemory) {
  KernelInstance instance = instance_of(launch_of({32, 1, 1}));
  Argument filter;
  filter.name = "filter";
  filter.type = ScalarType::float32;
  filter.shape = {2, 4096};
  filter.memory = MemorySpace::constant;
  Argument weights = filter;
  weights.name = "weights";
  weights.shape = {8192};
  Argument in = filter;
  in.memory = MemorySpace::global;
  instance.arguments = {filter, weights, in};
  EXPECT_EQ(std::nullopt, exceeds_limits(instance, h200_limits()));
  instance.arguments[1].shape = {8193};
  expect_rejected(exceeds_limits(instance, h200_limits()), "constant_bytes",
                  "65540 bytes of constant memory, the device allows 65536");
}

TEST(LimitsBeforeCompiling, SayWhichOfSeveralLaunchesItIs) {
  KernelInstance instance = instance_of(launch_of({32, 1, 1}));
  instance.launches.push_back(launch_of({2048, 1, 1}));
  instance.launches[1].name_expression = "combine<256>";
  expect_rejected(exceeds_limits(instance, h200_limits()), "threads",
                  "2048 threads per block (2048 x 1 x 1), the device allows 1024, in launch 2 of 2 "
                  "(combine<256>)");
}

TEST(LimitsAfterCompiling, AcceptWhatFits) {
  LaunchShape launch = launch_of({1024, 1, 1});
  launch.static_shared_bytes = 4096;
  Resources resources;
  resources.registers_per_thread = 64;
  resources.static_shared_bytes = 4096;
  resources.max_threads_per_block = 1024;
  EXPECT_EQ(std::nullopt, exceeds_resources(instance_of(launch), {resources}, h200_limits(), {}));
}

TEST(LimitsAfterCompiling, LetACooperativeGridHaveWhatFitsAtOnce) {
  LaunchShape launch = launch_of({1024, 1, 1}, {2 * 132, 1, 1});
  launch.cooperative = true;
  Resources resources;
  resources.registers_per_thread = 32;
  EXPECT_EQ(std::nullopt, exceeds_resources(instance_of(launch), {resources}, h200_limits(), {}));
  launch.grid = {133, 2, 1};
  expect_rejected(exceeds_resources(instance_of(launch), {resources}, h200_limits(), {}),
                  "cooperative_grid",
                  "266 blocks wait for each other, 264 fit on the device at once (2 per "
                  "multiprocessor x 132)");
  launch.cooperative = false;
  EXPECT_EQ(std::nullopt, exceeds_resources(instance_of(launch), {resources}, h200_limits(), {}));
}

TEST(LimitsAfterCompiling, BoundRegistersInAllocationUnits) {
  Resources resources;
  resources.registers_per_thread = 72;
  expect_rejected(
      exceeds_resources(instance_of(launch_of({1024, 1, 1})), {resources}, h200_limits(), {}),
      "registers",
      "73728 registers per block (72 per thread x 1024 threads, in whole allocation "
      "units), the device allows 65536");
  // 897 threads are 29 warps, which count as 32.
  EXPECT_TRUE(
      exceeds_resources(instance_of(launch_of({897, 1, 1})), {resources}, h200_limits(), {}));
  EXPECT_FALSE(
      exceeds_resources(instance_of(launch_of({896, 1, 1})), {resources}, h200_limits(), {}));
}

TEST(LimitsAfterCompiling, HoldTheRegistersThatWarpgroupsSetAgainstThoseOfTheLaunch) {
  LaunchShape launch = launch_of({384, 1, 1});
  launch.warpgroup_registers = {40, 232};
  KernelInstance instance = instance_of(launch);
  instance.architecture_specific = true;
  Resources resources;
  resources.registers_per_thread = 168;
  EXPECT_EQ(std::nullopt, exceeds_resources(instance, {resources}, h200_limits(), {}));
  resources.registers_per_thread = 160;
  expect_rejected(
      exceeds_resources(instance, {resources}, h200_limits(), {}), "warpgroup_registers",
      "64512 registers per block as its warpgroups set them (40 + 232 + 232 per thread), "
      "it is launched with 61440 (160 per thread x 384 threads, in whole allocation "
      "units), so that they would wait forever");
  // A warpgroup that sets no registers keeps those of the launch.
  instance.launches[0].warpgroup_registers = {0, 160};
  EXPECT_EQ(std::nullopt, exceeds_resources(instance, {resources}, h200_limits(), {}));
  instance.launches[0].warpgroup_registers = {0, 168};
  EXPECT_TRUE(exceeds_resources(instance, {resources}, h200_limits(), {}));
}

TEST(LimitsAfterCompiling, HoldTheDeclaredSharedBytesAgainstTheCompilers) {
  LaunchShape launch = launch_of({32, 1, 1});
  launch.static_shared_bytes = 4096;
  Resources resources;
  resources.registers_per_thread = 16;
  resources.static_shared_bytes = 4224;
  expect_rejected(exceeds_resources(instance_of(launch), {resources}, h200_limits(), {}),
                  "declared_shared_bytes",
                  "4096 bytes of static shared memory are declared, the compiled kernel has 4224");
  launch.static_shared_bytes.reset();
  EXPECT_EQ(std::nullopt, exceeds_resources(instance_of(launch), {resources}, h200_limits(), {}));
}

TEST(LimitsAfterCompiling, BoundTheSharedMemoryThatTheCompilerFound) {
  LaunchShape launch = launch_of({32, 1, 1});
  launch.dynamic_shared_bytes = 230000;
  Resources resources;
  resources.registers_per_thread = 16;
  resources.static_shared_bytes = 4096;
  expect_rejected(exceeds_resources(instance_of(launch), {resources}, h200_limits(), {}),
                  "shared_bytes",
                  "234096 bytes of shared memory per block (static 4096 + dynamic 230000), the "
                  "device allows 232448");
}

TEST(LimitsAfterCompiling, HoldTheBlockAgainstLaunchBounds) {
  Resources resources;
  resources.registers_per_thread = 16;
  resources.max_threads_per_block = 256;
  expect_rejected(
      exceeds_resources(instance_of(launch_of({512, 1, 1})), {resources}, h200_limits(), {}),
      "launch_bounds", "512 threads per block, __launch_bounds__ allows 256");
}

TEST(LimitsAfterCompiling, BoundConstantMemoryOfTheModule) {
  Resources resources;
  resources.registers_per_thread = 16;
  resources.constant_bytes = 65537;
  expect_rejected(
      exceeds_resources(instance_of(launch_of({32, 1, 1})), {resources}, h200_limits(), {}),
      "constant_bytes", "65537 bytes of constant memory, the device allows 65536");
}

TEST(LimitsAfterCompiling, AskForTheMinimumOfOccupancy) {
  LaunchShape launch = launch_of({256, 1, 1});
  launch.dynamic_shared_bytes = 100000;
  Resources resources;
  resources.registers_per_thread = 32;
  const KernelInstance instance = instance_of(launch);
  EXPECT_EQ(std::nullopt,
            exceeds_resources(instance, {resources}, h200_limits(), {.min_occupancy_percent = 25}));
  expect_rejected(
      exceeds_resources(instance, {resources}, h200_limits(), {.min_occupancy_percent = 62.5}),
      "occupancy",
      "25 % occupancy (2 blocks per multiprocessor, limited by shared), at least 62.5 "
      "% is asked for");
}

TEST(LimitsAfterCompiling, RefuseABlockThatNoMultiprocessorHolds) {
  // This device's reserve leaves less of the multiprocessor than its opt-in limit says.
  Device device = h200_limits();
  device.shared_bytes_per_sm = device.max_shared_bytes_per_block;
  LaunchShape launch = launch_of({32, 1, 1});
  launch.dynamic_shared_bytes = device.max_shared_bytes_per_block;
  Resources resources;
  resources.registers_per_thread = 16;
  expect_rejected(exceeds_resources(instance_of(launch), {resources}, device, {}), "occupancy",
                  "0 % occupancy (0 blocks per multiprocessor, limited by shared), at least one "
                  "must fit");
}

}  // namespace
}  // namespace smemtune
