// Tests `smemtune occupancy` and other answers about GPUs that are not in this machine, as their
// users see them: runs the built executable.

#include "db/result_store.h"
#include "tuner/core/in_shell_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace smemtune {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Occupancies : public testing::Test {
 protected:
  /// Runs `words` in a shell, with the database and caches in the test's own folder.
  Ended run(const std::string& words) {
    return in_shell("SMEMTUNE_DB='" + database().string() + "' XDG_CACHE_HOME='" +
                    folder_.string() + "' '" SMEMTUNE_EXECUTABLE "' " + words);
  }

  Json answer(const std::string& words) {
    const Ended ended = run("occupancy --json " + words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return Json::parse(ended.out, nullptr, false);
  }

  std::filesystem::path database() const { return folder_ / "results.sqlite"; }

  static std::string config(const std::string& name) {
    return std::string(SMEMTUNE_SOURCE_DIR) + "/configs/" + name;
  }

  TemporaryFolder own_folder_;
  std::filesystem::path folder_ = own_folder_.path();
};

// The exercise of the fifth article: 16 x 16 threads at 100 per cent on 1.3 and 2.0, 16 KB in one
// block, and 32 registers per thread.
TEST_F(Occupancies, AnswerTheExerciseOfTheArticles) {
  const Json tesla = answer("--threads 16x16 --target 100 --device 1.3")["allowance"];
  EXPECT_EQ(tesla["most_shared_bytes_per_block"], 4096);
  EXPECT_EQ(tesla["most_registers_per_thread"], 16);
  EXPECT_EQ(tesla["blocks_per_sm"], 4);

  const Json fermi = answer("--threads 16x16 --target 100 --device 2.0")["allowance"];
  EXPECT_EQ(fermi["most_shared_bytes_per_block"], 8192);
  EXPECT_EQ(fermi["most_registers_per_thread"], 20);
  EXPECT_EQ(fermi["by_plain_division"]["registers_per_thread"], 21);
  EXPECT_EQ(fermi["blocks_per_sm"], 6);
  const Ended said = run("occupancy --threads 16x16 --target 100 --device 2.0");
  EXPECT_THAT(said.out, HasSubstr("8,192 bytes per block at most"));
  EXPECT_THAT(said.out, HasSubstr("20 per thread at most (plain division: 32,768 / 1,536 = 21;"));

  const Json whole = answer("--threads 16x16 --shared 16384 --device 1.3");
  EXPECT_EQ(whole["occupancy"]["blocks_per_sm"], 1);
  EXPECT_EQ(whole["occupancy"]["percent"], 25.0);
  EXPECT_EQ(whole["occupancy"]["limiters"], Json::array({"shared"}));

  const Json registers = answer("--threads 256 --registers 32 --device 1.3");
  EXPECT_EQ(registers["occupancy"]["blocks_per_sm"], 2);
  EXPECT_EQ(registers["occupancy"]["limiters"], Json::array({"registers"}));
}

TEST_F(Occupancies, NameEveryLimitAndTheNextStep) {
  const Json json = answer("--threads 256 --registers 40 --shared 8192 --device h200");
  EXPECT_EQ(json["format"], "smemtune-occupancy");
  EXPECT_EQ(json["device"]["name"], "NVIDIA H200");
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["device"]["compute_capability"], "9.0");
  EXPECT_EQ(json["occupancy"], Json({{"percent", 75.0},
                                     {"blocks_per_sm", 6},
                                     {"warps_per_sm", 48},
                                     {"blocks_by_threads", 8},
                                     {"blocks_by_registers", 6},
                                     {"blocks_by_shared", 25},
                                     {"blocks_by_limit", 32},
                                     {"limiters", {"registers"}}}));
  EXPECT_EQ(json["next"][0]["registers_per_thread"], 32);
  EXPECT_EQ(json["next"][0]["occupancy"]["percent"], 100.0);
  const Ended text = run("occupancy --threads 256 --registers 40 --shared 8192 --device h200");
  EXPECT_THAT(text.out, HasSubstr("75 % occupancy: 6 blocks, 48 of 64 warps"));
  EXPECT_THAT(text.out, HasSubstr("100 % with at most 32 registers per thread instead of 40"));
}

