#include "tuner/backend/cuda/devices.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace smemtune::cuda {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Device gpu(const std::string& name, const std::string& uuid) {
  Device device;
  device.name = name;
  device.uuid = uuid;
  return device;
}

const std::vector<Device>& two_gpus() {
  static const std::vector<Device> devices = {gpu("NVIDIA H200", "GPU-0a1b2c3d-0000"),
                                              gpu("NVIDIA GeForce RTX 4090", "GPU-77777777-0000")};
  return devices;
}

TEST(SelectDevice, TakesIndexUuidOrPartOfTheName) {
  EXPECT_EQ(select_device(two_gpus(), ""), 0);
  EXPECT_EQ(select_device(two_gpus(), "1"), 1);
  EXPECT_EQ(select_device(two_gpus(), "GPU-77777777-0000"), 1);
  EXPECT_EQ(select_device(two_gpus(), "gpu-0A1B"), 0);
  EXPECT_EQ(select_device(two_gpus(), "h200"), 0);
  EXPECT_EQ(select_device(two_gpus(), "rtx"), 1);
  EXPECT_EQ(select_device(two_gpus(), "4090"), 1);
}

TEST(SelectDevice, TakesAPartOfANameOnlyWhereItMeansOneModel) {
  const std::vector<Device> devices = {gpu("NVIDIA L40", "GPU-1"),
                                       gpu("NVIDIA L4", "GPU-2"),
                                       gpu("NVIDIA L40S", "GPU-3"),
                                       gpu("NVIDIA GeForce RTX 2080 Ti", "GPU-4"),
                                       gpu("NVIDIA GeForce RTX 2080 Super", "GPU-5"),
                                       gpu("NVIDIA GeForce RTX 2080 Super", "GPU-6")};
  EXPECT_EQ(select_device(devices, "L4"), 1);
  EXPECT_EQ(select_device(devices, "l40"), 0);
  EXPECT_EQ(select_device(devices, "2080 super"), 4);
  try {
    (void)select_device(devices, "rtx 2080");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'NVIDIA GeForce RTX 2080 Super', "
                                        "'NVIDIA GeForce RTX 2080 Ti'"));
  }
  EXPECT_THROW((void)select_device({devices[0]}, "L4"), UnavailableError);
}

TEST(SelectDevice, NamesTheDevicesThatAreHere) {
  for (const char* choice : {"2", "-1", "A100", "GPU-1", "99999999999"}) {
    try {
      (void)select_device(two_gpus(), choice);
      FAIL() << choice;
    } catch (const UnavailableError& error) {
      EXPECT_THAT(error.what(), HasSubstr(choice));
      EXPECT_THAT(error.what(), HasSubstr("1  NVIDIA GeForce RTX 4090  GPU-77777777-0000"));
    }
  }
  EXPECT_THROW((void)select_device({}, ""), UnavailableError);
}

class NvidiaDevicePresent : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() /
            ("smemtune_devices_" +
             std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  fs::path root_;
};

TEST_F(NvidiaDevicePresent, IsFalseOnAMachineWithout) {
  EXPECT_FALSE(nvidia_device_present(root_));
  write("sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n");
  write("sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
  write("sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
  write("sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");  // Audio.
  EXPECT_FALSE(nvidia_device_present(root_));
}

TEST_F(NvidiaDevicePresent, SeesTheDriversDeviceFile) {
  write("dev/nvidiactl", "");
  write("dev/nvidia-uvm", "");
  EXPECT_FALSE(nvidia_device_present(root_)) << "there without a GPU, too";
  write("dev/nvidia3", "");
  EXPECT_TRUE(nvidia_device_present(root_)) << "the only one that a container was given";
}

TEST_F(NvidiaDevicePresent, SeesABoardWithoutDriver) {
  write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
  EXPECT_TRUE(nvidia_device_present(root_));
}

TEST(CudaDevices, SaysWhatIsMissing) {
  if (nvidia_device_present()) GTEST_SKIP() << "this machine has an NVIDIA GPU";
  try {
    (void)cuda_devices();
    FAIL() << "found a GPU";
  } catch (const UnavailableError& error) {
    EXPECT_THAT(error.what(), HasSubstr("this machine has no NVIDIA GPU"));
    EXPECT_THAT(error.what(), HasSubstr("CPU device work without"));
  }
}

}  // namespace
}  // namespace smemtune::cuda
