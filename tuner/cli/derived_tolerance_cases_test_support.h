#pragma once

#include "tuner/core/in_shell_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>

// Tests for any device: sums of 4096 terms of either sign, compared with a run of their reference
// in double precision.

namespace smemtune::cli {

// The reference adds one term after the other; tree() adds them in another order, and leaves out
// the last one if LOSE is 1. One variable is called half.
inline constexpr const char* kSums = R"cuda(
#include <cuda_fp16.h>
#include <cuda_bf16.h>

template <typename T>
__global__ void naive(T* out, const T* in, int n) {
  if (threadIdx.x != 0) return;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += static_cast<float>(in[blockIdx.x * n + i]);
  out[blockIdx.x] = static_cast<T>(sum);
}

template <typename T, int THREADS, int LOSE>
__global__ void tree(T* out, const T* in, int n) {
  __shared__ float part[THREADS];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n - LOSE; i += THREADS) {
    sum += static_cast<float>(in[blockIdx.x * n + i]);
  }
  part[threadIdx.x] = sum;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<T>(part[0]);
}
)cuda";

// Two launches over scratch and constant memory.
inline constexpr const char* kTwo = R"cuda(
template <typename T> __constant__ T weights[4];

template <typename T>
__global__ void weigh(T* tmp, const T* io) {
  extern __shared__ unsigned char bytes[];
  T* part = reinterpret_cast<T*>(bytes);
  const int i = blockIdx.x * 64 + threadIdx.x;
  part[threadIdx.x] = io[i] * weights<T>[i % 4];
  __syncthreads();
  tmp[i] = part[63 - threadIdx.x];
}

template <typename T>
__global__ void add(T* io, const T* tmp, float scale) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  io[i] += scale * tmp[i] + sinf(tmp[i]);
}
)cuda";

// This kernel cannot be run in double precision.
inline constexpr const char* kBits = R"cuda(
__global__ void bits(float* same, double* twice, const float* in) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  same[i] = __int_as_float(__float_as_int(in[i]));
  twice[i] = 2.0 * in[i];
}
)cuda";

inline std::string sums_space(const std::string& type, const std::string& verify) {
  const std::string row = R"({ "ROWS": 64, "N": 4096, "T": ")" + type + R"(" })";
  const std::string single = R"({ "ROWS": 1, "N": 4096, "T": ")" + type + R"(" })";
  return R"json({ "name": "sums", "problems": [)json" + row + R"json(],
  "arguments": [
    { "name": "out", "type": "T", "shape": ["ROWS"], "role": "output" },
    { "name": "in", "type": "T", "shape": ["ROWS", "N"], "role": "input", "init": "uniform(-1, 1)" },
    { "name": "n", "type": "int", "value": "N" }],
  "verify": { "reference": "naive", "also": [)json" +
         single + "], " + verify + R"json( },
  "kernels": [
    { "name": "naive", "source": "sums.cu", "entry": "naive<T>", "block": [32], "grid": ["ROWS"] },
    { "name": "tree", "source": "sums.cu", "entry": "tree<T, THREADS, LOSE>",
      "parameters": { "THREADS": [32, 256], "LOSE": [0, 1] },
      "block": ["THREADS"], "grid": ["ROWS"] }] })json";
}

/// Returns the program's path, which differs from its build location if the test is run on another
/// machine.
inline std::string tuned_program() {
  const char* moved = std::getenv("SMEMTUNE_EXECUTABLE");
  return moved != nullptr ? moved : SMEMTUNE_EXECUTABLE;
}

/// Tunes a space of the sources above and returns the run's only problem as JSON. `messages`
/// receives what the run prints on stderr.
inline nlohmann::json tuned(const std::string& device, const std::string& space,
                            std::string* messages, int expected_status = 0) {
  const TemporaryFolder folder;
  folder.write("sums.cu", kSums);
  folder.write("two.cu", kTwo);
  folder.write("bits.cu", kBits);
  folder.write("sums.json", space);
  const std::string in = folder.path().string() + "/";
  // Without early loss: on a busy machine a first launch may seem too slow to be compared.
  const Ended ended =
      in_shell("SMEMTUNE_CACHE=off " + tuned_program() + " --space " + in + "sums.json --db " + in +
               "db.sqlite --device " + device + " --no-early-loss --json");
  *messages = ended.err;
  EXPECT_EQ(ended.status, expected_status) << ended.err;
  const nlohmann::json run = nlohmann::json::parse(ended.out, nullptr, false);
  return run.is_object() ? run["problems"].at(0) : nlohmann::json();
}

/// Expects that a lost term is detected, and that another order of summation passes.
inline void expect_lost_terms_found(const std::string& device, const std::string& type,
                                    const std::string& compared_with,
                                    const std::string& verify = R"("derived": true)") {
  std::string messages;
  const nlohmann::json problem = tuned(device, sums_space(type, verify), &messages);
  ASSERT_TRUE(problem.is_object()) << messages;
  int right = 0;
  int wrong = 0;
  for (const nlohmann::json& result : problem["results"]) {
    if (result["kernel"] != "tree") continue;
    const bool loses = result["configuration"]["LOSE"] == 1;
    EXPECT_EQ(result["status"], loses ? "correctness" : "correct") << result;
    ++(loses ? wrong : right);
  }
  EXPECT_EQ(right, 2);
  EXPECT_EQ(wrong, 2);
  const nlohmann::json& tolerances = problem["derived_tolerances"];
  ASSERT_EQ(tolerances.size(), 2u) << messages;
  for (const nlohmann::json& tolerance : tolerances) {
    EXPECT_EQ(tolerance["compared_with"], compared_with);
    EXPECT_GT(tolerance["reference_error"], 0);
    // The mean absolute value of a term is 0.5.
    EXPECT_LT(tolerance["absolute"], 0.1) << tolerance;
  }
  EXPECT_EQ(tolerances[0]["data_sets"], 2);
  EXPECT_EQ(tolerances[1]["data_sets"], 8);  // Each has one element.
  EXPECT_THAT(messages, testing::HasSubstr("tolerance of out on N=4096,ROWS=64,T=" + type));
}

}  // namespace smemtune::cli
