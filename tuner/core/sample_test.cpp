#include "tuner/core/definition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace smemtune {
namespace {

TEST(SpreadSample, IsEverythingWhereThereIsNoMore) {
  std::vector<std::int64_t> all = spread_sample(std::vector<std::int64_t>{3, 5}, 15, 1);
  EXPECT_EQ(all[0], 0);
  EXPECT_EQ(all[1], 14);
  std::ranges::sort(all);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(all[i], static_cast<std::int64_t>(i));
  EXPECT_TRUE(spread_sample(std::vector<std::int64_t>{3, 0}, 15, 1).empty());
}

TEST(SpreadSample, HasEveryPartAndFaceAndEvenAndOddElements) {
  const std::vector<std::int64_t> shape = {4096, 4096};
  const std::int64_t count = shape[0] * shape[1];
  const std::vector<std::int64_t> sample = spread_sample(shape, 3000, 7);
  EXPECT_GT(sample.size(), 2900u);
  EXPECT_LE(sample.size(), 3000u);
  EXPECT_EQ(std::set(sample.begin(), sample.end()).size(), sample.size());
  EXPECT_EQ(sample, spread_sample(shape, 3000, 7));
  EXPECT_NE(sample, spread_sample(shape, 3000, 8));
  const auto has = [&](auto is_it) {
    return static_cast<std::size_t>(std::ranges::count_if(sample, is_it));
  };
  EXPECT_TRUE(std::ranges::all_of(sample, [&](auto i) { return i >= 0 && i < count; }));
  for (std::int64_t part = 0; part < 1000; ++part) {
    EXPECT_GT(has([&](auto i) { return i * 1000 / count == part; }), 0u) << part;
  }
  for (const std::int64_t end : {std::int64_t{0}, std::int64_t{4095}}) {
    EXPECT_GT(has([&](auto i) { return i / 4096 == end; }), 100u);
    EXPECT_GT(has([&](auto i) { return i % 4096 == end; }), 100u);
  }
  EXPECT_GT(has([](auto i) { return i % 2 == 1; }), 1000u);
  EXPECT_GT(has([](auto i) { return i % 2 == 0; }), 1000u);
}

TEST(SpreadSample, IsSpreadFromItsBeginning) {
  const std::vector<std::int64_t> sample =
      spread_sample(std::vector<std::int64_t>{1'000'000}, 10'000, 1);
  std::set<std::int64_t> tenths;
  for (std::size_t i = 0; i < 100; ++i) tenths.insert(sample[i] / 100'000);
  EXPECT_EQ(tenths.size(), 10u);
}

}  // namespace
}  // namespace smemtune
