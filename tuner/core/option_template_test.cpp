#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

TEST(OptionTemplate, FindsItsName) {
  EXPECT_EQ(std::nullopt, name_in_option("--use_fast_math"));
  EXPECT_EQ("REGS", name_in_option("--maxrregcount=${REGS}"));
  EXPECT_THROW(name_in_option("--maxrregcount=${REGS"), InputError);
  EXPECT_THROW(name_in_option("--maxrregcount=${1 + 2}"), InputError);
  EXPECT_THROW(name_in_option("-D${A}=${B}"), InputError);
}

TEST(OptionTemplate, TakesTheValue) {
  EXPECT_EQ("--maxrregcount=64", bind_option("--maxrregcount=${REGS}", std::int64_t{64}));
  EXPECT_EQ("--std=c++20", bind_option("--std=${STANDARD}", std::string("c++20")));
  EXPECT_EQ("-ftz=true", bind_option("-ftz=${FTZ}", std::int64_t{1}));
  EXPECT_EQ("--fmad=false", bind_option("--fmad=${FMAD}", std::int64_t{0}));
  EXPECT_EQ("-DX=1", bind_option("-DX=${X_VALUE}", std::int64_t{1}));
}

}  // namespace
}  // namespace smemtune
