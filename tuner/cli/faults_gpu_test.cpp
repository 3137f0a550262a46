// Kernels with faults on a real GPU that a tuner must survive (reliability: faults 1 to 10). The
// built program tunes a space in which every configuration but one has a different fault; each must
// be recorded with the right status, and the run must go on and find the correct winner.

#include "tuner/backend/cheats_test_support.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Json = nlohmann::json;

// FAULT is one of these.
constexpr const char* kKernel = R"cuda(
enum Fault {
  none, far_write, misaligned, trap, device_assert, breakpoint, odd_barrier, far_shared,
  wrong_space, recursion, endless, slow, one_too_many, nothing, half, not_a_number, infinite,
  twice_as_large, spoils_input, wrong_when_odd, many_threads
};

__device__ void wait_ns(long long ns) {
  unsigned long long now, start;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (ns < 0 || now - start < static_cast<unsigned long long>(ns));
}

// As deep as the stack goes.
__device__ __noinline__ int sum_from(int n) {
  volatile int frame[64];
  frame[n & 63] = n;
  return n < 0 ? 0 : sum_from(n + 1) + frame[(n + 1) & 63];
}

template <Fault FAULT, int THREADS>
__global__ void scale(float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  const bool is_last = i == n - 1;
  if (FAULT == far_write && is_last) out[1ll << 40] = 1;
  if (FAULT == misaligned && is_last) {
    *reinterpret_cast<volatile double*>(reinterpret_cast<char*>(out) + 4) = 1;
  }
  if (FAULT == trap && is_last) __trap();
  if (FAULT == device_assert) assert(!is_last);
  if (FAULT == breakpoint && is_last) asm volatile("brkpt;");
  if (FAULT == odd_barrier) {  // For no whole number of warps: an illegal instruction.
    asm volatile("bar.sync 1, %0;" ::"r"(n < 0 ? 32 : 33) : "memory");
  }
  if (FAULT == far_shared && is_last) {  // Beyond what instructions for shared memory can reach.
    extern __shared__ int shared[];
    shared[(1 << 26) + n] = 1;
  }
  if (FAULT == wrong_space && is_last) {  // The address of a local variable, called a global one.
    int own[4] = {i, i, i, i};
    asm volatile("red.global.add.u32 [%0], 1;" ::"l"(&own[n & 3]) : "memory");
    if (own[0] < 0) out[0] = 1;
  }
  if (FAULT == recursion && is_last && sum_from(0) == 7) out[0] = 1;
  if (FAULT == endless && is_last) wait_ns(-1);
  if (FAULT == slow && is_last) wait_ns(300 * 1000 * 1000);
  if (FAULT == one_too_many && is_last) out[n] = 0;
  if (FAULT == spoils_input && is_last) in[0] = 100;
  if (i >= n || FAULT == nothing || (FAULT == half && i % 2 == 1)) return;
  float x = 2 * in[i];
  if (FAULT == not_a_number && is_last) x = nanf("");
  if (FAULT == infinite && is_last) x = 1 / (x - x);
  if (FAULT == twice_as_large && is_last) x = 2 * x - 4;
  if (FAULT == wrong_when_odd && n % 2 == 1 && is_last) x += 1;
  out[i] = x;
}
)cuda";

constexpr const char* kSpace = R"json({
  "name": "faults",
  "problems": [{ "N": 1000000 }],
  "arguments": [
    { "name": "in", "type": "float", "shape": ["N"], "role": "input", "init": "uniform(-1, 1)" },
    { "name": "out", "type": "float", "shape": ["N"], "role": "output" },
    { "name": "n", "type": "int", "value": "N" }],
  "metrics": { "bytes": "2 * N * sizeof(float)" },
  "verify": { "reference": "scale", "definition": "out[i] = 2 * in[i]", "also": [{ "N": 1001 }] },
  "kernels": [{
    "name": "scale", "source": "faults.cu", "entry": "scale<FAULT, THREADS>",
    "parameters": {
      "FAULT": ["none", "far_write", "misaligned", "trap", "device_assert", "breakpoint", "odd_barrier",
                "far_shared", "wrong_space", "recursion", "endless", "slow",
                "one_too_many", "nothing", "half", "not_a_number", "infinite", "twice_as_large",
                "spoils_input", "wrong_when_odd", "many_threads"],
      "THREADS": [256, 2048] },
    "constraints": ["(FAULT == many_threads) == (THREADS == 2048)"],
    "default": { "FAULT": "none", "THREADS": 256 },
    "block": ["THREADS"], "grid": ["ceil_div(N, THREADS)"] }]
})json";

