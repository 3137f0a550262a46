#include "tuner/core/late_bytes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace smemtune {
namespace {

TEST(LateBytes, MakesEachPartOnceWhenItIsAskedFor) {
  std::atomic<std::size_t> made = 0;
  const LateBytes late(100'001, [&made](std::size_t begin, std::span<std::uint8_t> part) {
    made += part.size();
    for (std::size_t i = 0; i < part.size(); ++i) {
      part[i] = static_cast<std::uint8_t>((begin + i) % 251);
    }
  });
  EXPECT_EQ(late.size(), 100'001u);
  EXPECT_EQ(late.with(100'000, 100'001)[100'000], 100'000 % 251);
  EXPECT_LT(made, 5000u);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&late] {
        const auto bytes = late.with(0, late.size());
        for (std::size_t at = 0; at < bytes.size(); ++at) EXPECT_EQ(bytes[at], at % 251);
      });
    }
  }
  EXPECT_EQ(made, 100'001u);
}

TEST(LateBytes, TriesAgainAfterAnError) {
  int calls = 0;
  const LateBytes late(10, [&calls](std::size_t, std::span<std::uint8_t> part) {
    if (++calls == 1) throw std::runtime_error("not now");
    part[3] = 7;
  });
  EXPECT_THROW(late.with(3, 4), std::runtime_error);
  EXPECT_EQ(late.with(3, 4)[3], 7);
}

}  // namespace
}  // namespace smemtune
