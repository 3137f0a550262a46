#include "tuner/search/exhaustive.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

TEST(Exhaustive, TriesDefaultsFirstAndThenKernelByKernelInOrder) {
  const SearchSpace three(
      {{.name = "A", .values = {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}}}}, {});
  const SearchSpace two({{.name = "B", .values = {std::int64_t{1}, std::int64_t{2}}}}, {});
  Exhaustive strategy({{.space = &three, .default_configuration = 1},
                       {.space = &two, .default_configuration = std::nullopt},
                       {.space = &two, .default_configuration = 0}});
  const std::vector<Candidate> expected = {{0, 1}, {2, 0}, {0, 0}, {0, 2}, {1, 0}, {1, 1}, {2, 1}};
  std::vector<Candidate> asked;
  while (const auto candidate = strategy.ask()) asked.push_back(*candidate);
  EXPECT_EQ(expected, asked);
}

}  // namespace
}  // namespace smemtune
