#include "tuner/core/search_space.h"

#include "tuner/core/error.h"
#include "tuner/core/planted_recordings_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace smemtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Parameter integers(const std::string& name, const std::vector<std::int64_t>& values) {
  Parameter parameter = {.name = name, .values = {}};
  for (const std::int64_t value : values) parameter.values.emplace_back(value);
  return parameter;
}

std::vector<std::int64_t> up_to(std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 1; i <= last; ++i) values.push_back(i);
  return values;
}

std::vector<Expression> compile(const std::vector<Parameter>& parameters,
                                const std::vector<std::string>& texts) {
  Scope scope;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool is_word = std::holds_alternative<std::string>(parameters[i].values.front());
    scope.add_variable(parameters[i].name, i, is_word ? Scope::Kind::word : Scope::Kind::integer);
  }
  std::vector<Expression> constraints;
  for (const std::string& text : texts) constraints.push_back(Expression::compile(text, scope));
  return constraints;
}

SearchSpace space_of(const std::vector<Parameter>& parameters,
                     const std::vector<std::string>& constraints) {
  return SearchSpace(parameters, compile(parameters, constraints));
}

std::vector<std::string> keys(const SearchSpace& space) {
  std::vector<std::string> keys;
  for (ConfigurationIndex i = 0; i < space.size(); ++i) keys.push_back(key(space.configuration(i)));
  return keys;
}

// Tries every point of the product one by one, in the documented order of a space whose groups do
// not interleave.
std::vector<std::string> keys_by_brute_force(const std::vector<Parameter>& parameters,
                                             const std::vector<std::string>& texts) {
  const std::vector<Expression> constraints = compile(parameters, texts);
  std::vector<std::string> keys;
  std::vector<std::size_t> indices(parameters.size());
  while (true) {
    std::vector<std::int64_t> slots;
    Configuration configuration;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Value& value = parameters[i].values[indices[i]];
      slots.push_back(to_slot(value));
      configuration.emplace(parameters[i].name, value);
    }
    const auto holds = [&](const Expression& constraint) {
      return constraint.evaluate(slots) != 0;
    };
    if (std::all_of(constraints.begin(), constraints.end(), holds)) {
      keys.push_back(key(configuration));
    }
    std::size_t i = parameters.size();
    while (i > 0 && ++indices[i - 1] == parameters[i - 1].values.size()) indices[--i] = 0;
    if (i == 0) return keys;
  }
}

TEST(SearchSpace, ListsTheLastParameterFastest) {
  const SearchSpace space = space_of({integers("B", {2, 1}), integers("A", {1, 2, 3})}, {});
  EXPECT_THAT(keys(space), ElementsAre("A=1,B=2", "A=2,B=2", "A=3,B=2",  //
                                       "A=1,B=1", "A=2,B=1", "A=3,B=1"));
}

TEST(SearchSpace, KeepsWhatSatisfiesEveryConstraint) {
  const SearchSpace space =
      space_of({integers("A", {1, 2, 3}), integers("B", {1, 2, 3})}, {"A < B", "(A + B) % 2 == 1"});
  EXPECT_THAT(keys(space), ElementsAre("A=1,B=2", "A=2,B=3"));
}

TEST(SearchSpace, ComparesWords) {
  const Parameter type = {.name = "T", .values = {"float", "double"}};
  const SearchSpace space = space_of({type, integers("W", {1, 2, 4})}, {"sizeof(T) * W <= 8"});
  EXPECT_THAT(keys(space), ElementsAre("T=float,W=1", "T=float,W=2", "T=double,W=1"));
}

TEST(SearchSpace, OrdersInterleavedGroupsByTheirFirstParameters) {
  // A and C are a group, B is another: C varies within A, and B fastest of all.
  const SearchSpace space = space_of(
      {integers("A", {1, 2}), integers("B", {1, 2}), integers("C", {1, 2})}, {"A != 2 or C != 1"});
  EXPECT_THAT(keys(space), ElementsAre("A=1,B=1,C=1", "A=1,B=2,C=1",  //
                                       "A=1,B=1,C=2", "A=1,B=2,C=2",  //
                                       "A=2,B=1,C=2", "A=2,B=2,C=2"));
}

