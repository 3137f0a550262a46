#include "tuner/config/devices_file.h"
#include "tuner/core/occupancy.h"

#include <cuda_occupancy.h>
#include <cuda_runtime_api.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace smemtune {

static void PrintTo(const Device& device, std::ostream* out) { *out << device.architecture; }

namespace {

/// Returns one device of every compute capability that configs/devices.json has and the header
/// knows.
std::vector<Device> devices_of_header() {
  const std::filesystem::path root = SMEMTUNE_SOURCE_DIR;
  std::map<std::string, Device> devices;
  for (const Device& device : load_devices(root / "configs/devices.json")) {
    if (device.compute_major >= 3) devices.emplace(device.architecture, device);
  }
  std::vector<Device> result;
  for (const auto& [architecture, device] : devices) result.push_back(device);
  return result;
}

cudaOccDeviceProp header_properties(const Device& device) {
  cudaOccDeviceProp properties;
  properties.computeMajor = device.compute_major;
  properties.computeMinor = device.compute_minor;
  properties.maxThreadsPerBlock = device.max_threads_per_block;
  properties.maxThreadsPerMultiprocessor = device.max_threads_per_sm;
  properties.regsPerBlock = static_cast<int>(device.registers_per_block);
  properties.regsPerMultiprocessor = static_cast<int>(device.registers_per_sm);
  properties.warpSize = device.warp_size;
  properties.sharedMemPerBlock = static_cast<std::size_t>(device.shared_bytes_per_block);
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(device.shared_bytes_per_sm);
  properties.numSms = 1;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(device.max_shared_bytes_per_block);
  properties.reservedSharedMemPerBlock =
      static_cast<std::size_t>(device.reserved_shared_bytes_per_block);
  return properties;
}

/// Returns the toolkit header's result; nullopt if the header is older than the device. Launch
/// bounds are left out because the header does not check them, and barriers because occupancy()
/// does not take them.
std::optional<cudaOccResult> header_occupancy(const Device& device, int threads, int registers,
                                              int static_bytes, int dynamic_bytes) {
  const cudaOccDeviceProp properties = header_properties(device);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = INT_MAX;
  attributes.numRegs = registers;
  attributes.sharedSizeBytes = static_cast<std::size_t>(static_bytes);
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(dynamic_bytes);
  const cudaOccDeviceState state;
  cudaOccResult result{};
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &attributes, &state, threads, static_cast<std::size_t>(dynamic_bytes));
  if (error == CUDA_OCC_ERROR_UNKNOWN_DEVICE && CUDART_VERSION < 13000) return std::nullopt;
  EXPECT_EQ(CUDA_OCC_SUCCESS, error);
  return result;
}

class OccupancyAgainstHeader : public testing::TestWithParam<Device> {};

TEST_P(OccupancyAgainstHeader, IsEqualForRandomKernels) {
  const Device& device = GetParam();
  // The header allows a 3.0 device 255 registers per thread; it has 63.
  const bool is_3_0 = device.compute_major == 3 && device.compute_minor == 0;
  std::mt19937 random(static_cast<unsigned>(100 * device.compute_major + device.compute_minor));
  const auto draw = [&random](int below) { return static_cast<int>(random() % unsigned(below)); };
  for (int i = 0; i < 10'000; ++i) {
    const int threads = i % 2 == 0 ? 1 + draw(1100) : 32 * (1 + draw(32));
    const int registers = draw(is_3_0 ? 64 : 256);
    const int most = static_cast<int>(device.max_shared_bytes_per_block);
    const int total = i % 3 == 0 ? draw(most / 8) : draw(most + 4096);
    const int static_bytes = i % 5 == 0 ? 0 : draw(total + 1);

    const Occupancy ours = occupancy(device, threads, registers, total);
    const auto known =
        header_occupancy(device, threads, registers, static_bytes, total - static_bytes);
    if (!known) GTEST_SKIP() << "newer than cuda_occupancy.h of this toolkit";
    const cudaOccResult& theirs = *known;
    const std::string what = std::to_string(threads) + " threads, " + std::to_string(registers) +
                             " registers, " + std::to_string(total) + " bytes";
    ASSERT_EQ(theirs.activeBlocksPerMultiprocessor, ours.blocks_per_sm) << what;
    ASSERT_EQ(theirs.blockLimitSharedMem, ours.blocks_by_shared) << what;
    ASSERT_EQ(theirs.blockLimitBlocks, ours.blocks_by_limit) << what;
    if (threads > device.max_threads_per_block) continue;
    ASSERT_EQ(theirs.blockLimitWarps, ours.blocks_by_threads) << what;
    ASSERT_EQ(theirs.blockLimitRegs, ours.blocks_by_registers) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryCapability, OccupancyAgainstHeader,
                         testing::ValuesIn(devices_of_header()),
                         [](const testing::TestParamInfo<Device>& device) {
                           return device.param.architecture;
                         });

TEST(OccupancyAgainstTheHeader, IsComparedForEveryCapabilityFrom30On) {
  // There are 24 of them, 3.0 to 12.1, with 10,000 kernels each.
  EXPECT_EQ(24u, devices_of_header().size());
}

}  // namespace
}  // namespace smemtune
