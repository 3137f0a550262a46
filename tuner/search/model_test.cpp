#include "tuner/search/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smemtune {
namespace {

SearchSpace thousand() {
  Parameter parameter = {.name = "A", .values = {}};
  for (std::int64_t i = 1; i <= 1000; ++i) parameter.values.emplace_back(i);
  return SearchSpace({parameter}, {});
}

double mean_of_first(const SearchedKernel& kernel, int count) {
  Untried untried(*kernel.space, 1);
  Model model(kernel, untried, 1);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += static_cast<double>(*model.ask());
  return sum / count;
}

TEST(Model, AsksForWhatShouldCostLeast) {
  const SearchSpace space = thousand();
  const auto cost = [](ConfigurationIndex index, int) { return static_cast<double>(index + 1); };
  const SearchedKernel knows = {
      .space = &space, .default_configuration = std::nullopt, .cost = cost};
  EXPECT_LT(mean_of_first(knows, 50), 100);
  const SearchedKernel blind = {.space = &space, .default_configuration = std::nullopt};
  EXPECT_GT(mean_of_first(blind, 50), 300);
}

TEST(Model, AsksLastForWhatCannotRun) {
  const SearchSpace space = thousand();
  const auto cost = [](ConfigurationIndex index, int) {
    return index < 900 ? std::numeric_limits<double>::infinity() : 1.0;
  };
  const SearchedKernel kernel = {
      .space = &space, .default_configuration = std::nullopt, .cost = cost};
  Untried untried(space, 1);
  Model model(kernel, untried, 1);
  int that_run = 0;
  for (int i = 0; i < 50; ++i) that_run += *model.ask() >= 900 ? 1 : 0;
  EXPECT_GT(that_run, 40);
}

TEST(Model, TakesTheRegistersOfWhatIsMostAlike) {
  const SearchSpace space = thousand();
  const auto cost = [](ConfigurationIndex, int registers) {
    return static_cast<double>(registers);
  };
  const SearchedKernel kernel = {
      .space = &space, .default_configuration = std::nullopt, .cost = cost};
  Untried untried(space, 1);
  Model model(kernel, untried, 1);
  model.tell_registers(0, 255);
  model.tell_registers(999, 16);
  for (int i = 0; i < 20; ++i) EXPECT_GT(*model.ask(), 20u);
}

}  // namespace
}  // namespace smemtune
