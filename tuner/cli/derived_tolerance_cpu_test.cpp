// Tests tolerances derived from a double-precision run, using the built program on the CPU device.

#include "tuner/cli/derived_tolerance_cases_test_support.h"

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
  EXPECT_EQ(tolerances[0]["elements"], 8);  // One sum in each data set.
  EXPECT_GT(tolerances[0]["absolute"], 0);
}

TEST(DerivedOnCpu, TurnsConstantMemoryScratchAndSharedMemoryThatNameTheirTypes) {
  std::string messages;
  const nlohmann::json problem = tuned("cpu", R"json({
  "name": "two", "problems": [{ "N": 1024, "T": "float" }],
  "arguments": [
    { "name": "io", "type": "T", "shape": ["N"], "role": "inout", "init": "uniform(-1, 1)" },
    { "name": "tmp", "type": "T", "shape": ["N"], "role": "scratch" },
    { "name": "w", "type": "T", "shape": [4], "role": "input", "init": "uniform(-1, 1)",
      "memory": "constant", "symbol": "weights<float>" },
    { "name": "scale", "type": "float", "value": 0.1 }],
  "verify": { "reference": "two", "also": [{ "N": 256, "T": "float" }], "derived": true },
  "kernels": [{ "name": "two", "source": "two.cu", "constraints": ["T == float"], "launches": [
    { "entry": "weigh<T>", "block": [64], "grid": ["N / 64"], "arguments": ["tmp", "io"],
      "dynamic_shared_bytes": "64 * (T == __half ? 2 : 4)" },
    { "entry": "add<T>", "block": [64], "grid": ["N / 64"], "arguments": ["io", "tmp", "scale"] }] }] })json",
                                       &messages);
  ASSERT_TRUE(problem.is_object()) << messages;
  ASSERT_EQ(problem["derived_tolerances"].size(), 2u) << messages;
  EXPECT_EQ(problem["derived_tolerances"][0]["compared_with"], "two in double precision");
  EXPECT_GT(problem["derived_tolerances"][0]["reference_error"], 0);
}

TEST(DerivedOnCpu, HoldsWhatIsNoFloatAgainstItsDefinitionAllTheSame) {
  const auto messages_with = [](const std::string& twice, int status) {
    std::string messages;
    tuned("cpu",
          R"json({
  "name": "mixed", "problems": [{ "N": 1024 }],
  "arguments": [
    { "name": "same", "type": "float", "shape": ["N"], "role": "output" },
    { "name": "twice", "type": "double", "shape": ["N"], "role": "output" },
    { "name": "in", "type": "float", "shape": ["N"], "role": "input", "init": "uniform(-1, 1)" }],
  "verify": { "reference": "bits", "derived": true,
    "definition": ["same[i] = in[i]", ")json" +
              twice + R"json("] },
  "kernels": [{ "name": "bits", "source": "bits.cu", "entry": "bits", "block": [64], "grid": ["N / 64"] }] })json",
          &messages, status);
    return messages;
  };
  EXPECT_THAT(messages_with("twice[i] = 2 * in[i]", 0), testing::HasSubstr("from its definition"));
  EXPECT_THAT(messages_with("twice[i] = 3 * in[i]", 3),
              testing::HasSubstr("but `twice[i] = 3 * in[i]` gives"));
}

TEST(DerivedOnCpu, TakesTheDefinitionWhereDoublesDoNotFitTheDevice) {
  const auto messages_with = [](const std::string& definition, int status) {
    std::string messages;
    const std::string space = R"json({
  "name": "large", "problems": [{ "ROWS": 64, "N": 256, "T": "float" }],
  "arguments": [
    { "name": "out", "type": "T", "shape": ["ROWS"], "role": "output" },
    { "name": "in", "type": "T", "shape": ["ROWS", "N"], "role": "input", "init": "uniform(-1, 1)" },
    { "name": "n", "type": "int", "value": "N" }],
  "verify": { "reference": "naive", "derived": true)json" +
                              definition + R"json( },
  "kernels": [{ "name": "naive", "source": "sums.cu", "entry": "naive<T>", "block": [32],
    "grid": ["ROWS"], "dynamic_shared_bytes": 131072 }] })json";
    tuned("cpu", space, &messages, status);
    return messages;
  };
  const std::string why =
      "as the reference kernel naive on N=256,ROWS=64,T=float cannot be run in double precision: "
      "262144 bytes of shared memory per block";
  EXPECT_THAT(messages_with("", 3), testing::HasSubstr("no tolerance can be derived, " + why));
  EXPECT_THAT(
      messages_with(R"json(, "definition": "out[i] = sum(k < N, in[i, k])")json", 0),
      testing::AllOf(testing::HasSubstr("tolerances are derived from the definition, " + why),
                     testing::HasSubstr("from its definition by")));
}

}  // namespace
}  // namespace smemtune::cli
