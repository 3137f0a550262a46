// Tests tolerances derived from a double-precision run, using the built program on the first GPU.

#include "tuner/cli/derived_tolerance_cases_test_support.h"

namespace smemtune::cli {
namespace {

constexpr const char* kInDouble = "naive in double precision";

class DerivedOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const bool has_gpu =
        std::system((tuned_program() + " devices --json 2>/dev/null | grep -q uuid").c_str()) == 0;
    if (has_gpu) return;
    if (std::getenv("SMEMTUNE_REQUIRE_GPU") != nullptr) FAIL() << "no GPU";
    GTEST_SKIP() << "no GPU here";
  }
};

TEST_F(DerivedOnGpu, FindsALostTermOfFloatsAndAcceptsAnotherOrder) {
  expect_lost_terms_found("0", "float", kInDouble);
}

TEST_F(DerivedOnGpu, FindsALostTermOfHalves) { expect_lost_terms_found("0", "__half", kInDouble); }

}  // namespace
}  // namespace smemtune::cli
