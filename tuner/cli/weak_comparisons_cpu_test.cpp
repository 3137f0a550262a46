// Tests what comparisons detect and report about wrong kernels, using the built program on the CPU
// device.

#include "tuner/core/in_shell_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSource = R"cuda(
// KIND 1 lacks a small term of large numbers.
template <int KIND>
__global__ void wide(const int* in, unsigned long long* out, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = (1ull << 62) + (KIND == 1 ? 0 : in[i]);
}

// KIND 1 is wrong in the last of the steps.
template <int KIND>
__global__ void step(const float* a, float* b, int t) {
  int i = blockIdx.x * 64 + threadIdx.x;
  b[i] = (KIND == 1 && t == 4 ? 77 : 2) * a[i];
}

// KIND 1 only looks at eight bits of a key.
template <int KIND>
__global__ void rank(const unsigned int* keys, unsigned int* out, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  unsigned int mask = KIND == 1 ? 255u : ~0u, rank = 0;
  for (int k = 0; k < n; ++k) {
    unsigned int other = keys[k] & mask, own = keys[i] & mask;
    rank += other < own || (other == own && k < i);
  }
  out[rank] = keys[i];
}

// KIND 1 does nothing at all; KIND 0 next to nothing.
template <int KIND>
__global__ void find(const float* in, float* found, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (KIND == 0 && i < n && in[i] > 2) found[i] = 1;
}

template <int KIND>
__global__ void half(const float* in, float* out, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n / 2) out[i] = in[i] + 3;
}
)cuda";

/// Returns a space with one of these kernels, with KIND 0 and 1.
std::string space(const std::string& entry, const std::string& arguments,
                  const std::string& verify = "{}", const std::string& more = "") {
  return R"json({ "name": "weak", "problems": [{ "N": 512 }], "arguments": [)json" + arguments +
         R"json(, { "name": "n", "type": "int", "value": "N" }], "verify": )json" + verify +
         R"json(, "kernels": [{ "name": "weak", "source": "weak.cu", "entry": ")json" + entry +
         R"json(<KIND>", "parameters": { "KIND": [0, 1] }, "block": [64], "grid": ["N / 64"])json" +
         more + " }] }";
}

std::string buffer(const std::string& name, const std::string& type, const std::string& role,
                   const std::string& init = "") {
  return R"json({ "name": ")json" + name + R"json(", "type": ")json" + type +
         R"json(", "shape": ["N"], "role": ")json" + role + '"' +
         (init.empty() ? "" : R"json(, "init": ")json" + init + '"') + " }";
}

class WeakComparisons : public testing::Test {
 protected:
  Ended smemtune(const std::string& json, const std::string& words) const {
    folder_.write("weak.cu", kSource);
    folder_.write("weak.json", json);
    return in_folder(folder_, SMEMTUNE_EXECUTABLE, words);
  }

  /// Returns what `smemtune run` reports about a KIND.
  std::string said_of(const std::string& json, int kind) const {
    const Ended ended =
        smemtune(json, "run --space weak.json --device cpu --config KIND=" + std::to_string(kind));
    return ended.out + ended.err;
  }

  TemporaryFolder folder_;
};

const std::string kWide = buffer("in", "int", "input", "uniform(1, 200)") + ", " +
                          buffer("out", "unsigned long long", "output");

TEST_F(WeakComparisons, FindWhatDoublesDoNotTellApart) {
  EXPECT_THAT(said_of(space("wide", kWide), 0), HasSubstr("correct"));
  EXPECT_THAT(said_of(space("wide", kWide), 1),
              AllOf(HasSubstr("mismatch"), HasSubstr("out[0] is 4611686018427387904, expected "
                                                     "46116860184273880")));
}

TEST_F(WeakComparisons, HoldWideIntegersAgainstDefinitionsExactly) {
  const auto said = [&](const std::string& value) {
    return said_of(space("wide", kWide, R"json({ "definition": "out[i] = )json" + value + "\" }"),
                   0);
  };
  EXPECT_THAT(said("4611686018427387904 + in[i]"),
              AllOf(HasSubstr("correct"), Not(HasSubstr("definition` gives"))));
  EXPECT_THAT(said("4611686018427387905 + in[i]"), HasSubstr("gives 46116860184273880"));
  EXPECT_THAT(said("4611686018427387904 + in[i] / 1"),
              HasSubstr("in double precision, which does not hold such integers"));
}

