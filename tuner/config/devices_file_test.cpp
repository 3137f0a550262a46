#include "tuner/config/devices_file.h"

#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace smemtune {
namespace {

std::vector<Device> shipped() {
  return load_devices(std::filesystem::path(SMEMTUNE_SOURCE_DIR) / "configs/devices.json");
}

// Copied by hand from the CUDA C++ Programming Guide's tables ("Technical Specifications per
// Compute Capability" of CUDA 4.0, 8.0, 11.4 and 13.0): threads and blocks per multiprocessor,
// registers in thousands per block and multiprocessor, shared memory in KB per block and
// multiprocessor.
constexpr const char* kGuide = R"(
  1.0    768  8   8   8   16  16
  1.1    768  8   8   8   16  16
  1.2   1024  8  16  16   16  16
  1.3   1024  8  16  16   16  16
  2.0   1536  8  32  32   48  48
  2.1   1536  8  32  32   48  48
  3.0   2048 16  64  64   48  48
  3.2   2048 16  32  64   48  48
  3.5   2048 16  64  64   48  48
  3.7   2048 16  64 128   48 112
  5.0   2048 32  64  64   48  64
  5.2   2048 32  64  64   48  96
  5.3   2048 32  32  64   48  64
  6.0   2048 32  64  64   48  64
  6.1   2048 32  64  64   48  96
  6.2   2048 32  32  64   48  64
  7.0   2048 32  64  64   96  96
  7.2   2048 32  64  64   96  96
  7.5   1024 16  64  64   64  64
  8.0   2048 32  64  64  163 164
  8.6   1536 16  64  64   99 100
  8.7   1536 16  64  64  163 164
  8.9   1536 24  64  64   99 100
  9.0   2048 32  64  64  227 228
  10.0  2048 32  64  64  227 228
  10.1  1536 24  64  64  227 228
  10.3  2048 32  64  64  227 228
  11.0  1536 24  64  64  227 228
  12.0  1536 24  64  64   99 100
  12.1  1536 24  64  64   99 100
)";

TEST(DevicesFile, GivesDevicesOfKnownNamesTheirCapability) {
  const std::vector<Device> known = shipped();
  const auto capability = [&](const std::string& name) {
    Device device;
    device.name = name;
    fill_capability(known, device);
    return device.compute_capability();
  };
  EXPECT_EQ(capability("NVIDIA A100-PCIE-40GB"), 80);
  EXPECT_EQ(capability("NVIDIA A100-SXM4-80GB"), 80);
  EXPECT_EQ(capability("NVIDIA H100 80GB HBM3"), 90);
  EXPECT_EQ(capability("GeForce RTX 3080 Ti"), 86);
  EXPECT_EQ(capability("NVIDIA RTX 6000 Ada Generation"), 89);
  EXPECT_EQ(capability("NVIDIA GeForce RTX 2080 Super"), 75);
  EXPECT_EQ(capability("Quadro RTX 6000"), 0) << "of another architecture than the RTX 6000 Ada";
  EXPECT_EQ(capability("NVIDIA RTX A6000"), 0) << "the table has no such model";
  EXPECT_EQ(capability("NVIDIA L400"), 0);
  EXPECT_EQ(capability("AMD Instinct MI250X"), 0);
  EXPECT_EQ(capability(""), 0);
  Device cpu;
  cpu.kind = DeviceKind::cpu;
  cpu.name = "NVIDIA A100";
  fill_capability(known, cpu);
  EXPECT_EQ(cpu.compute_major, 0);
}

