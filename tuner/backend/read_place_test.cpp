#include "tuner/backend/compiler.h"
#include "tuner/core/temporary_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

TEST(ReadPlace, IsInAnotherStateAfterAnyChangeOfAFile) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.h";
  std::set<std::string> states = {state_of(file)};
  folder.write("a.h", "one");
  EXPECT_EQ(state_of(file), state_of(file));
  EXPECT_EQ(read_place(file), (ReadPlace{.path = file.string(), .state = state_of(file)}));
  EXPECT_TRUE(states.insert(state_of(file)).second) << "is there";
  const fs::file_time_type written = fs::last_write_time(file);
  folder.write("a.h", "two");
  fs::last_write_time(file, written);
  EXPECT_TRUE(states.insert(state_of(file)).second) << "of the same size, with its time set back";
}

TEST(ReadPlace, IsInAnotherStateAfterAnyChangeBeneathAFolder) {
  const TemporaryFolder folder;
  folder.write("include/cuda_fp16.h", "one");
  folder.write("include/crt/mma.h", "one");
  folder.write("elsewhere/cub/cub.cuh", "one");
  fs::create_directory_symlink(folder.path() / "elsewhere/cub", folder.path() / "include/cub");
  fs::create_directory_symlink(folder.path() / "include", folder.path() / "include/crt/ring");
  const fs::path include = folder.path() / "include";
  std::set<std::string> states = {state_of(include)};
  EXPECT_EQ(state_of(include), *states.begin());
  for (const char* const name :
       {"include/cuda_fp16.h", "include/crt/mma.h", "elsewhere/cub/cub.cuh", "include/new.h"}) {
    folder.write(name, "two more");
    EXPECT_TRUE(states.insert(state_of(include)).second) << name;
  }
  fs::remove(include / "crt/mma.h");
  EXPECT_TRUE(states.insert(state_of(include)).second) << "removed";
}

TEST(ReadPlace, IsInNoStateWhereItMayNotBeWhatTheCompilerRead) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.h";
  const auto now = [] { return std::chrono::system_clock::now(); };
  const auto is_known = [&](std::chrono::system_clock::time_point begun) {
    return read_since(file, begun).state == state_of(file);
  };
  EXPECT_FALSE(is_known(now())) << "it is not there any more";
  folder.write("a.h", "one");
  EXPECT_TRUE(is_known(now() + std::chrono::hours(1)));
  EXPECT_FALSE(is_known(now() - std::chrono::hours(1))) << "written to since";
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_FALSE(is_known(now() - std::chrono::hours(1))) << "and its time set back";
}

}  // namespace
}  // namespace smemtune
