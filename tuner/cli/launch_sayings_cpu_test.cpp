// Tests what a space file can say about arguments, entries and results, using the built program on
// the CPU device.

#include "tuner/core/in_shell_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smemtune::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSource = R"cuda(
template <int KIND> __global__ void scale(float* o, const float* a, float f, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = (KIND == 1 ? 1 : f) * a[i];
}

template <int KIND> __global__ void add_bias(float* o, const float* a, const float* bias, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = a[i] + (bias ? bias[i] : KIND);
}

template <int KIND> __global__ void add_in(float* y, const float* x, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = y[i] * 3.f + x[i] + KIND;
}

template <int KIND> __global__ void spoil(float* o, float* a, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) { o[i] = 2 * a[i] + KIND; a[i] = 0; }
}

template <int KIND> __global__ void mask(float* o, const float* a, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = i % 3 == 0 ? (KIND == 1 && i == 6 ? 3e38f : -INFINITY) : a[i];
}

template <int KIND> __global__ void root(float* o, const float* a, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = i % 2 == 0 ? (KIND == 1 && i == 8 ? 1 : sqrtf(-1.f)) : a[i];
}

// Writes what is above 0, in another order for each KIND; KIND 2 loses one.
template <int KIND> __global__ void compact(int* o, const int* a, int n) {
  int count = 0;
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  for (int k = 0; k < n; ++k) {
    int i = KIND == 1 ? n - 1 - k : k;
    if (a[i] > 0 && !(KIND == 2 && i == n / 2)) o[count++] = a[i];
  }
}

template <int KIND> __global__ void gather(float* o, const float* a, const int* at, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = a[at[KIND == 1 && i == 3 ? 2 : i]];
}

template <int KIND> __global__ void two(float* most, float* total, const float* a, int n) {
  float m = a[0], t = 0;
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  for (int i = 1; i < n; ++i) m = fmaxf(m, a[i]);
  for (int i = 0; i < n; ++i) t += expf(a[i] - m);
  most[0] = m;
  total[0] = t * (1 + KIND);
}

struct View { short tag; float* p; int n; };
template <int KIND> __global__ void fill(View v, const float* a) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < v.n) v.p[i] = a[i] + v.tag + KIND;
}

template <int M, int N> struct Tile { static constexpr int value = M * N; };
template <class TILE, bool LESS = false, typename T = float>
__global__ void run(T* o, const T* a, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = TILE::value * a[i] - (LESS ? 1 : 0);
}
namespace one { __global__ void go(float* o, const float* a, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = 2 * a[i];
} }
namespace two_of { __global__ void go(float* o, const float* a, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = a[i] + a[i];
} }
__global__ void both(float* o, const float* a, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = 2 * a[i];
}
__global__ void both(int* o, const int* a, int n) {}
__global__ void twice(float* o, const float* a, int N) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < N) o[i] = 2 * a[i];
}

// KIND 1 writes an element where there is none.
template <int KIND> __global__ void double_all(float* o, const float* a, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) o[i] = 2 * a[i];
  if (KIND == 1 && n == 0 && i == 0) o[0] = 2;
}

template <int KIND> __global__ void sample(float* o, cudaTextureObject_t t) {
  int x = threadIdx.x % 8, y = threadIdx.x / 8;
  if (blockIdx.x == 0) o[threadIdx.x] = tex2D<float>(t, x + (KIND == 1 ? 0.5f : 1.f), y + 0.5f);
}
)cuda";

std::string buffer(const std::string& name, const std::string& type, const std::string& role,
                   const std::string& init = "", const std::string& more = "") {
  return R"json({ "name": ")json" + name + R"json(", "type": ")json" + type +
         R"json(", "shape": ["N"], "role": ")json" + role + '"' +
         (init.empty() ? "" : R"json(, "init": ")json" + init + '"') + more + " }";
}

const std::string kIn = buffer("a", "float", "input", "uniform(1, 2)");
const std::string kOut = buffer("o", "float", "output");
const std::string kCount = R"json({ "name": "n", "type": "int", "value": "N" })json";

class LaunchSayings : public testing::Test {
 protected:
  Ended smemtune(const std::string& json, const std::string& words) const {
    folder_.write("say.cu", kSource);
    folder_.write("say.json", json);
    return in_folder(folder_, SMEMTUNE_EXECUTABLE, words);
  }

  /// Returns what `smemtune run` reports about a configuration.
  std::string said_of(const std::string& json, const std::string& configuration) const {
    const Ended ended =
        smemtune(json, "run --space say.json --device cpu --config '" + configuration + "'");
    return ended.out + ended.err;
  }