TEST(DevicesFile, HasTheLimitsOfEveryComputeCapability) {
  const std::vector<Device> devices = shipped();
  std::istringstream guide(kGuide);
  std::set<std::string> listed;
  std::string capability;
  std::int64_t threads = 0;
  std::int64_t blocks = 0;
  std::array<std::int64_t, 2> registers = {};
  std::array<std::int64_t, 2> shared = {};
  while (guide >> capability >> threads >> blocks >> registers[0] >> registers[1] >> shared[0] >>
         shared[1]) {
    const Device device = find_device(devices, capability);
    EXPECT_EQ(threads, device.max_threads_per_sm) << capability;
    EXPECT_EQ(blocks, device.max_blocks_per_sm) << capability;
    EXPECT_EQ(1024 * registers[0], device.registers_per_block) << capability;
    EXPECT_EQ(1024 * registers[1], device.registers_per_sm) << capability;
    EXPECT_EQ(1024 * shared[0], device.max_shared_bytes_per_block) << capability;
    EXPECT_EQ(1024 * shared[1], device.shared_bytes_per_sm) << capability;
    EXPECT_EQ(device.compute_major == 1 ? 512 : 1024, device.max_threads_per_block) << capability;
    EXPECT_EQ(device.compute_major == 1 ? 16384 : 49152, device.shared_bytes_per_block)
        << capability;
    listed.insert(device.architecture);
  }
  EXPECT_EQ(30u, listed.size());
  for (const Device& device : devices) {
    EXPECT_TRUE(listed.contains(device.architecture)) << device.name;
  }
}

TEST(DevicesFile, HasTheModelsThatPeopleMean) {
  const std::vector<Device> devices = shipped();
  const std::map<std::string, std::string> expected = {
      {"c870", "sm_10"},  {"c1060", "sm_13"}, {"c2050", "sm_20"}, {"k80", "sm_37"},
      {"p100", "sm_60"},  {"v100", "sm_70"},  {"t4", "sm_75"},    {"a100", "sm_80"},
      {"a10", "sm_86"},   {"l4", "sm_89"},    {"l40s", "sm_89"},  {"rtx 2080", "sm_75"},
      {"3090", "sm_86"},  {"4090", "sm_89"},  {"5090", "sm_120"}, {"h100", "sm_90"},
      {"h200", "sm_90"},  {"b200", "sm_100"}, {"gh200", "sm_90"}, {"b300", "sm_103"},
      {"gb10", "sm_121"}, {"orin", "sm_87"},  {"thor", "sm_110"}, {"xavier", "sm_72"}};
  for (const auto& [name, architecture] : expected) {
    EXPECT_EQ(architecture, find_device(devices, name).architecture) << name;
  }
}

TEST(DevicesFile, HasWholeModels) {
  std::size_t models = 0;
  for (const Device& device : shipped()) {
    if (device.name.starts_with("compute capability")) continue;
    ++models;
    EXPECT_GT(device.sm_count, 0) << device.name;
    EXPECT_LE(device.sm_count, 256) << device.name;
    EXPECT_GE(device.memory_bytes, 500'000'000) << device.name;
    EXPECT_LE(device.memory_bytes, 300'000'000'000) << device.name;
    EXPECT_LT(device.l2_bytes, 200 << 20) << device.name;
    EXPECT_EQ(0, device.memory_bus_bits % 32) << device.name;
  }
  EXPECT_GE(models, 25u);
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
  EXPECT_EQ((Dim3{65535, 65535, 1}), tesla.max_grid_dim);
  const Device fermi = find_device(shipped(), "sm_20");
  EXPECT_EQ(1536, fermi.max_threads_per_sm);
  EXPECT_EQ(65535, fermi.max_grid_dim[0]);
}

TEST(FindDevice, TakesModelsHoweverTheyAreWritten) {
  const std::vector<Device> devices = shipped();
  for (const char* const name : {"h200", "H200", "NVIDIA H200", "nvidia-h200", "sm_90", "9.0"}) {
    EXPECT_EQ("NVIDIA H200", find_device(devices, name).name) << name;
  }
  for (const char* const name : {"rtx4090", "RTX 4090", "4090", "geforce rtx 4090"}) {
    EXPECT_EQ("NVIDIA GeForce RTX 4090", find_device(devices, name).name) << name;
  }
  EXPECT_EQ("NVIDIA H100 SXM", find_device(devices, "h100").name);
  EXPECT_EQ("compute capability 10.1", find_device(devices, "10.1").name) << "no model is listed";
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
  EXPECT_EQ("no device 'rtx 4095' is known; did you mean 'NVIDIA GeForce RTX 4090'?",
            message(devices, "rtx 4095"));
  EXPECT_THAT(message(devices, "radeon"), testing::HasSubstr("devices --known"));
  EXPECT_THAT(message(devices, "1.4"), testing::HasSubstr("no device '1.4' is known"));
  EXPECT_THAT(message(devices, "rtx"),
              testing::HasSubstr("device 'rtx' may be any of NVIDIA RTX PRO 6000 Blackwell, "));
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
  const TemporaryFolder folder;
  folder.write("devices.json", GetParam().text);
  const std::filesystem::path file = folder.path() / "devices.json";
  std::string what;
  try {
    load_devices(file);
  } catch (const InputError& error) {
    what = error.what();
  }
  EXPECT_THAT(what, testing::StartsWith(file.string() + ":"));
  EXPECT_THAT(what, testing::HasSubstr(GetParam().expected));
}

/// Returns a file with one compute capability that lacks its shared memory per block, and one
/// model.
std::string file(const std::string& limits, const std::string& model = "") {
  return R"({"compute_capabilities": [{"compute_capability": "9.0", "source": "none",
    "max_threads_per_block": 1024, "max_threads_per_sm": 2048, "max_blocks_per_sm": 32,
    "registers_per_block": 65536, "registers_per_sm": 65536, "shared_bytes_per_block": 49152,
    "shared_bytes_per_sm": 233472)" +
         limits + R"(}], "devices": [{"source": "none")" + model + "}]}";
}

