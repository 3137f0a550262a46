#include "tuner/core/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace smemtune {
namespace {

TEST(TemporaryFolder, OfAProcessThatWasKilledIsRemovedAndNoOther) {
  const std::filesystem::path root = std::filesystem::temp_directory_path();
  const TemporaryFolder ours;
  const std::filesystem::path abandoned = root / "smemtune-tmp-1-killed";
  std::filesystem::create_directory(abandoned);
  std::ofstream(abandoned / "fast.o") << "half";
  remove_abandoned_folders();
  EXPECT_FALSE(std::filesystem::exists(abandoned)) << "though process 1 lives: it has no lock";
  EXPECT_TRUE(std::filesystem::exists(ours.path()));
}

}  // namespace
}  // namespace smemtune