TEST_F(Occupancies, SayWhatIsWastedAndOutOfReach) {
  EXPECT_THAT(run("occupancy --threads 250 --device h200").out,
              HasSubstr("wasted: 6 of 256 threads"));
  const Json reach = answer("--threads 1024 --target 100 --device l4")["allowance"];
  EXPECT_EQ(reach["reachable"], false);
  EXPECT_NEAR(reach["most_percent"], 66.67, 0.01);
  EXPECT_THAT(reach["threads_that_reach_it"], testing::Contains(Json(768)));
  EXPECT_THAT(run("occupancy --threads 64 --shared 300000 --device h200").out,
              HasSubstr("does not fit: not even one block, limited by shared"));
}

TEST_F(Occupancies, RefuseWhatNoBlockIs) {
  for (const char* words : {"",
                            "--threads 0 --device h200",
                            "--threads 1025 --device h200",
                            "--threads 33x32 --device h200",
                            "--threads 1x1x65 --device h200",
                            "--threads 513 --device 1.3",
                            "--threads 16x --device h200",
                            "--threads 99999999999999999999 --device h200",
                            "--threads 1x1x1x1 --device h200",
                            "--threads 32 --registers 256 --device h200",
                            "--threads 32 --registers 0 --device h200",
                            "--threads 32 --shared -1 --device h200",
                            "--threads 32 --target 0 --device h200",
                            "--threads 32 --target 101 --device h200",
                            "--threads 32 --device 9.9",
                            "--threads 32 --device rtx",
                            "--threads 32 --device cpu",
                            "--threads 32 --kernel tiled",
                            "--threads 32 --space x.json",
                            "--space no/such.json --device h200"}) {
    const Ended ended = run("occupancy " + std::string(words));
    EXPECT_EQ(ended.status, 2) << words << ended.err;
    EXPECT_EQ(ended.out, "") << words;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << words << ended.err;
  }
  EXPECT_THAT(run("occupancy --threads 1025 --device h200").err,
              HasSubstr("--threads: '1025' is too large: compute capability 9.0 allows 1024"));
}

TEST_F(Occupancies, OfARealKernelAreThoseOfItsCompiledCode) {
  const std::string words =
      "--space " + config("gemm.json") + " --device h200 --kernel tiled --config TILE=32";
  if (!SMEMTUNE_CUDA_BUILD) {
    EXPECT_EQ(run("occupancy " + words).status, 5);
    GTEST_SKIP() << "built without the CUDA back end";
  }
  const Json json = answer(words)["kernels"];
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["configuration"]["TILE"], 32);
  const Json launch = json[0]["launches"][0];
  EXPECT_GT(launch["registers_per_thread"], 0);
  EXPECT_GT(launch["shared_bytes_per_block"], 0);
  const Json same = answer("--device h200 --threads " + launch["threads_per_block"].dump() +
                           " --registers " + launch["registers_per_thread"].dump() + " --shared " +
                           launch["shared_bytes_per_block"].dump());
  EXPECT_EQ(same["occupancy"], launch["occupancy"]);

  const Ended violated = run("occupancy --space " + config("gemm.json") +
                             " --device h200 --kernel tiled --config TILE=32,ROWS=5");
  EXPECT_EQ(violated.status, 2);
  EXPECT_THAT(violated.err, HasSubstr("the constraint 'TILE % ROWS == 0' does not hold"));
  const Ended unknown = run("occupancy --space " + config("gemm.json") +
                            " --device h200 --kernel tiled --config TIL=32");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'TILE'?"));
}

/// Returns a run on an H100 with its driver's name and a multiprocessor limit that no published GPU
/// has.
Run run_on_h100() {
  Run run;
  run.id = "1";
  run.space = "mine";
  run.device.name = "NVIDIA H100 80GB HBM3";
  run.device.uuid = "GPU-1";
  run.device.architecture = "sm_90";
  run.device.compute_major = 9;
  run.device.sm_count = 132;
  run.device.max_threads_per_block = 1024;
  run.device.max_threads_per_sm = 2048;
  run.device.max_blocks_per_sm = 31;
  run.device.registers_per_block = run.device.registers_per_sm = 65536;
  run.device.shared_bytes_per_block = 49152;
  run.device.max_shared_bytes_per_block = 232448;
  run.device.shared_bytes_per_sm = 233472;
  run.device.reserved_shared_bytes_per_block = 1024;
  return run;
}

