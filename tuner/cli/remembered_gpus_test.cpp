#include "tuner/cli/known_devices.h"
#include "tuner/core/device.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace smemtune::cli {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

class RememberedGpus : public testing::Test {
 protected:
  RememberedGpus() {
    write(proc_ / "driver/nvidia/version", "NVRM version: 580.1");
    write(proc_ / "sys/kernel/random/boot_id", "b007");
    write(proc_ / "driver/nvidia/gpus/0000:01:00.0/information", "GPU UUID: GPU-1");
    write(dev_ / "nvidia0", "");
    setenv("SMEMTUNE_CACHE", (folder_.path() / "cache").c_str(), 1);
  }
  ~RememberedGpus() override { unsetenv("SMEMTUNE_CACHE"); }

  std::string fingerprint() const { return gpu_fingerprint(proc_, dev_); }

  TemporaryFolder folder_;
  fs::path proc_ = folder_.path() / "proc";
  fs::path dev_ = folder_.path() / "dev";
};

TEST_F(RememberedGpus, ServeOnceForTheSameFingerprint) {
  remember_gpus(fingerprint(), {h200_limits()});
  EXPECT_THAT(take_remembered_gpus(fingerprint()), testing::ElementsAre(h200_limits()));
  EXPECT_THAT(take_remembered_gpus(fingerprint()), testing::IsEmpty()) << "a run may have failed";
  remember_gpus(fingerprint(), {h200_limits()});
  EXPECT_THAT(take_remembered_gpus("another"), testing::IsEmpty());
}

TEST_F(RememberedGpus, AreForgottenWhenAnythingIsDifferent) {
  const std::string before = fingerprint();
  ASSERT_FALSE(before.empty());
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  EXPECT_NE(fingerprint(), before);
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(fingerprint(), before);
  write(proc_ / "driver/nvidia/version", "NVRM version: 590.2");
  EXPECT_NE(fingerprint(), before);
  write(proc_ / "driver/nvidia/version", "NVRM version: 580.1");
  write(proc_ / "driver/nvidia/gpus/0000:02:00.0/information", "GPU UUID: GPU-2");
  EXPECT_NE(fingerprint(), before);
  fs::remove_all(proc_ / "driver/nvidia/gpus/0000:02:00.0");
  write(dev_ / "nvidia1", "");
  EXPECT_NE(fingerprint(), before);
}

TEST_F(RememberedGpus, AreNotRememberedWhereTheyCannotBeTold) {
  write(proc_ / "driver/nvidia/capabilities/gpu0/mig/gi1/access", "");
  EXPECT_EQ(fingerprint(), "") << "a GPU is divided";
  fs::remove_all(proc_ / "driver/nvidia/capabilities");
  EXPECT_NE(fingerprint(), "");
  write(proc_ / "driver/nvidia/gpus/0000:01:00.0/information", "Model: a GPU");
  EXPECT_EQ(fingerprint(), "");
  remember_gpus("", {h200_limits()});
  EXPECT_THAT(take_remembered_gpus(""), testing::IsEmpty());
  write(folder_.path() / "cache/gpus.json", "{\"fingerprint\": 3");
  EXPECT_THAT(take_remembered_gpus("any"), testing::IsEmpty()) << "damaged";
}

}  // namespace
}  // namespace smemtune::cli
