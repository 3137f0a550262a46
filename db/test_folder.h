#pragma once

#include "tuner/core/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace smemtune::db {

/// A folder of each test's own, removed after it.
class TestFolder : public testing::Test {
 protected:
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace smemtune::db
