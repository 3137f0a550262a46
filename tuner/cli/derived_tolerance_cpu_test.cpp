// Tolerances derived from a double-precision run, by the built program on the CPU device.

#include "tuner/cli/derived_tolerance_cases.h"

namespace smemtune::cli {
namespace {

constexpr const char* kInDouble = "naive in double precision";

TEST(DerivedOnCpu, FindsALostTermOfFloatsAndAcceptsAnotherOrder) {
  expect_lost_terms_found("cpu", "float", kInDouble);
}

TEST(DerivedOnCpu, FindsALostTermOfHalves) { expect_lost_terms_found("cpu", "__half", kInDouble); }

TEST(DerivedOnCpu, HoldsTheReferenceAgainstItsDefinitionToo) {
  expect_lost_terms_found("cpu", "float", kInDouble,
                          R"json("derived": 8, "definition": "out[i] = sum(k < N, in[i, k])")json");
}

}  // namespace
}  // namespace smemtune::cli
