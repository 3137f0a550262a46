#include "tuner/core/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smemtune {
namespace {

/// A tensor map of rows of 64 half-precision numbers, in a matrix of 4096 x 4096.
Argument matrix() {
  Argument argument;
  argument.name = "a";
  argument.type = ScalarType::bfloat16;
  argument.shape = {4096, 4096};
  argument.memory = MemorySpace::tensor_map;
  argument.box = {128, 64};
  argument.swizzle = 128;
  return argument;
}

std::string fault(const Argument& argument) {
  const std::optional<Failure> failure = exceeds_tensor_map(argument);
  if (!failure) return "";
  EXPECT_EQ(failure->status, Status::constraints);
  EXPECT_EQ(failure->reason, "tensor_map");
  return failure->detail;
}

TEST(TensorMap, IsTakenWhereEveryLimitIsKept) {
  Argument argument = matrix();
  EXPECT_EQ(fault(argument), "");
  argument.box = {256, 64};
  argument.element_strides = {8, 1};
  EXPECT_EQ(fault(argument), "");
  argument.shape = {3, 8};
  argument.box = {1, 8};
  argument.swizzle = 0;
  EXPECT_EQ(fault(argument), "");
}

TEST(TensorMap, IsNothingToAPointer) {
  Argument argument = matrix();
  argument.shape = {3, 7};
  argument.memory = MemorySpace::global;
  EXPECT_EQ(fault(argument), "");
}

TEST(TensorMap, SaysWhichLimitIsExceeded) {
  Argument argument = matrix();
  argument.shape = {4096, 1003};
  EXPECT_EQ(fault(argument),
            "the tensor map of a has 2006 bytes from one to the next in dimension 1, a multiple of "
            "16 is needed");
  argument = matrix();
  argument.box = {512, 64};
  EXPECT_THAT(fault(argument),
              testing::HasSubstr("a box of 512 elements in dimension 1, 1 to 256 are possible"));
  argument = matrix();
  argument.box = {128, 128};
  EXPECT_THAT(fault(argument), testing::HasSubstr("rows of a box of 256 bytes, a swizzle of 128"));
  argument = matrix();
  argument.swizzle = 16;
  EXPECT_THAT(fault(argument), testing::HasSubstr("a swizzle of 16 bytes"));
  argument = matrix();
  argument.box = {128, 4};
  EXPECT_THAT(fault(argument), testing::HasSubstr("rows of a box of 8 bytes"));
  argument = matrix();
  argument.element_strides = {1, 9};
  EXPECT_THAT(fault(argument), testing::HasSubstr("every 9th element in dimension 2"));
  argument = matrix();
  argument.box = {64};
  EXPECT_THAT(fault(argument), testing::HasSubstr("a box of 1 dimensions for a tensor of 2"));
  argument = matrix();
  argument.shape = {1, 1, 1, 1, 1, 8};
  EXPECT_THAT(fault(argument), testing::HasSubstr("6 dimensions, at most 5"));
}

}  // namespace
}  // namespace smemtune
