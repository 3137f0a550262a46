#include "tuner/backend/fresh_data.h"

#include "tuner/backend/contents.h"
#include "tuner/core/element_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace smemtune {
namespace {

Argument drawn(ScalarType type, Init::Kind kind, double a, double b, std::int64_t elements) {
  Argument argument;
  argument.name = "x";
  argument.type = type;
  argument.shape = {elements};
  argument.init = {.kind = kind, .a = a, .b = b, .file = {}};
  return argument;
}

std::vector<double> redrawn(const Argument& argument, std::uint64_t key) {
  const std::vector<std::uint8_t> from = initial_contents(argument, 1);
  std::vector<std::uint8_t> to(from.size());
  const std::int64_t half = argument.elements() / 2;
  const Redraw how = redraw_for(argument, key);
  redraw(from, argument.type, how, 0, half, to.data());
  redraw(from, argument.type, how, half, argument.elements(), to.data());
  return to_doubles(to, argument.type);
}

TEST(FreshData, OfAKeyOfZeroAreTheInitialContents) {
  const Argument argument = drawn(ScalarType::float32, Init::Kind::uniform, -1, 1, 1000);
  EXPECT_EQ(to_doubles(initial_contents(argument, 1), argument.type), redrawn(argument, 0));
}

TEST(FreshData, KeepTheRangeAndHardlyAnyValue) {
  for (const ScalarType type : {ScalarType::float32, ScalarType::float64}) {
    const Argument argument = drawn(type, Init::Kind::uniform, 0.3, 0.7, 10'000);
    const std::vector<double> at_first = redrawn(argument, 0);
    const std::set<double> known(at_first.begin(), at_first.end());
    std::vector<double> now = redrawn(argument, 12345);
    EXPECT_LT(std::ranges::count_if(now, [&](double x) { return known.contains(x); }), 100);
    EXPECT_TRUE(
        std::ranges::all_of(now, [](double x) { return x >= 0.2999999 && x <= 0.7000001; }));
    std::vector<double> before = at_first;
    std::ranges::sort(now);
    std::ranges::sort(before);
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(before[i], now[i], 1e-3);
  }
}

TEST(FreshData, OfIntegersArePermutedCyclically) {
  for (const Init::Kind kind : {Init::Kind::permutation, Init::Kind::uniform}) {
    const Argument argument = drawn(ScalarType::int32, kind, 0, 1000, 999);
    std::vector<double> at_first = redrawn(argument, 0);
    const std::vector<double> now = redrawn(argument, 77);
    EXPECT_NE(at_first, now);
    const std::int64_t offset = redraw_for(argument, 77).offset;
    std::rotate(at_first.begin(), at_first.begin() + offset, at_first.end());
    EXPECT_EQ(at_first, now);
  }
}

TEST(FreshData, DifferByKeyAndByArgument) {
  Argument argument = drawn(ScalarType::int32, Init::Kind::uniform, 0, 1000, 100'000);
  const std::int64_t offset = redraw_for(argument, 5).offset;
  EXPECT_NE(offset, redraw_for(argument, 6).offset);
  argument.name = "y";
  EXPECT_NE(offset, redraw_for(argument, 5).offset);
}

TEST(FreshData, AreDrawnOnlyOfWhatNothingElseFollowsFrom) {
  const Argument x = drawn(ScalarType::float32, Init::Kind::uniform, 0, 1, 10);
  Argument y = drawn(ScalarType::float32, Init::Kind::definition, 0, 0, 10);
  y.name = "y";
  EXPECT_TRUE(can_redraw(x, {x, y}));
  y.reads = {x};
  EXPECT_FALSE(can_redraw(x, {x, y}));
  EXPECT_FALSE(can_redraw(y, {x, y}));
  Argument constant = x;
  constant.memory = MemorySpace::constant;
  EXPECT_FALSE(can_redraw(constant, {constant}));
  for (const Init::Kind kind : {Init::Kind::iota, Init::Kind::zero, Init::Kind::none}) {
    EXPECT_FALSE(can_redraw(drawn(ScalarType::float32, kind, 0, 1, 10), {}));
  }
}

TEST(FreshData, MasksAreUndoneByThemselvesFromAnyWord) {
  const std::vector<std::uint8_t> plain = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  std::vector<std::uint8_t> masked = plain;
  apply_mask(99, 0, masked);
  EXPECT_NE(plain, masked);
  std::vector<std::uint8_t> second(masked.begin() + 8, masked.end());
  apply_mask(99, 8, second);
  EXPECT_EQ(std::vector<std::uint8_t>(plain.begin() + 8, plain.end()), second);
  apply_mask(99, 0, masked);
  EXPECT_EQ(plain, masked);
}

TEST(FreshData, NumbersThatNobodyForeseesDiffer) {
  EXPECT_NE(unforeseeable(), unforeseeable());
  EXPECT_NE(0u, unforeseeable());
}

}  // namespace
}  // namespace smemtune
