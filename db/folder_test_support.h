#pragma once

#include "tuner/core/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace smemtune::db {

/// A fixture that gives each test its own folder and removes it afterwards.
class TestFolder : public testing::Test {
 protected:
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace smemtune::db