TEST(SearchSpace, EqualsBruteForce) {
  const std::vector<std::string> pool = {
      "A + B <= 6",      "A * B % 3 != 1", "B >= C || A == 2", "C % 2 == 0", "C * D < 12",
      "A == 1 or D > 1", "D != 4",         "E <= A + D",       "2 < 3",      "gcd(A, E) < 3"};
  std::mt19937 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<Parameter> parameters = {integers("A", {3, 1, 2, 5}), integers("B", up_to(4)),
                                               integers("C", {4, 3, 2}), integers("D", up_to(4)),
                                               integers("E", {2, 4, 7})};
    std::vector<std::string> constraints;
    for (const std::string& constraint : pool) {
      if (random() % 3 == 0) constraints.push_back(constraint);
    }
    const SearchSpace space = space_of(parameters, constraints);
    std::vector<std::string> expected = keys_by_brute_force(parameters, constraints);
    std::vector<std::string> actual = keys(space);
    for (ConfigurationIndex i = 0; i < space.size(); ++i) {
      EXPECT_EQ(i, space.index_of(space.configuration(i)));
    }
    std::sort(expected.begin(), expected.end());
    std::sort(actual.begin(), actual.end());
    ASSERT_EQ(expected, actual);
  }
}

TEST(SearchSpace, KeepsTheFilesOrderWithinAGroup) {
  const std::vector<Parameter> parameters = {integers("A", {3, 1, 2, 5}), integers("B", up_to(4)),
                                             integers("C", {4, 3, 2}), integers("D", up_to(4))};
  // The constraints are cheapest to try in the order C, A, then D, B.
  const std::vector<std::string> constraints = {"A >= C", "C + D > 4", "A * B * C * D % 5 < 4"};
  EXPECT_EQ(keys_by_brute_force(parameters, constraints), keys(space_of(parameters, constraints)));
}

TEST(SearchSpace, FindsOnlyWhatIsValidHere) {
  const SearchSpace space = space_of({integers("A", {1, 2, 3}), integers("B", {1, 2})}, {"A >= B"});
  EXPECT_EQ(4u, *space.index_of({{"A", std::int64_t{3}}, {"B", std::int64_t{2}}}));
  EXPECT_FALSE(space.index_of({{"A", std::int64_t{1}}, {"B", std::int64_t{2}}}));
  EXPECT_FALSE(space.index_of({{"A", std::int64_t{4}}, {"B", std::int64_t{1}}}));
  EXPECT_FALSE(space.index_of({{"A", "1"}, {"B", std::int64_t{1}}}));
  EXPECT_FALSE(space.index_of({{"A", std::int64_t{1}}}));
  EXPECT_FALSE(space.index_of({{"A", std::int64_t{1}}, {"C", std::int64_t{1}}}));
  EXPECT_THAT(space.value_indices(4), ElementsAre(2, 1));
}

TEST(SearchSpace, NeighborsDifferInExactlyOneParameter) {
  const SearchSpace space = space_of({integers("A", up_to(4)), integers("B", {1, 2}),
                                      integers("C", up_to(4)), integers("D", up_to(3))},
                                     {"A >= C", "D != 2 or B == 1"});
  for (ConfigurationIndex i = 0; i < space.size(); ++i) {
    std::vector<ConfigurationIndex> expected;
    for (ConfigurationIndex j = 0; j < space.size(); ++j) {
      const std::vector<std::size_t> a = space.value_indices(i);
      const std::vector<std::size_t> b = space.value_indices(j);
      int differences = 0;
      for (std::size_t p = 0; p < a.size(); ++p) differences += a[p] != b[p] ? 1 : 0;
      if (differences == 1) expected.push_back(j);
    }
    ASSERT_EQ(expected, space.neighbors(i));
  }
}

TEST(SearchSpace, HoldsASpaceWithoutParametersAsOnePoint) {
  const SearchSpace space({}, {});
  EXPECT_EQ(1u, space.size());
  EXPECT_EQ(1, space.cartesian_size());
  EXPECT_TRUE(space.configuration(0).empty());
  EXPECT_EQ(0u, space.index_of({}));
  EXPECT_TRUE(space.neighbors(0).empty());
}

