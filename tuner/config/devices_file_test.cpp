#include "tuner/config/devices_file.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace smemtune {
namespace {

std::vector<Device> shipped() {
  return load_devices(std::filesystem::path(SMEMTUNE_SOURCE_DIR) / "configs/devices.json");
}

TEST(DevicesFile, HasEveryArchitectureThatIsAskedFor) {
  std::set<std::string> architectures;
  for (const Device& device : shipped()) architectures.insert(device.architecture);
  for (const char* const architecture :
       {"sm_13", "sm_20", "sm_37", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89",
        "sm_90", "sm_100", "sm_103", "sm_120", "sm_121"}) {
    EXPECT_TRUE(architectures.contains(architecture)) << architecture;
  }
}

TEST(DevicesFile, HasTheH200AsItsDriverReportsIt) {
  const Device device = find_device(shipped(), "NVIDIA H200");
  EXPECT_EQ("sm_90", device.architecture);
  EXPECT_EQ(9, device.compute_major);
  EXPECT_EQ(0, device.compute_minor);
  EXPECT_EQ(132, device.sm_count);
  EXPECT_EQ(32, device.warp_size);
  EXPECT_EQ(1024, device.max_threads_per_block);
  EXPECT_EQ(2048, device.max_threads_per_sm);
  EXPECT_EQ(32, device.max_blocks_per_sm);
  EXPECT_EQ(65536, device.registers_per_block);
  EXPECT_EQ(65536, device.registers_per_sm);
  EXPECT_EQ(49152, device.shared_bytes_per_block);
  EXPECT_EQ(232448, device.max_shared_bytes_per_block);
  EXPECT_EQ(233472, device.shared_bytes_per_sm);
  EXPECT_EQ(1024, device.reserved_shared_bytes_per_block);
  EXPECT_EQ(62914560, device.l2_bytes);
  EXPECT_EQ(6144, device.memory_bus_bits);
  EXPECT_EQ(2147483647, device.max_grid_dim[0]);
  EXPECT_EQ(DeviceKind::gpu, device.kind);
}

// A multiprocessor's limits are the compute capability's, so two models of one differ in none.
TEST(DevicesFile, GivesModelsOfOneComputeCapabilityTheSameLimits) {
  std::map<std::string, Device> first;
  for (const Device& device : shipped()) {
    const Device& other = first.emplace(device.architecture, device).first->second;
    const auto limits = [](const Device& d) {
      return std::tuple(d.max_threads_per_block, d.max_threads_per_sm, d.max_blocks_per_sm,
                        d.registers_per_block, d.registers_per_sm, d.shared_bytes_per_block,
                        d.max_shared_bytes_per_block, d.shared_bytes_per_sm,
                        d.reserved_shared_bytes_per_block, d.max_grid_dim, d.max_block_dim);
    };
    EXPECT_EQ(limits(other), limits(device)) << device.name;
  }
}

// From 8.0 on, the largest block leaves exactly what the system reserves.
TEST(DevicesFile, LeavesOneKilobyteOfSharedMemoryToTheSystemSinceAmpere) {
  for (const Device& device : shipped()) {
    if (device.compute_major < 8) continue;
    EXPECT_EQ(1024, device.reserved_shared_bytes_per_block) << device.name;
    EXPECT_EQ(device.shared_bytes_per_sm - 1024, device.max_shared_bytes_per_block) << device.name;
  }
}

TEST(DevicesFile, KnowsTheLimitsOfTheFirstGenerations) {
  const Device tesla = find_device(shipped(), "sm_13");
  EXPECT_EQ(512, tesla.max_threads_per_block);
  EXPECT_EQ(16384, tesla.registers_per_sm);
  EXPECT_EQ(16384, tesla.shared_bytes_per_sm);
  EXPECT_EQ((Dim3{512, 512, 64}), tesla.max_block_dim);
  const Device fermi = find_device(shipped(), "sm_20");
  EXPECT_EQ(1536, fermi.max_threads_per_sm);
  EXPECT_EQ(65535, fermi.max_grid_dim[0]);
}

TEST(FindDevice, TakesModelsHoweverTheyAreWritten) {
  const std::vector<Device> devices = shipped();
  for (const char* const name : {"h200", "H200", "NVIDIA H200", "nvidia-h200", "sm_90"}) {
    EXPECT_EQ("NVIDIA H200", find_device(devices, name).name) << name;
  }
  for (const char* const name : {"rtx4090", "RTX 4090", "4090", "geforce rtx 4090"}) {
    EXPECT_EQ("NVIDIA GeForce RTX 4090", find_device(devices, name).name) << name;
  }
  EXPECT_EQ("NVIDIA H100 SXM", find_device(devices, "h100").name);
  EXPECT_EQ("NVIDIA L4", find_device(devices, "l4").name);
  EXPECT_EQ("NVIDIA L40S", find_device(devices, "L40s").name);
}

std::string message(const std::vector<Device>& devices, const std::string& name) {
  try {
    return "found " + find_device(devices, name).name;
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(FindDevice, NamesTheNearestWhereNoneIsMeant) {
  const std::vector<Device> devices = shipped();
  EXPECT_EQ("no device 'sm_91' is known; did you mean 'sm_90'?", message(devices, "sm_91"));
  EXPECT_EQ("no device 'rtx 5080' is known; did you mean 'NVIDIA GeForce RTX 5090'?",
            message(devices, "rtx 5080"));
  EXPECT_THAT(message(devices, "radeon"), testing::HasSubstr("known are NVIDIA H200, "));
  EXPECT_THAT(message(devices, "rtx"), testing::HasSubstr("no device 'rtx' is known"));
  EXPECT_THAT(message(devices, ""), testing::HasSubstr("no device '' is known"));
}

struct Fault {
  std::string name;
  std::string text;
  std::string expected;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class FaultyDevicesFile : public testing::TestWithParam<Fault> {};

TEST_P(FaultyDevicesFile, IsRefusedWithThePlace) {
  std::string directory = std::filesystem::temp_directory_path() / "devices_XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(directory.data()));
  const std::filesystem::path file = std::filesystem::path(directory) / "devices.json";
  std::ofstream(file) << GetParam().text;
  std::string what;
  try {
    load_devices(file);
  } catch (const InputError& error) {
    what = error.what();
  }
  std::filesystem::remove_all(directory);
  EXPECT_THAT(what, testing::StartsWith(file.string() + ":"));
  EXPECT_THAT(what, testing::HasSubstr(GetParam().expected));
}

std::string device(const std::string& changes) {
  return R"({"devices": [{"name": "X", "compute_capability": "9.0", "source": "none",
    "max_threads_per_block": 1024, "max_threads_per_sm": 2048, "max_blocks_per_sm": 32,
    "registers_per_block": 65536, "registers_per_sm": 65536, "shared_bytes_per_block": 49152,
    "shared_bytes_per_sm": 233472)" +
         changes + "}]}";
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyDevicesFile,
    testing::Values(
        Fault{"NoObject", "[]", "is not an object with a list of \"devices\""},
        Fault{"NumberForADevice", R"({"devices": [1]})", "/devices/0: 1 is not an object"},
        Fault{"Misspelt", R"({"devices": [{"nam": "X"}]})",
              "/devices/0/nam: unknown key; did you mean 'name'?"},
        Fault{"Lacking", device(""), "/devices/0: lacks \"max_shared_bytes_per_block\""},
        Fault{"Fraction", device(R"(, "max_shared_bytes_per_block": 2.5)"),
              "/devices/0/max_shared_bytes_per_block: 2.5 is not an integer"},
        Fault{"OptInBelowTheDefault", device(R"(, "max_shared_bytes_per_block": 40000)"),
              "/devices/0/max_shared_bytes_per_block: is below shared_bytes_per_block"},
        Fault{"MultiprocessorBelowABlock", device(R"(, "max_shared_bytes_per_block": 233472,
                             "reserved_shared_bytes_per_block": 1024)"),
              "/devices/0/shared_bytes_per_sm: is below"},
        Fault{"Above32Bits",
              device(R"(, "max_shared_bytes_per_block": 232448, "sm_count": 4294967300)"),
              "/devices/0/sm_count: 4294967300 is not an integer"},
        Fault{"CapabilityWithoutAPoint",
              R"({"devices": [{"name": "X", "source": "none", "compute_capability": "9"}]})",
              "/devices/0/compute_capability: '9' is not of the form 9.0"}),
    [](const auto& fault) { return fault.param.name; });

}  // namespace
}  // namespace smemtune
