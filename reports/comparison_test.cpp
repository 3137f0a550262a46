#include "reports/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smemtune {
namespace {

using db::StoredResult;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Device device(const std::string& name, DeviceKind kind = DeviceKind::gpu) {
  Device device;
  device.name = name;
  device.kind = kind;
  return device;
}

StoredResult measured(const Device& on, std::int64_t tile, double ms, std::int64_t n = 4096) {
  StoredResult stored;
  stored.space = "gemm";
  stored.kernel_hash = "hash";
  stored.device = on;
  Result& result = stored.result;
  result.kernel = "tiled";
  result.problem = {{"N", n}, {"T", "float"}};
  result.configuration = {{"TILE", tile}};
  result.stage = Stage::final;
  result.measurement.median_ms = ms;
  result.metrics = {{"bytes", 2e9}, {"flops", 1e12}};
  return stored;
}

StoredResult failed(const Device& on, std::int64_t tile, const std::string& reason) {
  StoredResult stored = measured(on, tile, 0);
  stored.result.status = Status::constraints;
  stored.result.reason = reason;
  stored.result.stage = Stage::none;
  return stored;
}

const Device kH200 = device("NVIDIA H200");
const Device kA100 = device("NVIDIA A100");
const Device kCpu = device("Some CPU", DeviceKind::cpu);

TEST(ComparisonText, HoldsDevicesSideBySide) {
  StoredResult long_key = measured(kA100, 64, 5, 512);
  long_key.result.configuration = {{"ITEMS_PER_THREAD", std::int64_t{8}},
                                   {"THREADS_X", std::int64_t{32}},
                                   {"THREADS_Y", std::int64_t{8}}};
  long_key.stale = true;
  const std::vector<StoredResult> best = {measured(kCpu, 16, 800), measured(kH200, 128, 2),
                                          measured(kA100, 64, 3), long_key};
  const std::vector<StoredResult> all = {measured(kA100, 128, 4), measured(kA100, 128, 3.3),
                                         failed(kH200, 64, "shared_bytes"), measured(kH200, 16, 9)};
  EXPECT_EQ(comparison_text(best, all),
            R"(gemm
  problem         NVIDIA A100                       NVIDIA H200             Some CPU (CPU)
  N=4096,T=float  3.000 ms (1.50x)                  2.000 ms (1.00x)        800.0 ms
                  333 TFLOP/s, 667 GB/s             500 TFLOP/s, 1.00 TB/s  1.25 TFLOP/s, 2.50 GB/s
                  tiled                             tiled                   tiled
                  TILE=64                           TILE=128                TILE=16

  N=512,T=float   5.000 ms                          -                       -
                  200 TFLOP/s, 400 GB/s
                  tiled (stale)
                  ITEMS_PER_THREAD=8,THREADS_X=32,
                  THREADS_Y=8

(1.50x): time against that of the fastest GPU

A GPU that runs the best configuration of another
  space  problem         on           best of      kernel  configuration      time  loss
  gemm   N=4096,T=float  NVIDIA A100  NVIDIA H200  tiled   TILE=128       3.300 ms  +10.0 %
  gemm   N=4096,T=float  NVIDIA H200  NVIDIA A100  tiled   TILE=64               -  does not run: constraints (shared_bytes)
)");
}

TEST(ComparisonText, HasNoRatioToOrFromACpu) {
  const std::string text = comparison_text({measured(kCpu, 16, 800), measured(kH200, 128, 2)},
                                           {measured(kH200, 16, 3), measured(kCpu, 128, 900)});
  EXPECT_THAT(text, HasSubstr("Some CPU (CPU)"));
  EXPECT_THAT(text, Not(HasSubstr("x)")));
  EXPECT_THAT(text, Not(HasSubstr("best configuration of another")));
}

TEST(ComparisonText, SaysWhatWasNotMeasured) {
  const std::vector<StoredResult> best = {measured(kH200, 128, 2), measured(kA100, 64, 3)};
  EXPECT_THAT(comparison_text(best, best), HasSubstr("2 of 2 such pairs: not measured there\n"));
}

TEST(ComparisonText, TakesOtherVersionsOfAKernelForOtherKernels) {
  const std::vector<StoredResult> best = {measured(kH200, 128, 2), measured(kA100, 64, 3)};
  StoredResult edited = measured(kA100, 128, 3.3);
  edited.kernel_hash = "another hash";
  EXPECT_THAT(comparison_text(best, {edited}), HasSubstr("2 of 2 such pairs"));
}

TEST(ComparisonText, TellsModelsOfOneNameApart) {
  Device small = kH200;
  small.sm_count = 16;
  const std::string text = comparison_text({measured(kH200, 128, 2), measured(small, 64, 9)}, {});
  EXPECT_THAT(text, HasSubstr("NVIDIA H200 #2"));
}

TEST(ComparisonText, ShowsNoControlCharacters) {
  StoredResult stored = measured(device("GPU\x1b[2J"), 16, 1);
  stored.space = "ge\x1bmm\n";
  stored.result.kernel = "til\red";
  for (const char c : comparison_text({stored}, {})) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  }
}

TEST(ComparisonText, IsEmptyWithoutResults) { EXPECT_EQ(comparison_text({}, {}), ""); }

TEST(ComparisonJson, HasTheSameFigures) {
  const std::vector<StoredResult> best = {measured(kCpu, 16, 800), measured(kH200, 128, 2),
                                          measured(kA100, 64, 3)};
  const std::vector<StoredResult> all = {measured(kA100, 128, 3.3),
                                         failed(kH200, 64, "shared_bytes")};
  const json document = json::parse(comparison_json(best, all));
  EXPECT_EQ(document.at("format"), "smemtune-comparison");
  EXPECT_EQ(document.at("version"), 2);
  ASSERT_EQ(document.at("devices").size(), 3u);
  ASSERT_EQ(document.at("problems").size(), 1u);
  const json& problem = document.at("problems").at(0);
  EXPECT_EQ(problem.at("space"), "gemm");
  EXPECT_EQ(problem.at("problem"), json({{"N", 4096}, {"T", "float"}}));
  const json& entries = problem.at("best");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries.at(0).at("column"), "NVIDIA A100");
  EXPECT_EQ(entries.at(0).at("device").at("name"), "NVIDIA A100");
  EXPECT_EQ(entries.at(0).at("time_to_fastest_gpu"), 1.5);
  EXPECT_EQ(entries.at(0).at("configuration"), json({{"TILE", 64}}));
  EXPECT_EQ(entries.at(1).at("time").at("median_ms"), 2.0);
  EXPECT_NEAR(entries.at(1).at("throughput").at("gflop_per_s").get<double>(), 500000, 1e-3);
  EXPECT_EQ(entries.at(2).at("device").at("kind"), "cpu");
  EXPECT_FALSE(entries.at(2).contains("time_to_fastest_gpu"));

  const json& losses = document.at("losses");
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses.at(0).at("on"), "NVIDIA A100");
  EXPECT_EQ(losses.at(0).at("best_of"), "NVIDIA H200");
  EXPECT_NEAR(losses.at(0).at("loss_percent").get<double>(), 10, 1e-9);
  EXPECT_EQ(losses.at(1).at("on"), "NVIDIA H200");
  EXPECT_EQ(losses.at(1).at("result").at("reason"), "shared_bytes");
  EXPECT_FALSE(losses.at(1).contains("loss_percent"));
}

}  // namespace
}  // namespace smemtune
