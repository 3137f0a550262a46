#include "tuner/source/in_double.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

KernelInstance with_dynamic_shared_bytes(std::int64_t bytes, ScalarType type) {
  KernelInstance instance;
  instance.launches.emplace_back().dynamic_shared_bytes = bytes;
  instance.arguments.emplace_back().type = type;
  return instance;
}

std::int64_t dynamic_shared_bytes(std::int64_t evaluated, std::int64_t narrow, ScalarType type) {
  return in_double(with_dynamic_shared_bytes(evaluated, type),
                   with_dynamic_shared_bytes(narrow, type))
      .launches.front()
      .dynamic_shared_bytes;
}

TEST(InDouble, SharedMemoryIsAsMuchLargerAsTheWidestArguments) {
  EXPECT_EQ(dynamic_shared_bytes(128, 128, ScalarType::float32), 256);
  EXPECT_EQ(dynamic_shared_bytes(128, 128, ScalarType::float16), 512);
  EXPECT_EQ(dynamic_shared_bytes(128, 128, ScalarType::int32), 128);
}

TEST(InDouble, SharedMemoryFollowsTheTypeButNeverFallsBehind) {
  EXPECT_EQ(dynamic_shared_bytes(512, 128, ScalarType::float32), 512);
  // `T == __half ? 64 : 128` takes the number for __half if both are double.
  EXPECT_EQ(dynamic_shared_bytes(64, 128, ScalarType::float32), 256);
}

TEST(InDouble, NamesDoublesInSymbolsAndDropsConstraintsOnTypes) {
  KernelTemplate kernel;
  kernel.constraints = {{.text = "T == float", .where = ""}};
  kernel.arguments.emplace_back().symbol = "weights<float>";
  const KernelTemplate turned = in_double(kernel);
  EXPECT_THAT(turned.constraints, testing::IsEmpty());
  EXPECT_EQ(turned.arguments.front().symbol, "weights<double>");
  Argument argument;
  argument.symbol = "weights<float>";
  EXPECT_EQ(in_double(argument).symbol, "weights<double>");
}

}  // namespace
}  // namespace smemtune
