#include "db/export_formats.h"
#include "db/planted_results_test_support.h"
#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace smemtune::db {
namespace {

using testing::HasSubstr;
using testing::Not;

StoredResult stored(std::int64_t n, const Configuration& configuration,
                    const std::string& device = "NVIDIA H200") {
  StoredResult result;
  result.space = "gemm";
  result.device = planted_device(device);
  result.result = planted(configuration, 2.0, n);
  return result;
}

std::string refusal(std::string (*write)(const std::vector<StoredResult>&),
                    const std::vector<StoredResult>& results) {
  try {
    return "not refused: " + write(results);
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(ExportVllm, HasTheSizeThatDiffersAsItsKeyInTheOrderOfNumbers) {
  const std::vector<StoredResult> results = {
      stored(1024, {{"BLOCK", std::int64_t{64}}, {"ORDER", "row \"major\"\n"}}),
      stored(16, {{"BLOCK", std::int64_t{8}}}), stored(256, {{"BLOCK", std::int64_t{32}}})};
  EXPECT_EQ(export_vllm(results), R"({
    "16": {
        "BLOCK": 8
    },
    "256": {
        "BLOCK": 32
    },
    "1024": {
        "BLOCK": 64,
        "ORDER": "row \"major\"\n"
    }
}
)");
}

TEST(ExportVllm, NamesAtMostTwentyOfWhatItRefuses) {
  std::vector<StoredResult> results;
  for (int i = 0; i < 25; ++i) {
    results.push_back(stored(16 + i, {{"BLOCK", std::int64_t{8}}}));
    results.back().result.kernel = "kernel_" + std::to_string(i);
  }
  const std::string refused = refusal(export_vllm, results);
  EXPECT_EQ(std::ranges::count(refused, '\n'), 21);
  EXPECT_THAT(refused, testing::EndsWith("\n  and 5 more"));
}

TEST(ExportVllm, TakesOfASingleProblemItsOnlySizeOrM) {
  StoredResult one = stored(16, {{"BLOCK", std::int64_t{8}}});
  EXPECT_THAT(export_vllm({one}), HasSubstr("\"16\": {"));
  one.result.problem = {{"K", std::int64_t{4}}, {"M", std::int64_t{5}}, {"N", std::int64_t{6}}};
  EXPECT_THAT(export_vllm({one}), HasSubstr("\"5\": {"));
  one.result.problem.erase("M");
  EXPECT_THAT(refusal(export_vllm, {one}), HasSubstr("might be any of K, N:"));
}

TEST(ExportVllm, RefusesWhatOneKeyDoesNotTell) {
  StoredResult other = stored(32, {});
  other.result.problem["T"] = "double";
  EXPECT_THAT(refusal(export_vllm, {stored(16, {}), other}), HasSubstr("might be any of N, T:"));
  other.result.problem["N"] = std::int64_t{16};
  EXPECT_THAT(refusal(export_vllm, {stored(16, {}), other}), HasSubstr("T is none"));
  EXPECT_THAT(refusal(export_vllm, {stored(16, {}), stored(8, {}), stored(8, {}, "NVIDIA H100")}),
              HasSubstr("several have N=8"));
  other = stored(16, {});
  other.result.kernel = "another";
  EXPECT_THAT(refusal(export_vllm, {stored(8, {}), other}), HasSubstr("2 kernels match"));
}

TEST(ExportCub, ChainsAPolicyForEachComputeCapability) {
  StoredResult older = stored(16, {{"THREADS", std::int64_t{128}}, {"T", "unsigned char"}}, "A100");
  older.device.compute_major = 8;
  const StoredResult newer = stored(
      16,
      {{"THREADS", std::int64_t{1} << 40}, {"LOAD", "cub::BLOCK_LOAD_DIRECT"}, {"VECTOR", "true"}});
  const std::string text = export_cub({newer, older});
  EXPECT_THAT(text, HasSubstr("struct Policy800 : cub::ChainedPolicy<800, Policy800, Policy800> {\n"
                              "    using T = unsigned char;\n"
                              "    static constexpr int THREADS = 128;\n"));
  EXPECT_THAT(text, HasSubstr("struct Policy900 : cub::ChainedPolicy<900, Policy900, Policy800> {\n"
                              "    static constexpr auto LOAD = cub::BLOCK_LOAD_DIRECT;\n"
                              "    static constexpr long long THREADS = 1099511627776;\n"
                              "    static constexpr auto VECTOR = true;\n"));
  EXPECT_THAT(text, HasSubstr("using MaxPolicy = Policy900;"));
  EXPECT_THAT(text, HasSubstr("namespace smemtune_policies {\nnamespace gemm {\n\nstruct tiled {"));
}

TEST(ExportCub, RefusesWhatAChainDoesNotTell) {
  EXPECT_THAT(refusal(export_cub, {stored(16, {}), stored(8, {}, "NVIDIA H100")}),
              HasSubstr("900 has several"));
  StoredResult older = stored(8, {});
  older.device.compute_major = 8;
  EXPECT_THAT(refusal(export_cub, {stored(16, {}), older}), HasSubstr("of one problem"));
  StoredResult host = stored(8, {});
  host.device.kind = DeviceKind::cpu;
  EXPECT_THAT(refusal(export_cub, {host}), HasSubstr("for GPUs"));
}

TEST(ExportCub, StoredTextNeverBecomesCode) {
  for (const char* word : {"", "1", "a\nb", "f()", "a;b", "x\\", "\"s\"", "a/*", "#"}) {
    EXPECT_THAT(refusal(export_cub, {stored(8, {{"T", word}})}), HasSubstr("the parameter T is"));
  }
  EXPECT_THAT(refusal(export_cub, {stored(8, {{"a; int b", std::int64_t{1}}})}),
              HasSubstr("cannot be a name"));
  StoredResult named = stored(8, {});
  named.result.kernel = "k { }; struct evil";
  EXPECT_THAT(refusal(export_cub, {named}), HasSubstr("the kernel"));
  named = stored(8, {});
  named.device.name = "evil\n#define EVIL\\\n";
  const std::string text = export_cub({named});
  EXPECT_THAT(text, Not(HasSubstr("#define EVIL")));
  EXPECT_THAT(text, Not(HasSubstr("\\")));
}

}  // namespace
}  // namespace smemtune::db
