#include "tuner/backend/cuda/tensor_map.h"

#include <gtest/gtest.h>

namespace smemtune::cuda {
namespace {

TEST(TensorMapL2, Fetches256BytesWhereEveryStrideIsAMultiple) {
  EXPECT_EQ(l2_fetch_bytes({256}), 256);
  EXPECT_EQ(l2_fetch_bytes({768, 8192}), 256);
  EXPECT_EQ(l2_fetch_bytes({}), 256);
}

TEST(TensorMapL2, Fetches128BytesWhereAStrideIsNoMultiple) {
  EXPECT_EQ(l2_fetch_bytes({4080}), 128);
  EXPECT_EQ(l2_fetch_bytes({128}), 128);
  EXPECT_EQ(l2_fetch_bytes({128, 256}), 128);
  EXPECT_EQ(l2_fetch_bytes({256, 16640, 16}), 128);
}

}  // namespace
}  // namespace smemtune::cuda