  /// Expects KIND 0 to be right, and KIND 1 to be found wrong with these words.
  void expect_found(const std::string& entry, const std::string& arguments,
                    const std::string& definition, const std::string& words,
                    const std::string& more = "") const {
    const std::string json =
        R"json({ "name": "say", "problems": [{ "N": 512 }], "arguments": [)json" + arguments +
        R"json(], "verify": { "definition": [)json" + definition +
        R"json(] }, "kernels": [{ "name": "say", "source": "say.cu", "entry": ")json" + entry +
        R"json(<KIND>", "parameters": { "KIND": [0, 1, 2] }, "block": [64], "grid": [8])json" +
        more + " }] }";
    EXPECT_THAT(said_of(json, "KIND=0"), HasSubstr("correct:")) << entry;
    EXPECT_THAT(said_of(json, "KIND=1"), HasSubstr(words)) << entry;
  }

  TemporaryFolder folder_;
};

TEST_F(LaunchSayings, PassFractionsThatDependOnSizes) {
  expect_found("scale",
               kOut + ", " + buffer("a", "float", "input", "uniform(1, 1 + 1 / sqrt(N))") +
                   R"json(, { "name": "f", "type": "float", "value": "1.0 / N" }, )json" + kCount,
               R"json("o[i] = a[i] / N")json", "mismatch");
}

TEST_F(LaunchSayings, PassNullPointersAndABufferTwice) {
  expect_found("add_bias",
               kOut + ", " + kIn +
                   R"json(, { "name": "b", "type": "const float*", "value": null }, )json" + kCount,
               R"json("o[i] = a[i]")json", "mismatch");
  expect_found("add_in", buffer("y", "float", "inout", "uniform(1, 2)") + ", " + kCount,
               R"json("y[i] = 4 * y[i]")json", "mismatch",
               R"json(, "arguments": ["y", "y", "n"])json");
}

TEST_F(LaunchSayings, RestoreInputsThatKernelsMaySpoil) {
  expect_found("spoil",
               kOut + ", " + buffer("a", "float", "scratch", "uniform(1, 2)") + ", " + kCount,
               R"json("o[i] = 2 * a[i]")json", "mismatch");
}

TEST_F(LaunchSayings, AgreeOnInfinityAndWhereAskedForOnNan) {
  expect_found("mask", kOut + ", " + kIn + ", " + kCount,
               R"json("o[i] = i % 3 == 0 ? -1 / 0 : a[i]")json", "o[6] is 3");
  expect_found(
      "root",
      buffer("o", "float", "output", "", ", \"nan_agrees\": true") + ", " + kIn + ", " + kCount,
      R"json("o[i] = i % 2 == 0 ? sqrt(-1) : a[i]")json", "o[8] is 1");
}

TEST_F(LaunchSayings, CompareInAscendingOrder) {
  const std::string json =
      R"json({ "name": "say", "problems": [{ "N": 512 }], "arguments": [)json" +
      buffer("o", "int", "output", "zero", ", \"compare\": \"sorted\"") + ", " +
      buffer("a", "int", "input", "uniform(0, 100)") + ", " + kCount +
      R"json(], "kernels": [{ "name": "say", "source": "say.cu", "entry": "compact<KIND>",
          "parameters": { "KIND": [0, 1, 2] }, "block": [64], "grid": [8] }] })json";
  EXPECT_THAT(said_of(json, "KIND=1"), HasSubstr("correct:"));
  EXPECT_THAT(said_of(json, "KIND=2"),
              AllOf(HasSubstr("mismatch"), HasSubstr("o in ascending order[")));
}

TEST_F(LaunchSayings, DefineByGatheringAndSeveralOutputs) {
  expect_found(
      "gather",
      kOut + ", " + kIn + ", " + buffer("at", "int", "input", "uniform(0, N - 1)") + ", " + kCount,
      R"json("o[i] = a[at[i]]")json", "mismatch");
  const auto one = [](const std::string& name) {
    return R"json({ "name": ")json" + name +
           R"json(", "type": "float", "shape": [1], "role": "output" })json";
  };
  expect_found(
      "two", one("most") + ", " + one("total") + ", " + kIn + ", " + kCount,
      R"json("most[i] = max(k < N, a[k])", "total[i] = sum(k < N, exp(a[k] - most[i]))")json",
      "mismatch");
}

TEST_F(LaunchSayings, PassStructsByMember) {
  expect_found("fill",
               kOut + ", " + kIn + R"json(, { "name": "tag", "type": "short", "value": 7 }, )json" +
                   kCount + R"json(, { "name": "v", "members": ["tag", "o", "n"] })json",
               R"json("o[i] = a[i] + 7")json", "mismatch", R"json(, "arguments": ["v", "a"])json");
}

