#include "tuner/core/space.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

KernelTemplate kernel(const std::string& name) {
  KernelTemplate kernel;
  kernel.name = name;
  for (const auto& [argument, role] :
       {std::pair("in", Role::input), std::pair("out", Role::output), std::pair("sum", Role::inout),
        std::pair("n", Role::input)}) {
    ArgumentTemplate& added = kernel.arguments.emplace_back();
    added.name = argument;
    added.role = role;
    if (added.name != "n") added.shape = {{"N", "/shape"}};
  }
  return kernel;
}

class ComparedWithTest : public testing::Test {
 protected:
  ComparedWithTest() {
    space.kernels = {kernel("naive"), kernel("tiled")};
    space.verify.reference = "naive";
  }

  ComparedWith naive() const { return space.compared_with(space.kernels[0]); }
  ComparedWith tiled() const { return space.compared_with(space.kernels[1]); }

  Space space;
};

TEST_F(ComparedWithTest, IsTheReferenceWhereNothingElseGivesTheAnswer) {
  EXPECT_EQ(naive(), ComparedWith::only_itself);
  EXPECT_EQ(tiled(), ComparedWith::another_kernel);
}

TEST_F(ComparedWithTest, IsADefinitionOfEveryOutput) {
  space.verify.definitions.push_back({.text = "out[i] = in[i]", .where = ""});
  EXPECT_EQ(naive(), ComparedWith::only_itself) << "sum is not defined";
  space.verify.definitions.push_back({" sum [i] = 1", ""});
  EXPECT_EQ(naive(), ComparedWith::definition);
  EXPECT_EQ(tiled(), ComparedWith::definition);
  space.verify.definition_is_a_guess = true;
  EXPECT_EQ(naive(), ComparedWith::only_itself) << "it was read in the kernel itself";
  space.verify.definition_is_a_guess = false;
  space.verify.definitions[0].text = "output[i] = in[i]";
  EXPECT_EQ(naive(), ComparedWith::only_itself);
}

TEST_F(ComparedWithTest, IsAFileWhereThatGivesAnOutput) {
  space.verify.definitions.push_back({.text = "out[i] = in[i]", .where = ""});
  space.verify.expected["sum"] = {.path = "sum.npy", .sha256 = {}};
  EXPECT_EQ(naive(), ComparedWith::expected_file);
}

}  // namespace
}  // namespace smemtune
