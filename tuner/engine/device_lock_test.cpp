#include "tuner/engine/device_lock.h"

#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kName = "GPU-1";

class Locks : public testing::Test {
 protected:
  ~Locks() override { unsetenv("XDG_RUNTIME_DIR"); }

  fs::path folder() const { return root_ / "locks"; }

  TemporaryFolder own_folder_;
  fs::path root_ = own_folder_.path();
};

LockHolder someone() { return {.process_id = getpid(), .purpose = "tuning gemm", .since = 5}; }

/// Starts a process that takes the lock, says so, and waits to be ended.
pid_t start_holder(const fs::path& folder) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    DeviceLock lock(folder, kName);
    const char taken = lock.try_lock(someone()) ? 'y' : 'n';
    if (write(ready[1], &taken, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char taken = 'n';
  if (read(ready[0], &taken, 1) != 1) taken = 'n';
  close(ready[0]);
  close(ready[1]);
  EXPECT_EQ(taken, 'y');
  return child;
}

void kill_and_wait(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(Locks, AreHeldByOneProcessAndSayByWhich) {
  const pid_t child = start_holder(folder());
  DeviceLock lock(folder(), kName);
  EXPECT_FALSE(lock.try_lock(someone()));
  ASSERT_TRUE(lock.holder());
  EXPECT_EQ(lock.holder()->process_id, child);
  EXPECT_EQ(lock.holder()->purpose, "tuning gemm");
  EXPECT_EQ(lock.holder()->since, 5);
  EXPECT_THAT(to_text(*lock.holder()),
              HasSubstr("process " + std::to_string(child) + ", tuning gemm since "));
  kill_and_wait(child);
}

TEST_F(Locks, EndWithAProcessThatIsKilled) {
  kill_and_wait(start_holder(folder()));
  DeviceLock lock(folder(), kName);
  EXPECT_TRUE(lock.try_lock(someone()));
  EXPECT_EQ(lock.holder()->process_id, getpid());
}

TEST_F(Locks, OfDifferentDevicesDoNotMeet) {
  const pid_t child = start_holder(folder());
  DeviceLock other(folder(), "GPU-2");
  EXPECT_TRUE(other.try_lock(someone()));
  kill_and_wait(child);
}

TEST_F(Locks, WriteAShorterHolderOverALongerOne) {
  DeviceLock lock(folder(), kName);
  ASSERT_TRUE(lock.try_lock({.process_id = 7, .purpose = std::string(2000, 'x'), .since = 1}));
  EXPECT_EQ(lock.holder()->purpose, std::string(400, 'x'));
  ASSERT_TRUE(lock.try_lock({.process_id = 8, .purpose = "tuning a b", .since = 2}));
  EXPECT_EQ(lock.holder()->purpose, "tuning a b");
}

TEST_F(Locks, WithoutWordsOfAHolderHaveNone) {
  DeviceLock lock(folder(), kName);
  EXPECT_FALSE(lock.holder());
  for (const char* text : {"", "\n", "x", "12", "12 \n", "12 13"}) {
    std::ofstream(folder() / "GPU-1.lock") << text;
    EXPECT_FALSE(lock.holder()) << text;
  }
}

TEST_F(Locks, LieInAFolderOfTheirOwnersOnly) {
  const DeviceLock lock(folder(), kName);
  struct stat found {};
  ASSERT_EQ(stat(folder().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  ASSERT_EQ(stat((folder() / "GPU-1.lock").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(Locks, FollowNoLinks) {
  fs::create_directory(root_ / "elsewhere");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "linked");
  EXPECT_THROW(DeviceLock(root_ / "linked", kName), UnavailableError);

  fs::create_directory(folder());
  std::ofstream(root_ / "precious") << "precious";
  fs::create_symlink(root_ / "precious", folder() / "GPU-1.lock");
  EXPECT_THROW(DeviceLock(folder(), kName), UnavailableError);
  EXPECT_EQ(fs::file_size(root_ / "precious"), 8u);
}

TEST_F(Locks, RefuseAFolderThatOthersMayWriteTo) {
  fs::create_directory(folder());
  fs::permissions(folder(), fs::perms::all);
  EXPECT_THAT([&] { DeviceLock(folder(), kName); },
              ThrowsMessage<UnavailableError>(
                  AllOf(HasSubstr(folder().string()), HasSubstr("XDG_RUNTIME_DIR"))));
}

TEST_F(Locks, RefuseWhatIsNoFileWithoutWaiting) {
  fs::create_directory(folder());
  ASSERT_EQ(mkfifo((folder() / "GPU-1.lock").c_str(), 0600), 0);
  EXPECT_THROW(DeviceLock(folder(), kName), UnavailableError);
}

TEST_F(Locks, LieInTheFolderForRunningProgramsOrInTemporaryFiles) {
  setenv("XDG_RUNTIME_DIR", root_.c_str(), 1);
  EXPECT_EQ(lock_folder(), root_ / "smemtune");
  setenv("XDG_RUNTIME_DIR", (root_ / "missing").c_str(), 1);
  EXPECT_EQ(lock_folder(), "/tmp/smemtune-" + std::to_string(geteuid()));
}

TEST(LockName, IsTheUuidOrTheCpu) {
  Device gpu;
  gpu.uuid = "GPU-0a-1b";
  EXPECT_EQ(lock_name(gpu), "GPU-0a-1b");
  gpu.uuid = "MIG-GPU-0a/1/../2";
  EXPECT_EQ(lock_name(gpu), "MIG-GPU-0a_1____2");
  Device cpu;
  cpu.kind = DeviceKind::cpu;
  EXPECT_EQ(lock_name(cpu), "cpu");
}

}  // namespace
}  // namespace smemtune