class GpuFaults : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "faults.cu") << kKernel;
    std::ofstream(folder_ / "faults.json") << kSpace;
    setenv("SMEMTUNE_DB", (folder_ / "results.sqlite").c_str(), 1);
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    // If the test runs on another machine, the program is not where it was built.
    const char* moved = std::getenv("SMEMTUNE_EXECUTABLE");
    executable_ = moved != nullptr ? moved : SMEMTUNE_EXECUTABLE;
    const int status = run("devices --json");
    if (status != 0 || Json::parse(output("out"))["devices"].empty()) {
      if (std::getenv("SMEMTUNE_REQUIRE_GPU") != nullptr) FAIL() << "no GPU: " << output("err");
      GTEST_SKIP() << "no GPU here";
    }
  }

  int run(const std::string& words) {
    const std::string command = executable_ + " " + words + " >" + (folder_ / "out").string() +
                                " 2>" + (folder_ / "err").string();
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string output(const std::string& which) const {
    std::ifstream stream(folder_ / which);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string space() const { return (folder_ / "faults.json").string(); }

  /// Returns `status/reason` of each FAULT in the run's space.
  std::map<std::string, std::string> recorded() {
    EXPECT_EQ(run("list --results --json --space faults"), 0) << output("err");
    std::map<std::string, std::string> words;
    const Json document = Json::parse(output("out"));
    for (const Json& result : document["results"]) {
      words[result["configuration"]["FAULT"].get<std::string>()] =
          result["status"].get<std::string>() + "/" + result["reason"].get<std::string>();
    }
    return words;
  }

  smemtune::TemporaryFolder own_folder_;
  std::filesystem::path folder_ = own_folder_.path();
  std::string executable_;
};

TEST_F(GpuFaults, AreRecordedForWhatTheyAreAndTheRunGoesOn) {
  ASSERT_EQ(run("--space " + space() + " --json"), 0) << output("err");
  const Json summary = Json::parse(output("out"));
  const Json& best = summary["problems"][0]["best"];
  EXPECT_EQ(best["configuration"]["FAULT"], "none");
  const std::map<std::string, std::string> expected = {
      {"none", "correct/"},
      {"far_write", "runtime/illegal_address"},
      {"misaligned", "runtime/misaligned_address"},
      {"trap", "runtime/launch_failure"},
      {"device_assert", "runtime/assert"},
      {"breakpoint", "runtime/launch_failure"},
      {"odd_barrier", "runtime/illegal_instruction"},
      {"far_shared", "runtime/illegal_instruction"},
      {"wrong_space", "runtime/invalid_address_space"},
      {"recursion", "runtime/illegal_address"},
      {"endless", "timeout/hang"},
      {"slow", "correct/"},  // Sampled once, then dropped: never the best.
      {"one_too_many", "correctness/overrun"},
      {"nothing", "correctness/unwritten"},
      {"half", "correctness/unwritten"},
      {"not_a_number", "correctness/nan"},
      {"infinite", "correctness/nan"},
      {"twice_as_large", "correctness/mismatch"},
      {"spoils_input", "correctness/input_modified"},
      {"wrong_when_odd", "correctness/mismatch"},
      {"many_threads", "constraints/threads"}};
  EXPECT_EQ(recorded(), expected);
  // A second run measures again only what may have failed by accident.
  ASSERT_EQ(run("--space " + space() + " --json"), 0) << output("err");
  EXPECT_EQ(recorded(), expected);
}

TEST_F(GpuFaults, OfEveryConfigurationAreStatusThree) {
  std::string text = kSpace;
  for (const std::string right :
       {R"("none", )", R"("default": { "FAULT": "none", "THREADS": 256 },)"}) {
    const std::size_t at = text.find(right);
    ASSERT_NE(at, std::string::npos);
    text.erase(at, right.size());
  }
  std::ofstream(folder_ / "faults.json") << text;
  EXPECT_EQ(run("--space " + space()), 3);
  EXPECT_THAT(output("err"), testing::HasSubstr("reference"));
}

std::string space_of_cheats() {
  std::string values = R"("honest")";
  for (const smemtune::Cheat& cheat : smemtune::kCheats) {
    values += std::string(", \"") + cheat.name + "\"";
  }
  return R"json({
  "name": "faults",
  "problems": [{ "N": 4096 }],
  "arguments": [
    { "name": "in", "type": "float", "shape": ["N"], "role": "input", "init": "uniform(1, 2)" },
    { "name": "out", "type": "float", "shape": ["N"], "role": "output" },
    { "name": "io", "type": "float", "shape": ["N"], "role": "inout", "init": "uniform(1, 2)" },
    { "name": "small", "type": "float", "shape": ["N"], "role": "output" },
    { "name": "state", "type": "float", "shape": ["N"], "role": "scratch" },
    { "name": "n", "type": "int", "value": "N" }],
  "verify": { "reference": "cheat",
    "definition": ["out[i] = 2 * in[i]", "io[i] = 2 * io[i]", "small[i] = in[i] / 10000000"] },
  "kernels": [{
    "name": "cheat", "source": "faults.cu", "entry": "cheat<FAULT>",
    "parameters": { "FAULT": [)json" +
         values + R"json(] },
    "default": { "FAULT": "honest" },
    "block": [64], "grid": ["N / 64"] }]
})json";
}

TEST_F(GpuFaults, OfKernelsThatNoticeBeingTimedAreRecordedAndAnHonestOneWins) {
  std::ofstream(folder_ / "faults.cu") << smemtune::cheating_source();
  std::ofstream(folder_ / "faults.json") << space_of_cheats();
  ASSERT_EQ(run("--space " + space() + " --json"), 0) << output("err");
  const Json best = Json::parse(output("out"))["problems"][0]["best"];
  const std::string winner = best["configuration"]["FAULT"].get<std::string>();
  const std::map<std::string, std::string> words = recorded();
  EXPECT_EQ(words.at("honest"), "correct/");
  for (const smemtune::Cheat& cheat : smemtune::kCheats) {
    const bool failed = words.at(cheat.name).starts_with("correctness/");
    // It saves no work, and may lose in the search before a batch's last launch is compared, which
    // alone is wrong; the finals compare that of at least every second batch.
    const bool may_lose_unfound = std::string(cheat.name) == "leaves_work" && !failed;
    if (!may_lose_unfound) {
      EXPECT_EQ(failed, cheat.is_wrong) << cheat.name << " " << words.at(cheat.name);
    }
    EXPECT_FALSE(cheat.is_wrong && winner == cheat.name);
  }
  EXPECT_EQ(run("check --space " + space()), 0) << output("out");
  EXPECT_EQ(run("run --space " + space() + " --config FAULT=counts_launches"), 3) << output("out");
}

}  // namespace
