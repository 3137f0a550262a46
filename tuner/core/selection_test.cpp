#include "tuner/core/selection.h"

#include "tuner/core/selection_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace smemtune {
namespace {

using testing::ElementsAre;

struct Entry {
  std::string_view device;
  int compute_capability;
  long long size;
  int configuration;
  bool is_best;
  double time_ms;
  double to_best;
};

constexpr Target kHere = {"H200", 90};
constexpr int kPromising = 7;  // The only configuration that a search would try.

template <std::size_t Count>
constexpr Choice<Entry> select(const Entry (&entries)[Count], long long size,
                               int does_not_run = -1) {
  return select_measured(
      entries, Count, kHere, [size](const Entry& entry) { return size_ratio(entry.size, size); },
      [](const Entry& entry) { return entry.to_best; },
      [does_not_run](const Entry& entry) {
        if (entry.configuration == does_not_run) return Fitness::wrong;
        return entry.configuration == kPromising ? Fitness::promising : Fitness::right;
      });
}

TEST(Selection, TakesTheBestOfTheNearestSizeWhereNothingElseIsKnown) {
  constexpr Entry kEntries[] = {{"H200", 90, 1024, 0, true, 1, 1},
                                {"H200", 90, 1 << 20, 1, true, 1, 1}};
  static_assert(select(kEntries, 1024).match == Match::exact);
  static_assert(select(kEntries, 4096).match == Match::nearest_problem);
  static_assert(select(kEntries, 4096).size_ratio == 4);
  static_assert(select(kEntries, 4096)->configuration == 0);
  static_assert(select(kEntries, 1 << 17)->configuration == 1);
  static_assert(!select(kEntries, 1 << 28), "too far from all that was measured");
}

TEST(Selection, TakesTheBestOfASizeThatTheSameFactorsDivide) {
  static_assert(alignment(0) == 16 && alignment(1) == 1 && alignment(12) == 4);
  static_assert(alignment(64) == 16 && alignment(-6) == 2);
  static_assert(size_ratio(1024, 2048) == 2 && size_ratio(1001, 1001) == 1);
  static_assert(size_ratio(1000, 1001) > 1.3 && size_ratio(1001, 1003) < 1.01);
  constexpr Entry kEntries[] = {{"H200", 90, 1000, 0, true, 1, 1},
                                {"H200", 90, 1101, 1, true, 1, 1}};
  static_assert(select(kEntries, 1008)->configuration == 0);
  static_assert(select(kEntries, 1003)->configuration == 1, "it is nearer to 1000, but odd");
}

TEST(Selection, ComparesElementTypesBySizeAndNoOtherWords) {
  static_assert(type_ratio(2, 2) == 1.5 && type_ratio(4, 8) == 12 && type_ratio(8, 2) == 96);
  static_assert(type_ratio(0, 4) == 0 && type_ratio(4, 0) == 0);
  const auto one = [](const char* type) { return Problem{{"N", std::int64_t{1000}}, {"T", type}}; };
  EXPECT_EQ(size_ratio(one("__half"), one("__nv_bfloat16")), 1.5);
  EXPECT_EQ(size_ratio(one("float"), one("float4")), 96);
  EXPECT_EQ(size_ratio(one("float"), one("uniform")), 0);
  EXPECT_EQ(size_ratio(one("uniform"), one("uniform")), 1);
}

TEST(Selection, TakesWhatIsNearlyTheBestOnBothSidesRatherThanTheBestOfOne) {
  // The default values, 2, are nearly the best at both sizes; the winners are slow at the other's.
  constexpr Entry kEntries[] = {
      {"H200", 90, 1024, 0, true, 1, 1},      {"H200", 90, 16384, 0, false, 3, 3},
      {"H200", 90, 16384, 1, true, 1, 1},     {"H200", 90, 1024, 1, false, 3, 3},
      {"H200", 90, 1024, 2, false, 1.1, 1.1}, {"H200", 90, 16384, 2, false, 1.1, 1.1}};
  static_assert(select(kEntries, 4096)->configuration == 2);
  static_assert(select(kEntries, 1100)->configuration == 0);
  static_assert(select(kEntries, 16000)->configuration == 1);
  static_assert(select(kEntries, 1 << 17)->configuration == 2);
}

TEST(Selection, AssumesThatWhatWasNotMeasuredIsSlow) {
  // 1 is a little slower than 0 at the nearer size, and was not measured at the other.
  constexpr Entry kEntries[] = {{"H200", 90, 1024, 0, true, 1, 1},
                                {"H200", 90, 4096, 0, false, 1.2, 1.2},
                                {"H200", 90, 4096, 1, true, 1, 1}};
  static_assert(select(kEntries, 2048)->configuration == 0);
  static_assert(select(kEntries, 4000)->configuration == 1);
}

TEST(Selection, TakesOnlyWhatIsRightForTheProblem) {
  constexpr Entry kEntries[] = {{"H200", 90, 1024, 0, true, 1, 1},
                                {"H200", 90, 1024, 1, false, 9, 9},
                                {"H200", 90, 4096, 2, false, 0, kMostToBest}};
  static_assert(select(kEntries, 2048)->configuration == 0);
  static_assert(select(kEntries, 2048, /*does_not_run=*/0)->configuration == 1);
  constexpr Entry kOnlyOne[] = {kEntries[0]};
  static_assert(!select(kOnlyOne, 2048, /*does_not_run=*/0));
  static_assert(select(kOnlyOne, 1024, /*does_not_run=*/0).match == Match::exact);
}

TEST(Selection, PrefersWhatASearchWouldTryThere) {
  constexpr Entry kEntries[] = {{"H200", 90, 1024, 0, true, 1, 1},
                                {"H200", 90, 1024, kPromising, false, 1.2, 1.2},
                                {"H200", 90, 1024, 8, false, 1.5, 1.5}};
  static_assert(select(kEntries, 1024)->configuration == 0);
  static_assert(select(kEntries, 2048)->configuration == kPromising);
  constexpr Entry kFarBehind[] = {kEntries[0], {"H200", 90, 1024, kPromising, false, 1.5, 1.5}};
  static_assert(select(kFarBehind, 2048)->configuration == 0);
  static_assert(select(kEntries, 2048, /*does_not_run=*/kPromising)->configuration == 0);
}

TEST(Selection, PrefersTheDeviceToOthersOfItsArchitecture) {
  constexpr Entry kEntries[] = {{"H100", 90, 1024, 0, true, 1, 1},
                                {"A100", 80, 1024, 1, true, 1, 1},
                                {"H200", 90, 1 << 16, 2, true, 1, 1}};
  static_assert(select(kEntries, 1024)->configuration == 2);
  static_assert(select(kEntries, 1024, /*does_not_run=*/2).match == Match::same_architecture);
  static_assert(select(kEntries, 1024, /*does_not_run=*/2)->configuration == 0);
}

TEST(SelectionTable, ComparesWithTheFastestOfAllAndOfTheKernel) {
  const std::vector<SelectionRow> rows = selection_table({
      {.measured = "N=1", .kernel = "a", .configuration = "T=1", .time_ms = 2},
      {.measured = "N=1", .kernel = "b", .configuration = "T=1", .time_ms = 6},
      {.measured = "N=2", .kernel = "a", .configuration = "T=1", .time_ms = 3},
      {.measured = "N=1", .kernel = "a", .configuration = "T=2", .time_ms = 4},
      {.measured = "N=1", .kernel = "b", .configuration = "T=2", .time_ms = 3},
      {.measured = "N=2", .kernel = "a", .configuration = "T=3", .time_ms = 0},
  });
  std::vector<std::string> texts;
  for (const SelectionRow& row : rows) {
    texts.push_back(row.measured + " " + row.kernel + " " + std::to_string(row.number));
  }
  EXPECT_THAT(texts, ElementsAre("N=1 a 0", "N=2 a 0", "N=1 b 1", "N=1 a 2", "N=1 b 3", "N=2 a 4"));
  EXPECT_DOUBLE_EQ(rows[0].to_best, 1);
  EXPECT_DOUBLE_EQ(rows[1].to_best, 1);
  EXPECT_DOUBLE_EQ(rows[2].to_best, 3);
  EXPECT_DOUBLE_EQ(rows[2].to_kernel_best, 2);
  EXPECT_DOUBLE_EQ(rows[4].to_kernel_best, 1);
  EXPECT_TRUE(std::isinf(rows[5].to_best));
}

}  // namespace
}  // namespace smemtune
