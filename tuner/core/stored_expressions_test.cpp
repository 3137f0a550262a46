#include "tuner/core/stored_expressions.h"

#include "tuner/core/device.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

TEST(StoredExpressions, HoldForTheConfigurationTheProblemAndTheDevice) {
  const StoredExpressions constraints(
      {"N % TILE == 0", "TILE * TILE * sizeof(T) <= max_shared_bytes_per_block"},
      parse_key("TILE=8"), parse_key("N=64,T=float"));
  Device device;
  device.max_shared_bytes_per_block = 4096;
  const Bindings names = device_names(device);
  EXPECT_TRUE(constraints.hold(parse_key("TILE=32"), parse_key("N=96,T=float"), names));
  EXPECT_FALSE(constraints.hold(parse_key("TILE=32"), parse_key("N=100,T=float"), names));
  EXPECT_FALSE(constraints.hold(parse_key("TILE=32"), parse_key("N=96,T=double"), names));
}

TEST(StoredExpressions, TakeNamesThatNothingHasForWords) {
  const StoredExpressions constraints({"T == float || LAYOUT != row"}, parse_key("LAYOUT=column"),
                                      parse_key("T=__half"));
  EXPECT_TRUE(constraints.hold(parse_key("LAYOUT=column"), parse_key("T=__half"), {}));
  EXPECT_FALSE(constraints.hold(parse_key("LAYOUT=row"), parse_key("T=__half"), {}));
  EXPECT_TRUE(constraints.hold(parse_key("LAYOUT=row"), parse_key("T=float"), {}));
}

TEST(StoredExpressions, DoNotHoldWhereOneHasNoValueOrIsNoExpression) {
  const StoredExpressions divides({"N / TILE >= 1"}, parse_key("TILE=1"), parse_key("N=1"));
  EXPECT_TRUE(divides.hold(parse_key("TILE=1"), parse_key("N=1"), {}));
  EXPECT_FALSE(divides.hold(parse_key("TILE=0"), parse_key("N=1"), {}));
  const StoredExpressions odd({"N >"}, parse_key("TILE=1"), parse_key("N=1"));
  EXPECT_FALSE(odd.hold(parse_key("TILE=1"), parse_key("N=1"), {}));
  EXPECT_TRUE(StoredExpressions().hold(parse_key("TILE=1"), parse_key("N=1"), {}));
}

}  // namespace
}  // namespace smemtune
