#include "tuner/backend/builtins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string builtins(const std::string& text) { return builtins_for({.files = {{"k.cu", text}}}); }

TEST(Builtins, AreThoseThatTheSourceUses) {
  EXPECT_THAT(builtins("float x = 1;"), IsEmpty());
  EXPECT_THAT(builtins("float x = -INFINITY;"), HasSubstr("#define INFINITY "));
  EXPECT_THAT(builtins("float x = -INFINITY;"), Not(HasSubstr("M_PI")));
  EXPECT_THAT(builtins("float MY_NAN_ = M_PI_2;"), Not(HasSubstr("define NAN")));
  EXPECT_THAT(builtins("float x = M_PI_2;"), Not(HasSubstr("define M_PI ")));
}

TEST(Builtins, AreFoundInWhatIsIncluded) {
  EXPECT_THAT(builtins_for({.files = {{"k.cu", ""}, {"k.cuh", "M_PI"}}}), HasSubstr("M_PI"));
}

TEST(Builtins, LeaveTypesToWhoDeclaresThem) {
  EXPECT_EQ("typedef int int32_t;\n", builtins("int32_t x;"));
  EXPECT_THAT(builtins("typedef unsigned long uint64_t; uint64_t x;"), IsEmpty());
  EXPECT_THAT(builtins("using uint64_t = unsigned long; uint64_t x;"), IsEmpty());
  EXPECT_THAT(builtins("#include <stdint.h>\nuint64_t x;"), IsEmpty());
}

}  // namespace
}  // namespace smemtune
