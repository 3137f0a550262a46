#include "tuner/core/fields.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace smemtune {
namespace {

/// Converts to whatever member it initializes.
struct Any {
  template <typename T>
  operator T() const {  // NOLINT(google-explicit-constructor)
    return T();
  }
};

template <typename T, typename... Members>
constexpr std::size_t member_count() {
  if constexpr (requires { T{std::declval<Members>()..., std::declval<Any>()}; }) {
    return member_count<T, Members..., Any>();
  } else {
    return sizeof...(Members);
  }
}

/// Returns the number of listed fields, which must have different names.
template <typename T>
std::size_t listed() {
  std::set<std::string> names;
  std::set<const void*> places;
  T value;
  visit_fields(value, [&](const char* name, auto& member) {
    names.insert(name);
    places.insert(&member);
  });
  EXPECT_EQ(names.size(), places.size());
  return names.size();
}

TEST(Fields, AreAllMembers) {
  EXPECT_EQ(listed<Device>(), member_count<Device>());
  EXPECT_EQ(listed<LaunchShape>(), member_count<LaunchShape>() - 5)
      << "cluster, warpgroup_registers, shared_carveout, programmatic, repetitions";
  EXPECT_EQ(listed<Resources>(), member_count<Resources>());
  EXPECT_EQ(listed<Occupancy>(), member_count<Occupancy>());
  EXPECT_EQ(listed<Measurement>(), member_count<Measurement>() - 1) << "the samples";
  // The fields left out are the key, launches, measurement, metrics and unit.
  EXPECT_EQ(listed<Result>(), member_count<Result>() - 7);
}

}  // namespace
}  // namespace smemtune
