#include "tuner/backend/cuda/nvrtc.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace smemtune::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const std::vector<std::string>& candidates) {
  try {
    open_nvrtc(candidates);
  } catch (const UnavailableError& error) {
    return error.what();
  }
  return "opened";
}

TEST(Nvrtc, SaysWhatWasTriedAndWhatWorksWithout) {
  EXPECT_THAT(message_of({"libnosuch-nvrtc.so.77", "/nosuch/libnvrtc.so"}),
              AllOf(HasSubstr("libnosuch-nvrtc.so.77"), HasSubstr("/nosuch/libnvrtc.so"),
                    HasSubstr("CUDA_PATH"), HasSubstr("CPU device work without")));
}

TEST(Nvrtc, RefusesALibraryWithoutItsFunctions) {
  EXPECT_THAT(message_of({"libc.so.6"}), HasSubstr("libc.so.6: has no nvrtcGetErrorString"));
}

TEST(Nvrtc, LooksForVersionedNamesFirst) {
  const auto candidates = nvrtc_candidates();
  ASSERT_GE(candidates.size(), 4u);
  EXPECT_EQ(candidates[0], "libnvrtc.so.13");
  const auto plain = std::ranges::find(candidates, "libnvrtc.so");
  EXPECT_NE(plain, candidates.end());
  for (auto toolkit = plain + 1; toolkit < candidates.end(); ++toolkit) {
    EXPECT_THAT(*toolkit, HasSubstr("/libnvrtc.so"));
  }
}

}  // namespace
}  // namespace smemtune::cuda
