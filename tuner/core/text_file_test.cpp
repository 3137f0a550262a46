#include "tuner/core/text_file.h"

#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"

#include <gtest/gtest.h>

#include <string>

namespace smemtune {
namespace {

TEST(ReadText, GivesTheBytesOfARegularFile) {
  const TemporaryFolder folder;
  const std::string text("a\0b\r\n", 5);
  folder.write("file", text);
  EXPECT_EQ(text, read_text(folder.path() / "file", 5));
  EXPECT_THROW(read_text(folder.path() / "file", 4), InputError);
  EXPECT_THROW(read_text(folder.path(), 100), InputError);
  EXPECT_THROW(read_text(folder.path() / "none", 100), InputError);
  EXPECT_THROW(read_text("/dev/zero", 100), InputError);
}

}  // namespace
}  // namespace smemtune
