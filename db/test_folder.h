#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace smemtune::db {

/// A folder of each test's own, removed after it.
class TestFolder : public testing::Test {
 protected:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "smemtune-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
  }
  ~TestFolder() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace smemtune::db
