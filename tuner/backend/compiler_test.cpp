#include "tuner/backend/compiler.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

TEST(CompiledKernel, FindsAnEntryByItsNameExpression) {
  CompiledKernel compiled;
  compiled.entries.resize(2);
  compiled.entries[0].name_expression = "k<1>";
  compiled.entries[1].name_expression = "k<2>";
  EXPECT_EQ(&compiled.entries[1], compiled.entry("k<2>"));
  EXPECT_EQ(nullptr, compiled.entry("k<3>"));
}

}  // namespace
}  // namespace smemtune