TEST_F(Occupancies, KnowGpusThatOnlyTheDatabaseHasMet) {
  const std::string words = "--threads 32 --device 'H100 80GB HBM3'";
  EXPECT_EQ(run("occupancy " + words).status, 2);
  db::ResultStore(database()).begin_run(run_on_h100());
  const Json json = answer(words);
  EXPECT_EQ(json["device"]["name"], "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(json["occupancy"]["blocks_by_limit"], 31);
  const Ended known = run("devices --known --json");
  ASSERT_EQ(known.status, 0) << known.err;
  const Json all = Json::parse(known.out);
  std::size_t met = 0;
  for (const Json& device : all["devices"]) {
    if (device["known_from"] != "database") continue;
    ++met;
    EXPECT_EQ(device["name"], "NVIDIA H100 80GB HBM3");
  }
  EXPECT_EQ(met, 1u);
  EXPECT_THAT(run("devices --known").out, HasSubstr("a stored run"));
}

// 110,000 bytes of shared memory fit a block on the H200, whose limits the CPU device borrows, but
// not on an L4 (101,376) or a V100 (98,304), for which CUDA 13 can no longer compile.
TEST_F(Occupancies, OfARunsWinnersOnOtherGpus) {
  std::ofstream(folder_ / "mine.cu") << R"(
template <int THREADS, int BYTES>
__global__ void twice(const float* in, float* out, int n) {
  extern __shared__ float tile[];
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) tile[threadIdx.x] = in[i];
  if (i < n) out[i] = 2.0f * tile[threadIdx.x];
}
)";
  std::ofstream(folder_ / "mine.json") << R"json({
  "name": "mine", "description": "doubles each element", "problems": [{ "N": 1000 }],
  "arguments": [
    { "name": "in", "type": "float", "shape": ["N"], "role": "input", "init": "uniform(-1, 1)" },
    { "name": "out", "type": "float", "shape": ["N"], "role": "output" },
    { "name": "n", "type": "int", "value": "N" }],
  "verify": { "reference": "small", "definition": "out[i] = in[i] + in[i]" },
  "kernels": [
    { "name": "small", "source": "mine.cu", "entry": "twice<THREADS, BYTES>",
      "parameters": { "THREADS": [64], "BYTES": [1024] },
      "block": ["THREADS"], "grid": ["ceil_div(N, THREADS)"], "dynamic_shared_bytes": "BYTES" },
    { "name": "large", "source": "mine.cu", "entry": "twice<THREADS, BYTES>",
      "parameters": { "THREADS": [64], "BYTES": [110000] },
      "block": ["THREADS"], "grid": ["ceil_div(N, THREADS)"], "dynamic_shared_bytes": "BYTES" }]
})json";
  const std::string tune = "--space '" + (folder_ / "mine.json").string() + "' --device cpu";
  EXPECT_EQ(run(tune + " --also-fits l4,9.9").status, 2);
  EXPECT_EQ(run(tune + " --dry-run --also-fits l4").status, 2);
  if (!SMEMTUNE_CUDA_BUILD) {
    EXPECT_EQ(run(tune + " --also-fits l4").status, 5);
    GTEST_SKIP() << "built without the CUDA back end";
  }
  const Ended dry = run("--space '" + (folder_ / "mine.json").string() + "' --dry-run --device l4");
  EXPECT_THAT(dry.out, HasSubstr("1 of 2 configurations fit NVIDIA L4"));
  EXPECT_THAT(dry.out, HasSubstr("1 constraints/shared_bytes"));
  const Ended tuned = run(tune + " --json --also-fits l4,v100,h100");
  ASSERT_EQ(tuned.status, 0) << tuned.err;
  const Json fits = Json::parse(tuned.out)["also_fits"];
  ASSERT_EQ(fits.size(), 3u);
  for (const Json& device : fits) {
    ASSERT_EQ(device["winners"].size(), 2u);
    for (const Json& winner : device["winners"]) {
      const bool expected =
          winner["kernel"] == "small" || device["device"]["name"] == "NVIDIA H100 SXM";
      EXPECT_EQ(winner["fits"], expected) << winner.dump(2);
      EXPECT_EQ(winner.value("reason", ""), expected ? "" : "shared_bytes");
    }
  }
  EXPECT_EQ(fits[0]["compiled_for_it"], true);
  EXPECT_GT(fits[2]["winners"][0]["launches"][0]["resources"]["registers_per_thread"], 0);
  setenv("COLUMNS", "1000", 1);  // Sentences in one line.
  const Ended said = run(tune + " --also-fits l4");
  EXPECT_THAT(said.out, HasSubstr("also on NVIDIA L4 (sm_89): 1 of 2 winners fit"));
  EXPECT_THAT(said.out, HasSubstr("does not fit (constraints/shared_bytes): 110000 bytes"));
}

}  // namespace
}  // namespace smemtune
