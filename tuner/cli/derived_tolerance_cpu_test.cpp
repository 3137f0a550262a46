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

TEST(DerivedOnCpu, HoldsTheSumOfPartialSumsAgainstTheExactSum) {
  std::string messages;
  const nlohmann::json problem = tuned("cpu", R"json({
  "name": "partial", "problems": [{ "ROWS": 64, "N": 4096, "T": "float" }],
  "arguments": [
    { "name": "out", "type": "T", "shape": ["ROWS"], "role": "inout", "init": "zero", "compare": "sum" },
    { "name": "in", "type": "T", "shape": ["N"], "role": "input", "init": "uniform(-1, 1)" },
    { "name": "n", "type": "int", "value": "N / BLOCKS" }],
  "verify": { "reference": "naive", "derived": true },
  "kernels": [
    { "name": "naive", "source": "sums.cu", "entry": "naive<T>", "block": [32], "grid": ["BLOCKS"],
      "parameters": { "BLOCKS": [1] } },
    { "name": "tree", "source": "sums.cu", "entry": "tree<T, 32, LOSE>",
      "parameters": { "BLOCKS": [1, 4, 64], "LOSE": [0, 1] }, "block": [32], "grid": ["BLOCKS"] }] })json",
                                       &messages);
  ASSERT_TRUE(problem.is_object()) << messages;
  for (const nlohmann::json& result : problem["results"]) {
    if (result["kernel"] != "tree") continue;
    const bool loses = result["configuration"]["LOSE"] == 1;
    EXPECT_EQ(result["status"], loses ? "correctness" : "correct") << result;
  }
  const nlohmann::json& tolerances = problem["derived_tolerances"];
  ASSERT_EQ(tolerances.size(), 1u) << messages;
  EXPECT_EQ(tolerances[0]["elements"], 8);  // One sum of each data set.
  EXPECT_GT(tolerances[0]["absolute"], 0);
}

}  // namespace
}  // namespace smemtune::cli
