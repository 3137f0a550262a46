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
  double to_default;
};

constexpr Target kHere = {"H200", 90};

template <std::size_t Count>
constexpr Choice<Entry> select(const Entry (&entries)[Count], long long size,
                               bool has_default = true) {
  return select_measured(
      entries, Count, kHere, [size](const Entry& entry) { return size_ratio(entry.size, size); },
      [](const Entry& entry) { return entry.to_default; }, has_default);
}

TEST(Selection, CarriesABestAsFarAsItsLeadOverTheDefaultValues) {
  constexpr Entry kFarAhead[] = {{"H200", 90, 1024, 0, true, 1, 0.5}};
  constexpr Entry kAhead[] = {{"H200", 90, 1024, 0, true, 1, 0.9}};
  static_assert(select(kFarAhead, 1024).match == Match::exact);
  static_assert(select(kFarAhead, 4096).match == Match::nearest_problem);
  static_assert(select(kFarAhead, 4096).size_ratio == 4);
  static_assert(!select(kFarAhead, 16384));
  static_assert(!select(kFarAhead, 64));
  static_assert(select(kAhead, 1200));
  static_assert(!select(kAhead, 4096));
  static_assert(select(kAhead, 1LL << 40, /*has_default=*/false));
}

TEST(Selection, CarriesItFartherWhereSeveralSizesAgree) {
  constexpr Entry kEntries[] = {{"H200", 90, 1024, 0, true, 1, 0.5},
                                {"H200", 90, 2048, 0, false, 2, 0.5},
                                {"H200", 90, 4096, 0, true, 4, 0.5}};
  static_assert(select(kEntries, 16384)->time_ms == 4);
  static_assert(select(kEntries, 128)->time_ms == 1);
}

TEST(Selection, TakesNothingThatWasSlowerThanTheDefaultValuesNearby) {
  // 0 is far ahead at 1024, and behind at the size on the other side; 1 is ahead everywhere.
  constexpr Entry kEntries[] = {{"H200", 90, 1024, 0, true, 1, 0.2},
                                {"H200", 90, 4096, 0, false, 9, 1.1},
                                {"H200", 90, 1024, 1, false, 4, 0.8},
                                {"H200", 90, 4096, 1, true, 6, 0.7}};
  static_assert(select(kEntries, 1024)->configuration == 0);
  static_assert(select(kEntries, 2048)->configuration == 1);
  static_assert(select(kEntries, 1025)->configuration == 1);
  constexpr Entry kOnlyOne[] = {kEntries[0], kEntries[1]};
  static_assert(!select(kOnlyOne, 2048));
}

TEST(Selection, LooksAtTheNearestSizesOnly) {
  constexpr Entry kEntries[] = {
      {"H200", 90, 1LL << 30, 0, false, 9, 5},  {"H200", 90, 1024, 0, true, 1, 0.2},
      {"H200", 90, 512, 0, false, 1, 0.2},      {"H200", 90, 4096, 0, true, 1, 0.2},
      {"H200", 90, 1LL << 31, 0, false, 99, 5}, {"H200", 90, 1LL << 32, 0, false, 99, 5}};
  static_assert(select(kEntries, 2048)->configuration == 0);
  static_assert(!select(kEntries, 1LL << 29));
}

TEST(Selection, NeverTakesWhatDoesNotRunNearby) {
  constexpr Entry kEntries[] = {{"H200", 90, 1024, 0, true, 1, 0.1},
                                {"H200", 90, 4096, 0, false, 0, kMostToDefault}};
  static_assert(!select(kEntries, 2048));
  static_assert(select(kEntries, 2048, /*has_default=*/false)->time_ms == 1);
}

TEST(Selection, OfOtherDevicesOfTheArchitectureComesLast) {
  constexpr Entry kEntries[] = {{"H100", 90, 1024, 0, true, 1, 0.5},
                                {"A100", 80, 1024, 1, true, 1, 0.1},
                                {"H200", 90, 1 << 20, 2, true, 1, 0.5}};
  static_assert(select(kEntries, 1024).match == Match::same_architecture);
  static_assert(select(kEntries, 1024)->configuration == 0);
  static_assert(select(kEntries, 1 << 19)->configuration == 2);
}

TEST(SelectionTable, ComparesWithTheDefaultValuesOfAllAndOfTheKernel) {
  const std::vector<SelectionRow> rows = selection_table({
      {.measured = "N=1", .kernel = "a", .configuration = "T=1", .time_ms = 2},
      {.measured = "N=1", .kernel = "b", .configuration = "T=1", .time_ms = 6},
      {.measured = "N=2", .kernel = "a", .configuration = "T=1", .time_ms = 3},
      {.measured = "N=1",
       .kernel = "a",
       .configuration = "T=2",
       .time_ms = 4,
       .is_default = true,
       .is_fallback = true},
      {.measured = "N=1", .kernel = "b", .configuration = "T=2", .time_ms = 3, .is_default = true},
      {.measured = "N=2", .kernel = "a", .configuration = "T=3", .time_ms = 0},
  });
  std::vector<std::string> texts;
  for (const SelectionRow& row : rows) {
    texts.push_back(row.measured + " " + row.kernel + " " + std::to_string(row.number));
  }
  EXPECT_THAT(texts, ElementsAre("N=1 a 0", "N=2 a 0", "N=1 b 1", "N=1 a 2", "N=1 b 3", "N=2 a 4"));
  EXPECT_DOUBLE_EQ(rows[0].to_default, 0.5);
  EXPECT_DOUBLE_EQ(rows[2].to_default, 1.5);
  EXPECT_DOUBLE_EQ(rows[2].to_kernel_default, 2);
  EXPECT_DOUBLE_EQ(rows[1].to_default, 1 / kAssumedOfDefault) << "its default was not measured";
  EXPECT_TRUE(std::isinf(rows[5].to_default));
}

}  // namespace
}  // namespace smemtune