TEST(SearchSpace, IsEmptyWhenNothingSatisfiesTheConstraints) {
  for (const char* never : {"1 > 2", "A > 3"}) {
    const SearchSpace space = space_of({integers("A", {1, 2}), integers("B", {1, 2})}, {never});
    EXPECT_EQ(0u, space.size());
    EXPECT_FALSE(space.index_of({{"A", std::int64_t{1}}, {"B", std::int64_t{1}}}));
  }
}

TEST(SearchSpace, DoesNotListTheProductOfIndependentGroups) {
  std::vector<Parameter> parameters;
  std::vector<std::string> constraints;
  for (char name = 'A'; name <= 'L'; ++name) {
    parameters.push_back(integers(std::string(1, name), up_to(32)));
    constraints.push_back(std::string(1, name) + " != 7");
  }
  const SearchSpace space = space_of(parameters, constraints);
  EXPECT_EQ(787662783788549761u, space.size());  // 31^12
  EXPECT_DOUBLE_EQ(1152921504606846976.0, space.cartesian_size());
  const ConfigurationIndex index = 123456789012345678u;
  EXPECT_EQ(index, space.index_of(space.configuration(index)));
  EXPECT_EQ(12u * 30u, space.neighbors(index).size());
}

TEST(SearchSpace, TriesConstraintsOnPartOfAConfiguration) {
  // A < B < ... leaves 20 over 10 = 184756 of the 20^10 points; the checks see far fewer than all.
  std::vector<Parameter> parameters = {integers("A", up_to(20))};
  std::vector<std::string> constraints;
  for (char name = 'B'; name <= 'J'; ++name) {
    parameters.push_back(integers(std::string(1, name), up_to(20)));
    const char before = static_cast<char>(name - 1);
    constraints.push_back(std::string(1, before) + " < " + std::string(1, name));
  }
  EXPECT_EQ(184756u,
            SearchSpace(parameters, compile(parameters, constraints), {}, 13'000'000).size());
}