constexpr const char* kLimits = R"(, "max_shared_bytes_per_block": 232448)";

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyDevicesFile,
    testing::Values(
        Fault{"NoObject", "[]", "is not an object with lists of \"compute_capabilities\""},
        Fault{"NumberForACapability", R"({"compute_capabilities": [1], "devices": [1]})",
              "/compute_capabilities/0: 1 is not an object"},
        Fault{"Misspelt", R"({"compute_capabilities": [{"sourc": "X"}], "devices": [1]})",
              "/compute_capabilities/0/sourc: unknown key; did you mean 'source'?"},
        Fault{"Lacking", file(""), "/compute_capabilities/0: lacks \"max_shared_bytes_per_block\""},
        Fault{"Fraction", file(R"(, "max_shared_bytes_per_block": 2.5)"),
              "/compute_capabilities/0/max_shared_bytes_per_block: 2.5 is not an integer"},
        Fault{
            "OptInBelowTheDefault", file(R"(, "max_shared_bytes_per_block": 40000)"),
            "/compute_capabilities/0/max_shared_bytes_per_block: is below shared_bytes_per_block"},
        Fault{"MultiprocessorBelowABlock", file(R"(, "max_shared_bytes_per_block": 233472,
                             "reserved_shared_bytes_per_block": 1024)"),
              "/compute_capabilities/0/shared_bytes_per_sm: is below"},
        Fault{"MisspeltModel", file(kLimits, R"(, "nam": "X")"),
              "/devices/0/nam: unknown key; did you mean 'name'?"},
        Fault{"CapabilityWithoutAPoint",
              file(kLimits, R"(, "name": "X", "compute_capability": "9")"),
              "/devices/0/compute_capability: '9' is not of the form 9.0"},
        Fault{"CapabilityThatIsNotListed",
              file(kLimits, R"(, "name": "X", "compute_capability": "9.1")"),
              "/devices/0/compute_capability: '9.1' is not one of the file's"},
        Fault{"ModelWithoutMultiprocessors",
              file(kLimits, R"(, "name": "X", "compute_capability": "9.0")"),
              "/devices/0: lacks \"sm_count\""},
        Fault{"NoMultiprocessors",
              file(kLimits, R"(, "name": "X", "compute_capability": "9.0", "sm_count": 0)"),
              "/devices/0/sm_count: is 0"},
        Fault{
            "Above32Bits",
            file(kLimits, R"(, "name": "X", "compute_capability": "9.0", "sm_count": 4294967300)"),
            "/devices/0/sm_count: 4294967300 is not an integer"}),
    [](const auto& fault) { return fault.param.name; });

}  // namespace
}  // namespace smemtune
