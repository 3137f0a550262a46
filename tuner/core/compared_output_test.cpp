#include "tuner/core/compared_output.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

constexpr std::uint64_t kElements = 100;

ComparedOutput compared(const std::string& problem, const std::string& output, ComparedWith with,
                        std::uint64_t elements = kElements) {
  return {.problem = parse_key(problem),
          .output = output,
          .with = with,
          .compared = elements,
          .elements_total = kElements};
}

std::string verdict(const std::vector<ComparedOutput>& list,
                    ComparedWith stored = ComparedWith::unknown) {
  return to_text(coverage_of(stored, list));
}

constexpr auto kDefinition = ComparedWith::definition;
constexpr auto kFile = ComparedWith::expected_file;
constexpr auto kKernel = ComparedWith::another_kernel;
constexpr auto kItself = ComparedWith::only_itself;

TEST(CoverageOf, IsADefinitionWhereAllElementsOfAllOutputsAndProblemsWereCompared) {
  EXPECT_EQ(verdict({compared("N=9", "o", kDefinition), compared("N=1", "o", kDefinition)}),
            "definition");
  EXPECT_EQ(verdict({compared("N=9", "o", kFile)}), "expected file");
  EXPECT_EQ(verdict({compared("N=9", "o", kFile), compared("N=9", "p", kDefinition)}),
            "expected file");
  EXPECT_EQ(verdict({compared("N=9", "o", kKernel)}), "another kernel");
  EXPECT_EQ(verdict({compared("N=9", "o", kItself)}), "only itself");
}

TEST(CoverageOf, SaysWhatWasSampled) {
  const std::vector<ComparedOutput> list = {compared("N=9", "o", kDefinition, 7),
                                            compared("N=1", "o", kDefinition)};
  EXPECT_EQ(verdict(list), "definition (sampled)");
  const Coverage coverage = coverage_of(ComparedWith::unknown, list);
  EXPECT_TRUE(coverage.is_everywhere());
  EXPECT_EQ(coverage.compared, 107u);
  EXPECT_EQ(coverage.elements_total, 200u);
}

TEST(CoverageOf, NamesOutputsOfWhichOnlyTheSumWasCompared) {
  std::vector<ComparedOutput> list = {compared("N=9", "o", kDefinition),
                                      compared("N=9", "p", kDefinition, 7)};
  EXPECT_EQ(extent_text(coverage_of(ComparedWith::unknown, list)), " at 107 of 200 elements");
  list[0].only_sum = true;
  EXPECT_EQ(verdict(list), "definition (sampled; only the sum of o)");
  EXPECT_EQ(extent_text(coverage_of(ComparedWith::unknown, list)),
            " at 107 of 200 elements, only the sum of o");
}

TEST(CoverageOf, NamesProblemsWhereNothingWasComparedByWhatDiffersInThem) {
  EXPECT_EQ(verdict({compared("N=16384,T=float", "o", kItself),
                     compared("N=1000,T=float", "o", kDefinition)}),
            "definition (not at N=16384)");
  EXPECT_EQ(verdict({compared("N=9", "o", kDefinition), compared("N=1", "o", kItself),
                     compared("N=2", "o", kItself), compared("N=3", "o", kKernel)}),
            "definition (not at N=1, N=2 and 1 more)");
  EXPECT_EQ(verdict({compared("N=9", "o", kItself), compared("N=1", "o", kKernel)}),
            "another kernel (not at N=9)");
}

TEST(CoverageOf, NamesOutputsThatWereNotCompared) {
  const std::vector<ComparedOutput> list = {compared("N=9", "o", kDefinition),
                                            compared("N=9", "l", kItself),
                                            compared("N=9", "m", kItself)};
  EXPECT_EQ(verdict(list), "definition (o; not l, m)");
  EXPECT_TRUE(coverage_of(ComparedWith::unknown, list).rests_on_itself());
  EXPECT_EQ(verdict({compared("N=9", "o", kDefinition, 7), compared("N=9", "l", kKernel),
                     compared("N=1", "o", kItself), compared("N=1", "l", kItself)}),
            "definition (o; not l; not at N=1; sampled)");
  EXPECT_EQ(verdict({compared("N=9", "o", kDefinition), compared("N=1", "o", kDefinition),
                     compared("N=9", "l", kDefinition), compared("N=1", "l", kItself)}),
            "definition (o; not l)")
      << "l was compared on one problem only";
}

TEST(CoverageOf, WhatWasStoredByTheOldRuleIsMarked) {
  EXPECT_EQ(verdict({}, kDefinition), "definition (by the old rule)");
  EXPECT_EQ(verdict({}, kItself), "only itself (by the old rule)");
  EXPECT_EQ(verdict({}), "unknown");
  EXPECT_EQ(verdict({compared("N=9", "o", kItself)}, kDefinition), "only itself")
      << "what was compared counts";
}

TEST(AddCompared, KeepsWhatSaysMore) {
  std::vector<ComparedOutput> list;
  add_compared(list, compared("N=9", "o", kDefinition, 7));
  add_compared(list, compared("N=9", "o", kFile));
  add_compared(list, compared("N=9", "o", kDefinition, 8));
  add_compared(list, compared("N=9", "p", kDefinition, 8));
  EXPECT_EQ(list, (std::vector<ComparedOutput>{compared("N=9", "o", kFile),
                                               compared("N=9", "p", kDefinition, 8)}));
}

}  // namespace
}  // namespace smemtune