TEST(SearchSpace, TriesCheapConstraintsFirstWhereverTheirParametersStand) {
  // In the file's order B to F would be set before G: ten times 100000 sums for each one that is
  // left.
  const std::vector<Parameter> parameters = {integers("A", up_to(10)), integers("B", up_to(10)),
                                             integers("C", up_to(10)), integers("D", up_to(10)),
                                             integers("E", up_to(10)), integers("F", up_to(10)),
                                             integers("G", up_to(10))};
  const std::vector<Expression> constraints =
      compile(parameters, {"A + B + C + D + E + F >= 59", "A * G == 81"});
  const SearchSpace space(parameters, constraints, {}, 110'000);
  EXPECT_THAT(keys(space), ElementsAre("A=9,B=10,C=10,D=10,E=10,F=10,G=9"));
}

TEST(SearchSpace, IsNotListedWhereThatTakesTooLong) {
  const std::vector<Parameter> parameters = {integers("A", up_to(100)), integers("B", up_to(100)),
                                             integers("C", up_to(100)), integers("D", {1, 2})};
  const std::vector<Expression> constraints = compile(parameters, {"A + B + C == 150"});
  const SearchSpace listed(parameters, constraints);
  const SearchSpace space(parameters, constraints, {}, 1000);
  EXPECT_TRUE(listed.is_listed());
  EXPECT_FALSE(space.is_listed());
  EXPECT_EQ(2'000'000u, space.size());
  RandomEngine random(1);
  std::set<std::string> drawn;
  for (int i = 0; i < 100; ++i) {
    const auto index = space.draw(random);
    ASSERT_TRUE(index);
    const Configuration configuration = space.configuration(*index);
    const auto known = listed.index_of(configuration);
    ASSERT_TRUE(known) << key(configuration);
    EXPECT_EQ(index, space.index_of(configuration));
    EXPECT_EQ(listed.neighbors(*known).size(), space.neighbors(*index).size());
    drawn.insert(key(configuration));
  }
  EXPECT_GT(drawn.size(), 90u);
  EXPECT_FALSE(space.index_of({{"A", std::int64_t{1}},
                               {"B", std::int64_t{1}},
                               {"C", std::int64_t{1}},
                               {"D", std::int64_t{1}}}));
  const SearchSpace none(parameters, compile(parameters, {"A + B + C < 0"}), {}, 1000);
  EXPECT_EQ(std::nullopt, none.draw(random));
}

TEST(SearchSpace, DrawsFromMoreThanAnyListCouldHold) {
  std::vector<Parameter> parameters;
  std::string sum = "0";
  for (int i = 0; i < 6; ++i) {
    parameters.push_back(integers("P" + std::to_string(i), up_to(1000)));
    sum += " + P" + std::to_string(i);
  }
  const SearchSpace space(parameters, compile(parameters, {"(" + sum + ") % 7 == 0"}), {}, 100'000);
  EXPECT_EQ(1'000'000'000'000'000'000u, space.size());
  RandomEngine random(1);
  std::set<ConfigurationIndex> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(space.draw(random).value());
  EXPECT_EQ(100u, drawn.size());
}

TEST(SearchSpace, DrawsUniformlyWhatIsListed) {
  const SearchSpace space =
      space_of({integers("A", up_to(10)), integers("B", up_to(10))}, {"A + B <= 11"});
  ASSERT_EQ(55u, space.size());
  std::vector<int> counts(55);
  RandomEngine random(1);
  for (int i = 0; i < 5500; ++i) ++counts[space.draw(random).value()];
  // 100 are expected for each: chi-squared with 54 degrees of freedom exceeds 100 once in 7000
  // times.
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - 100.0) * (count - 100.0) / 100;
  EXPECT_LT(chi_squared, 100);
}

TEST(SearchSpace, RefusesWhatCannotBeNumbered) {
  std::vector<Parameter> many;
  for (int i = 0; i < 64; ++i) many.push_back(integers("P" + std::to_string(i), {1, 2}));
  EXPECT_THROW(SearchSpace(many, {}), InputError);
  many.pop_back();
  EXPECT_EQ(std::uint64_t{1} << 63, SearchSpace(many, {}).size());
}

TEST(SearchSpace, IsGivenUpWhenNobodyWantsItAnyMore) {
  // There are 30^20 points, whose sum is tried last.
  std::vector<Parameter> parameters;
  std::string sum;
  for (char name = 'A'; name <= 'T'; ++name) {
    parameters.push_back(integers(std::string(1, name), up_to(30)));
    sum += (sum.empty() ? "" : " + ") + std::string(1, name);
  }
  const std::vector<Expression> constraints = compile(parameters, {sum + " == 300"});
  int looks = 0;
  const auto must_end = [&] { return ++looks == 3; };
  EXPECT_THROW(SearchSpace(parameters, constraints, must_end), Cancelled);
  EXPECT_EQ(looks, 3);
}

TEST(SearchSpace, TellsAConstraintWithoutAValueOnlyWhereNoneExcludes) {
  const std::vector<Parameter> parameters = {integers("A", {0, 1, 2}), integers("B", {0, 1})};
  EXPECT_THAT(keys(space_of(parameters, {"8 / A > 3", "A + B > 2"})), ElementsAre("A=2,B=1"));
  EXPECT_THAT(keys(space_of(parameters, {"8 / A > 3", "A > 0", "B > 0"})),
              ElementsAre("A=1,B=1", "A=2,B=1"));
  EXPECT_THROW(space_of(parameters, {"8 / A > 3", "B > 0"}), ExpressionError);
  const std::vector<Expression> constraints = compile(parameters, {"8 / A > 3", "B > 0"});
  EXPECT_FALSE(satisfies(constraints, std::vector<std::int64_t>{0, 0}));
  EXPECT_THROW(satisfies(constraints, std::vector<std::int64_t>{0, 1}), ExpressionError);
  EXPECT_TRUE(satisfies(constraints, std::vector<std::int64_t>{1, 1}));
}

std::vector<Parameter> hotspot_parameters() {
  std::vector<std::int64_t> block_size_x = {1, 2, 4, 8, 16};
  for (std::int64_t i = 1; i <= 32; ++i) block_size_x.push_back(32 * i);
  return {integers("block_size_x", block_size_x),
          integers("block_size_y", {1, 2, 4, 8, 16, 32}),
          integers("tile_size_x", up_to(10)),
          integers("tile_size_y", up_to(10)),
          integers("temporal_tiling_factor", up_to(10)),
          integers("max_tfactor", {10}),
          integers("loop_unroll_factor_t", up_to(10)),
          integers("sh_power", {0, 1}),
          integers("blocks_per_sm", {0, 1, 2, 3, 4})};
}

const std::vector<std::string> kHotspotConstraints = {
    "block_size_x*block_size_y >= 32", "temporal_tiling_factor % loop_unroll_factor_t == 0",
    "block_size_x*block_size_y <= 1024",
    "(block_size_x*tile_size_x + temporal_tiling_factor * 2) * (block_size_y*tile_size_y + "
    "temporal_tiling_factor * 2) * (2+sh_power) * 4 <= 49152",
    "blocks_per_sm == 0 or (((block_size_x*tile_size_x + temporal_tiling_factor * 2) * "
    "(block_size_y*tile_size_y + temporal_tiling_factor * 2) * (2+sh_power) * 4) * blocks_per_sm "
    "<= 102400)"};

TEST(SearchSpace, FindsAsManyHotspotConfigurationsAsItsPeers) {
  const SearchSpace space = space_of(hotspot_parameters(), kHotspotConstraints);
  EXPECT_EQ(22.2e6, space.cartesian_size());
  EXPECT_EQ(349853u, space.size());
  std::vector<std::size_t> last = space.value_indices(0);
  for (ConfigurationIndex i = 1; i < space.size(); ++i) {
    const std::vector<std::size_t> indices = space.value_indices(i);
    ASSERT_LT(last, indices);
    last = indices;
  }
}

/// Returns the space of a T1 file's parameters and conditions, whose values are lists of numbers.
SearchSpace space_of_t1(const nlohmann::json& t1) {
  std::vector<Parameter> parameters;
  for (const auto& parameter : t1.at("ConfigurationSpace").at("TuningParameters")) {
    const auto values = nlohmann::json::parse(parameter.at("Values").get<std::string>());
    parameters.push_back(integers(parameter.at("Name"), values.get<std::vector<std::int64_t>>()));
  }
  std::vector<std::string> constraints;
  for (const auto& condition : t1.at("ConfigurationSpace").at("Conditions")) {
    constraints.push_back(condition.at("Expression"));
  }
  return space_of(parameters, constraints);
}

TEST(SearchSpace, FindsThePlantedConfigurations) {
  const SearchSpace space = space_of_t1(nlohmann::json::parse(planted_t1()));
  EXPECT_EQ(16 * 5 * 4 * 4 * 2, space.cartesian_size());
  EXPECT_EQ(planted_points().size(), space.size());
}

TEST(SearchSpace, FindsAsManyConvolutionConfigurationsAsItsPeers) {
  const std::filesystem::path file =
      std::filesystem::path(SMEMTUNE_SOURCE_DIR) / "../shared/data/convolution/convolution_T1.json";
  std::ifstream stream(file);
  if (!stream) {
    ASSERT_EQ(nullptr, std::getenv("SMEMTUNE_REQUIRE_SHARED")) << file << " is missing";
    GTEST_SKIP() << file << " is missing";
  }
  const SearchSpace space = space_of_t1(nlohmann::json::parse(stream));
  EXPECT_EQ(10240, space.cartesian_size());
  EXPECT_EQ(4362u, space.size());
}

TEST(Permutation, VisitsEveryIndexOnce) {
  for (const std::uint64_t size : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 1000u, 4096u, 65537u}) {
    const Permutation permutation(size, 9);
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t image = permutation(i);
      ASSERT_LT(image, size);
      ASSERT_FALSE(seen[image]) << size << " " << i;
      seen[image] = true;
    }
  }
}

TEST(Permutation, DiffersBySeedAndMixes) {
  constexpr std::uint64_t kSize = 10000;
  const Permutation one(kSize, 1);
  const Permutation two(kSize, 2);
  int equal = 0;
  int rising = 0;
  for (std::uint64_t i = 0; i + 1 < kSize; ++i) {
    equal += one(i) == two(i) ? 1 : 0;
    rising += one(i) < one(i + 1) ? 1 : 0;
  }
  EXPECT_LT(equal, 10);  // One is expected.
  EXPECT_NEAR(kSize / 2.0, rising, 200);
}

TEST(Permutation, HoldsTheLargestSizes) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const Permutation permutation(kMax, 3);
  std::set<std::uint64_t> images;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    images.insert(permutation(i));
    images.insert(permutation(kMax - 1 - i));
  }
  EXPECT_EQ(2000u, images.size());
}

}  // namespace
}  // namespace smemtune
