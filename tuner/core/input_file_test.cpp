#include "tuner/core/input_file.h"

#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <sys/stat.h>

namespace smemtune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Returns the message with which reading a whole file is refused.
std::string refusal(const fs::path& file) {
  try {
    read_text(file, 100);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(InputFile, GivesTheBytesOfARegularFile) {
  const TemporaryFolder folder;
  const std::string text("a\0b\r\n", 5);
  folder.write("file", text);
  EXPECT_EQ(text, read_text(folder.path() / "file", 5));
  InputFile file(folder.path() / "file");
  std::string piece(3, '?');
  EXPECT_EQ(file.size(), 5u);
  EXPECT_EQ(file.read(piece), 3u);
  EXPECT_EQ(file.read(piece), 2u);
  EXPECT_EQ(file.read(piece), 0u);
}

TEST(InputFile, IsNothingThatWaitsOrHasNoEnd) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", folder.path() / "link");
  EXPECT_THAT(refusal(folder.path() / "pipe"), HasSubstr("/pipe: is not a regular file"));
  EXPECT_THAT(refusal(folder.path() / "link"), HasSubstr("/link: is not a regular file"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("/dev/zero: is not a regular file"));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("is a folder, not a file"));
}

TEST(InputFile, SaysThatItIsMissingOrOnlyALoopOfLinks) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal(folder.path() / "none"), HasSubstr("/none: cannot be opened: No such file"));
  fs::create_symlink("second", folder.path() / "first");
  fs::create_symlink("first", folder.path() / "second");
  EXPECT_THAT(refusal(folder.path() / "first"), HasSubstr("/first: cannot be opened: Too many"));
}

TEST(InputFile, IsNotReadWhereItIsTooLarge) {
  const TemporaryFolder folder;
  folder.write("file", std::string(101, 'x'));
  EXPECT_THAT(refusal(folder.path() / "file"), HasSubstr("has 101 bytes, at most 100 are read"));
  // The sparse file has no contents on disk, but reading would give all of its bytes.
  fs::resize_file(folder.path() / "file", std::uintmax_t{1} << 40);
  EXPECT_THAT(refusal(folder.path() / "file"), HasSubstr("has 1099511627776 bytes, at most 100"));
}

TEST(InputFile, IsNotReadOnWhereItGrowsTooLarge) {
  // Files of /proc report no size.
  EXPECT_THAT(refusal("/proc/self/status"), HasSubstr("has more than 100 bytes, at most 100"));
}

}  // namespace
}  // namespace smemtune