/// Returns a .npy file of 64-bit integers.
std::string npy(const std::vector<std::uint64_t>& elements) {
  std::string header = "{'descr': '<u8', 'fortran_order': False, 'shape': (" +
                       std::to_string(elements.size()) + ",), }";
  header.resize(117, ' ');
  std::string file =
      std::string("\x93NUMPY\x01", 7) + '\0' + std::string("\x76\0", 2) + header + '\n';
  file.append(reinterpret_cast<const char*>(elements.data()), 8 * elements.size());
  return file;
}

TEST_F(WeakComparisons, HoldWideIntegersAgainstFilesExactly) {
  const std::string json = space(
      "wide",
      buffer("in", "int", "input", "iota") + ", " + buffer("out", "unsigned long long", "output"),
      R"json({ "expected": { "out": "want.npy" } })json");
  std::vector<std::uint64_t> want;
  for (std::uint64_t i = 0; i < 512; ++i) want.push_back((1ull << 62) + i);
  folder_.write("want.npy", npy(want));
  EXPECT_THAT(said_of(json, 0), Not(HasSubstr("want.npy` gives")));
  ++want[100];
  folder_.write("want.npy", npy(want));
  EXPECT_THAT(said_of(json, 0), HasSubstr("out[100] is 4611686018427388004, but `want.npy` gives "
                                          "4611686018427388005"));
}

/// Returns a space with five steps between two buffers of these roles; the result is in `b`.
std::string steps(const std::string& a, const std::string& b) {
  return space(
      "step", a + ", " + b + R"json(, { "name": "t", "type": "int", "value": "i" })json", "{}",
      R"json(, "arguments": ["a", "b", "t"], "repeat": "i < 5", "swap": [["a", "b"]])json");
}

TEST_F(WeakComparisons, LookAtTheBufferThatHasTheAnswerAfterAnOddNumberOfSwaps) {
  const std::string json =
      steps(buffer("a", "float", "inout", "uniform(-1, 1)"), buffer("b", "float", "scratch"));
  EXPECT_THAT(said_of(json, 0), HasSubstr("correct"));
  EXPECT_THAT(said_of(json, 1), HasSubstr("mismatch"));
}

TEST_F(WeakComparisons, RefuseScratchThatHasTheAnswer) {
  const Ended refused = smemtune(
      steps(buffer("a", "float", "scratch"), buffer("b", "float", "output")), "--check weak.json");
  EXPECT_EQ(2, refused.status);
  EXPECT_THAT(refused.err, HasSubstr("what the last repetition writes to 'b' is called 'a' once "
                                     "they are swapped; scratch is not compared"));
}

TEST_F(WeakComparisons, HaveAnyIntegerWhereTheSpaceAsksForIt) {
  const auto keys = [](const std::string& init) {
    return space("rank", buffer("keys", "unsigned int", "input", init) + ", " +
                             buffer("out", "unsigned int", "output"));
  };
  EXPECT_THAT(said_of(keys("uniform"), 1), HasSubstr("mismatch"));
  EXPECT_THAT(said_of(keys("uniform"), 0), HasSubstr("correct"));
  EXPECT_THAT(said_of(keys("uniform(0, 100)"), 1), HasSubstr("correct")) << "as the range says";
}

TEST_F(WeakComparisons, SayThatNothingCouldDiffer) {
  const std::string json = space("find", buffer("in", "float", "input", "uniform(-1, 1)") + ", " +
                                             buffer("found", "float", "inout", "uniform(-1, 1)"));
  EXPECT_THAT(smemtune(json, "--space weak.json --device cpu").err,
              HasSubstr("*** the reference changes none of the 512 elements of found on N=512"));
}

TEST_F(WeakComparisons, SayWhichShareTheReferenceChanged) {
  const std::string json = space("half", buffer("in", "float", "input", "uniform(-1, 1)") + ", " +
                                             buffer("out", "float", "inout", "zero"));
  EXPECT_THAT(smemtune(json, "--space weak.json --device cpu").err,
              HasSubstr("of the elements of out the reference changes 256 of 512 on N=512"));
}

TEST_F(WeakComparisons, SayWhatTheyWouldNotSee) {
  const std::string arguments =
      buffer("a", "float", "input", "uniform(-1, 1)") + ", " + buffer("b", "float", "output");
  const auto said = [&](const std::string& verify) {
    return smemtune(space("step", arguments, verify), "--space weak.json --device cpu").err;
  };
  EXPECT_THAT(said(R"json({ "absolute": 50 })json"),
              HasSubstr("*** on N=512 a comparison would not see zeroed elements, flipped highest "
                        "bits, two swapped elements or a row shifted by one element of b"));
  EXPECT_THAT(said("{}"), Not(HasSubstr("would not see")));
}

}  // namespace
}  // namespace smemtune::cli
