#include "tuner/core/names.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::string> kDevices = {"NVIDIA GeForce RTX 2080",
                                           "NVIDIA GeForce RTX 2080 Super",
                                           "NVIDIA GeForce RTX 2080 Ti",
                                           "NVIDIA L40",
                                           "NVIDIA L40S",
                                           "Planted GPU 3",
                                           "Planted GPU 30",
                                           "Planted GPU 31"};

TEST(MeantNames, TakesTheNameItselfBeforeNamesThatContainIt) {
  EXPECT_THAT(meant_names("NVIDIA GeForce RTX 2080", kDevices),
              ElementsAre("NVIDIA GeForce RTX 2080"));
  EXPECT_THAT(meant_names("Planted GPU 3", kDevices), ElementsAre("Planted GPU 3"));
  EXPECT_THAT(meant_names("nvidia l40", kDevices), ElementsAre("NVIDIA L40"));
  const std::vector<std::string> cases = {"gemm", "Gemm"};
  EXPECT_THAT(meant_names("Gemm", cases), ElementsAre("Gemm"));
  EXPECT_THAT(meant_names("GEMM", cases), ElementsAre("Gemm", "gemm"));
}

TEST(MeantNames, LetsVendorAndSeparatorsBeLeftOut) {
  EXPECT_THAT(meant_names("RTX 2080", kDevices), ElementsAre("NVIDIA GeForce RTX 2080"));
  EXPECT_THAT(meant_names("rtx2080ti", kDevices), ElementsAre("NVIDIA GeForce RTX 2080 Ti"));
  EXPECT_THAT(meant_names("L40", kDevices), ElementsAre("NVIDIA L40"));
}

TEST(MeantNames, TakesWholeWordsOnly) {
  EXPECT_THAT(meant_names("L4", kDevices), IsEmpty());
  EXPECT_THAT(meant_names("RTX 208", kDevices), IsEmpty());
  EXPECT_THAT(meant_names("2080 ti", kDevices), ElementsAre("NVIDIA GeForce RTX 2080 Ti"));
  EXPECT_THAT(meant_names("Planted GPU", kDevices),
              ElementsAre("Planted GPU 3", "Planted GPU 30", "Planted GPU 31"));
  EXPECT_THAT(meant_names("%", kDevices), IsEmpty());
  EXPECT_THAT(meant_names("", kDevices), IsEmpty());
}

TEST(MeantName, ListsTheCandidates) {
  EXPECT_EQ(meant_name("device", "A100", kDevices), "A100");
  EXPECT_EQ(meant_name("device", "super", kDevices), "NVIDIA GeForce RTX 2080 Super");
  try {
    meant_name("device", "gpu", kDevices);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("device 'gpu' may be any of 'Planted GPU 3', "
                                        "'Planted GPU 30', 'Planted GPU 31'"));
  }
}

}  // namespace
}  // namespace smemtune
