#include "tuner/core/configuration_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smemtune {
namespace {

using testing::ElementsAre;

Value number(std::int64_t value) { return value; }

std::vector<float> features_of(const SearchSpace& space, ConfigurationIndex index) {
  return ConfigurationFeatures(space)(space.value_indices(index));
}

TEST(ConfigurationFeatures, AreSizesTheirAlignmentAndTheirProducts) {
  const SearchSpace space({{.name = "X", .values = {number(32), number(48), number(64)}},
                           {.name = "Y", .values = {number(1), number(2), number(4)}},
                           {.name = "ONE", .values = {number(7)}}},
                          {});
  const auto index = space.index_of({{"X", number(64)}, {"Y", number(4)}, {"ONE", number(7)}});
  EXPECT_THAT(features_of(space, *index), ElementsAre(6, 6, 2, 8));
  const auto other = space.index_of({{"X", number(48)}, {"Y", number(1)}, {"ONE", number(7)}});
  EXPECT_THAT(features_of(space, *other),
              ElementsAre(testing::FloatEq(5.5849625F), 4, 0, testing::FloatEq(5.5849625F)));
}

TEST(ConfigurationFeatures, AreFiniteForSwitchesWordsAndAnyInteger) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const SearchSpace space({{.name = "ON", .values = {number(0), number(1)}},
                           {.name = "T", .values = {Value{"float"}, Value{"double"}, number(3)}},
                           {.name = "N", .values = {number(kLeast), number(0), number(5)}}},
                          {});
  for (ConfigurationIndex i = 0; i < space.size(); ++i) {
    const std::vector<float> features = features_of(space, i);
    EXPECT_EQ(3u, features.size());
    for (const float feature : features) EXPECT_TRUE(std::isfinite(feature));
  }
}

TEST(ConfigurationFeatures, OfOneConfigurationAreNone) {
  const SearchSpace space({{.name = "A", .values = {number(1)}}}, {});
  EXPECT_TRUE(features_of(space, 0).empty());
}

}  // namespace
}  // namespace smemtune
