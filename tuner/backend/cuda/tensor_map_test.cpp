#include "tuner/backend/cuda/tensor_map.h"

#include <gtest/gtest.h>

namespace smemtune::cuda {
namespace {

TEST(TensorMapL2, Fetches256BytesWhereEveryStrideIsAMultiple) {
  EXPECT_TRUE(l2_fetches_256_bytes({256}));
  EXPECT_TRUE(l2_fetches_256_bytes({768, 8192}));
  EXPECT_TRUE(l2_fetches_256_bytes({}));
}

TEST(TensorMapL2, Fetches128BytesWhereAStrideIsNoMultiple) {
  EXPECT_FALSE(l2_fetches_256_bytes({4080}));
  EXPECT_FALSE(l2_fetches_256_bytes({128}));
  EXPECT_FALSE(l2_fetches_256_bytes({128, 256}));
  EXPECT_FALSE(l2_fetches_256_bytes({256, 16640, 16}));
}

}  // namespace
}  // namespace smemtune::cuda