TEST_F(LaunchSayings, GiveASizeAndTheScalarThatPassesItOneName) {
  const std::string json =
      R"json({ "name": "say", "problems": [{ "N": 512 }], "arguments": [)json" + kOut + ", " + kIn +
      R"json(, { "name": "N", "type": "int", "value": "N" }], "verify": { "definition": "o[i] = 2 * a[i]" },
        "kernels": [{ "name": "say", "source": "say.cu", "entry": "twice", "pass": "define",
          "block": [64], "grid": ["N / 64"] }] })json";
  EXPECT_THAT(said_of(json, ""), HasSubstr("correct:"));
}

TEST_F(LaunchSayings, NameEntriesAsTheCompilerDoes) {
  const auto said = [&](const std::string& entry, const std::string& parameters) {
    return said_of(
        R"json({ "name": "say", "problems": [{ "N": 512 }], "arguments": [)json" + kOut + ", " +
            kIn + ", " + kCount +
            R"json(], "verify": { "definition": "o[i] = 2 * a[i]" }, "kernels": [{ "name": "say",
          "source": "say.cu", "entry": ")json" +
            entry + R"json(", "parameters": )json" + parameters +
            R"json(, "block": [64], "grid": [8] }] })json",
        "");
  };
  EXPECT_THAT(said("run<Tile<M, M / 2>>", R"json({ "M": [2] })json"), HasSubstr("correct:"));
  EXPECT_THAT(said("run<Tile<M, 1>, M == 16, float>", R"json({ "M": [2] })json"),
              HasSubstr("correct:"));
  EXPECT_THAT(said("run<Tile<M, 1>, (M > 8)>", R"json({ "M": [2] })json"), HasSubstr("correct:"));
  EXPECT_THAT(said("run<TILE>", R"json({ "TILE": ["Tile<1, 2>", "Tile<2, 2>"] })json"),
              HasSubstr("correct:"));
  EXPECT_THAT(said("::one::go", "{}"), HasSubstr("correct:"));
  EXPECT_THAT(said("SPACE::go", R"json({ "SPACE": ["one", "two_of"] })json"),
              HasSubstr("correct:"));
  EXPECT_THAT(said("(void (*)(float*, const float*, int))both", "{}"), HasSubstr("correct:"));
  EXPECT_THAT(said("static_cast<void (*)(float*, const float*, int)>(both)", "{}"),
              HasSubstr("correct:"));
}

TEST_F(LaunchSayings, InterpolateTexturesOfRows) {
  const std::string arguments =
      R"json({ "name": "o", "type": "float", "shape": [8, 8], "role": "output" },
             { "name": "t", "type": "float", "shape": [8, 8], "role": "input",
               "init": "uniform(1, 2)", "memory": "texture_2d", "filter": "linear",
               "address": ")json";
  expect_found("sample", arguments + R"json(border" })json",
               R"json("o[y, x] = (t[y, x] + (x < 7 ? t[y, x + 1] : 0)) / 2")json", "mismatch",
               R"json(, "description": "rows")json");
  expect_found("sample", arguments + R"json(clamp" })json",
               R"json("o[y, x] = (t[y, x] + (x < 7 ? t[y, x + 1] : t[y, 7])) / 2")json", "mismatch",
               R"json(, "description": "rows")json");
}

TEST_F(LaunchSayings, ListConfigurations) {
  const std::string json =
      R"json({ "name": "say", "problems": [{ "N": 512 }], "arguments": [)json" + kOut + ", " + kIn +
      ", " + kCount +
      R"json(], "kernels": [{ "name": "say", "source": "say.cu", "entry": "run<Tile<M, K>>",
          "configurations": [{ "M": 1, "K": 2 }, { "M": 2, "K": 1 }], "block": [64], "grid": [8] }] })json";
  const Ended tuned = smemtune(json, "--space say.json --device cpu --fresh");
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr("4 points, 2 valid, 2 evaluated"));
}

TEST_F(LaunchSayings, VerifyThatNothingIsWrittenWhereASizeIsZero) {
  const auto json = [](const std::string& blocks) {
    return R"json({ "name": "say", "problems": [{ "N": 512 }], "arguments": [)json" + kOut + ", " +
           kIn + ", " + kCount +
           R"json(], "verify": { "definition": "o[i] = 2 * a[i]", "also": [{ "N": 0 }] },
               "kernels": [{ "name": "say", "source": "say.cu", "entry": "double_all<KIND>",
               "parameters": { "KIND": [0, 1] }, "block": [64], "grid": [)json" +
           blocks + "] }] }";
  };
  EXPECT_THAT(said_of(json("8"), "KIND=0"), HasSubstr("correct:"));
  EXPECT_THAT(said_of(json("8"), "KIND=1"), HasSubstr("overrun"));
  const Ended tuned =
      smemtune(json("\"ceil_div(N, 64)\""), "--space say.json --device cpu --fresh");
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_THAT(tuned.out + tuned.err,
              AllOf(HasSubstr("2 evaluated"), testing::Not(HasSubstr("not verified on"))))
      << "no block is launched";
}

}  // namespace
}  // namespace smemtune::cli
