#include "tuner/backend/cuda/nvml.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace smemtune::cuda {
namespace {

TEST(GpuUse, ListsEveryProcessHoweverMany) {
  const auto use = gpu_use("GPU-crowded", SMEMTUNE_FAKE_NVML);
  ASSERT_TRUE(use);
  ASSERT_EQ(use->processes.size(), 20u);
  EXPECT_EQ(use->processes[19], (DeviceProcess{.id = 1019, .memory_bytes = 20 << 20}));
  EXPECT_EQ(use->busy_percent, 100);
}

TEST(GpuUse, TellsMemoryThatIsHiddenFromNone) {
  const auto use = gpu_use("GPU-busy", SMEMTUNE_FAKE_NVML);
  ASSERT_TRUE(use);
  ASSERT_EQ(use->processes.size(), 1u);
  EXPECT_EQ(use->processes[0].memory_bytes, std::nullopt);
}

TEST(GpuUse, OfAnIdleGpuHasNoProcesses) {
  for (int again = 0; again < 2; ++again) {
    const auto use = gpu_use("GPU-idle", SMEMTUNE_FAKE_NVML);
    ASSERT_TRUE(use);
    EXPECT_TRUE(use->processes.empty());
    EXPECT_EQ(use->busy_percent, 0);
  }
}

TEST(GpuUse, IsUnknownWithoutTheLibraryOrTheGpu) {
  EXPECT_FALSE(gpu_use("GPU-idle", "libno-such-library.so.1"));
  EXPECT_FALSE(gpu_use("GPU-elsewhere", SMEMTUNE_FAKE_NVML));
  EXPECT_FALSE(gpu_use("GPU-idle", "libm.so.6")) << "a library without NVML's functions";
}

TEST(OtherProcesses, AreNotWorkersOfTheSameParent) {
  const auto child = [] {
    const pid_t id = fork();
    if (id == 0) {
      pause();
      _exit(0);
    }
    return id;
  };
  const pid_t one = child();
  const pid_t two = child();
  const std::vector<DeviceProcess> all = {{.id = one}, {.id = two}, {.id = getpid()}};
  EXPECT_EQ(other_processes(all, one, getpid()), 1u) << "the parent itself";
  EXPECT_EQ(other_processes(all, one, 1), 2u);
  EXPECT_EQ(other_processes({{.id = one}}, one, getpid()), 0u);
  EXPECT_EQ(other_processes(all, 999999999, getpid()), 2u) << "ids of another namespace";
  EXPECT_EQ(other_processes({}, one, getpid()), 0u);
  for (const pid_t id : {one, two}) {
    kill(id, SIGKILL);
    waitpid(id, nullptr, 0);
  }
}

}  // namespace
}  // namespace smemtune::cuda
