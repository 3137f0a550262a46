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

class OtherAnswers : public testing::Test {
 protected:
  OtherAnswers() {
    space.kernels = {kernel("naive"), kernel("tiled")};
    space.verify.reference = "naive";
  }

  bool naive() const { return space.has_other_answers(space.kernels[0]); }
  bool tiled() const { return space.has_other_answers(space.kernels[1]); }

  Space space;
};

TEST_F(OtherAnswers, AreThoseOfAnotherReference) {
  EXPECT_FALSE(naive());
  EXPECT_TRUE(tiled());
}

TEST_F(OtherAnswers, AreDefinitionsOfEveryOutput) {
  space.verify.definitions.push_back({.text = "out[i] = in[i]", .where = ""});
  EXPECT_FALSE(naive()) << "sum is not defined";
  space.verify.definitions.push_back({" sum [i] = 1", ""});
  EXPECT_TRUE(naive());
  space.verify.definition_is_a_guess = true;
  EXPECT_FALSE(naive()) << "it was read in the kernel itself";
  space.verify.definition_is_a_guess = false;
  space.verify.definitions[0].text = "output[i] = in[i]";
  EXPECT_FALSE(naive());
}

TEST_F(OtherAnswers, AreFiles) {
  space.verify.definitions.push_back({.text = "out[i] = in[i]", .where = ""});
  space.verify.expected["sum"] = {.path = "sum.npy", .sha256 = {}};
  EXPECT_TRUE(naive());
}

}  // namespace
}  // namespace smemtune
