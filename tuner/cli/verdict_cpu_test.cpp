// Tests that verdicts on results follow from what was compared, using the built program with real
// kernels on the CPU device.

#include "tuner/core/in_shell_test_support.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace smemtune::cli {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Provides a folder with a space of one kernel, `k`, its source and a database.
class Verdict : public testing::Test {
 protected:
  /// Writes the space. `verify`: members of its object; `problems`: the main problems.
  void space(const std::string& kernel, const std::string& arguments, const std::string& problems,
             const std::string& verify) const {
    folder_.write("k.cu", kernel);
    folder_.write("k.json", R"json({ "name": "k", "problems": [)json" + problems +
                                R"json(], "arguments": [)json" + arguments +
                                R"json(], "verify": { "reference": "k", )json" + verify +
                                R"json( }, "kernels": [{ "name": "k", "source": "k.cu",
      "entry": "k", "block": [64], "grid": ["(N + 63) / 64"] }] })json");
  }

  Ended smemtune(const std::string& words) const {
    return in_folder(folder_, SMEMTUNE_EXECUTABLE, words);
  }

  Ended tuned() const { return smemtune("--space k.json --device cpu"); }
  Ended checked() const {
    return smemtune("check --space k.json --device cpu --tolerance 1e6 --strict");
  }
  Json best() const { return Json::parse(smemtune("best --json").out)["best"].at(0); }

  TemporaryFolder folder_;
};

constexpr const char* kInOut = R"json(
    { "name": "in", "type": "float", "shape": ["N"], "role": "input", "init": "uniform(1, 2)" },
    { "name": "out", "type": "float", "shape": ["N"], "role": "output" },
    { "name": "n", "type": "int", "value": "N" })json";

/// Returns a kernel that writes `value` to each element in range.
std::string elementwise(const std::string& value) {
  return "__global__ void k(const float* in, float* out, int n) {\n"
         "  const int i = blockIdx.x * 64 + threadIdx.x;\n"
         "  if (i < n) out[i] = " +
         value + ";\n}\n";
}

// Doubles the input, but triples odd elements of large inputs.
const std::string kWrongWhereLarge = elementwise("(n > 4096 && i % 2 == 1 ? 3.0f : 2.0f) * in[i]");

TEST_F(Verdict, IsWrongByADefinitionThatIsTooExpensiveForAllElements) {
  space(elementwise("3 * in[i]"), kInOut, R"({ "N": 512 })",
        R"json("definition": "out[i] = 5 + sum(j < N, sum(k < N, in[k] * in[k]))")json");
  const Ended ended = tuned();
  EXPECT_EQ(ended.status, 3) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("correctness (definition): out["));
}

TEST_F(Verdict, IsWrongOnTheTunedProblemThoughNotOnASmallerOne) {
  space(kWrongWhereLarge, kInOut, R"({ "N": 16384 })",
        R"json("also": [{ "N": 1000 }], "definition": "out[i] = 2 * in[i]")json");
  const Ended ended = tuned();
  EXPECT_EQ(ended.status, 3) << ended.out;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("correctness (definition): out["), HasSubstr("on N=16384")));
}

TEST_F(Verdict, IsWrongOnALargerFurtherProblem) {
  space(kWrongWhereLarge, kInOut, R"({ "N": 1000 })",
        R"json("also": [{ "N": 16384 }], "definition": "out[i] = 2 * in[i]")json");
  const Ended ended = tuned();
  EXPECT_EQ(ended.status, 3) << ended.out;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("correctness (definition): out["), HasSubstr("on N=16384")));
}

TEST_F(Verdict, IsWrongWhereAnInoutIsWrittenInPart) {
  space(R"(__global__ void k(float* x, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n && i < 10240) x[i] = 2 * x[i];
}
)",
        R"json({ "name": "x", "type": "float", "shape": ["N"], "role": "inout",
                 "init": "uniform(1, 2)" },
               { "name": "n", "type": "int", "value": "N" })json",
        R"({ "N": 16384 })", R"json("also": [{ "N": 1000 }], "definition": "x[i] = 2 * x[i]")json");
  const Ended ended = tuned();
  EXPECT_EQ(ended.status, 3) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("x[10240]"));
}

TEST_F(Verdict, IsADefinitionWhereEverythingWasCompared) {
  space(elementwise("2 * in[i]"), kInOut, R"({ "N": 16384 })",
        R"json("also": [{ "N": 1000 }], "definition": "out[i] = 2 * in[i]")json");
  const Ended ended = tuned();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("verified against its definition\n"));
  EXPECT_THAT(ended.err, Not(HasSubstr("***")));
  EXPECT_EQ(best()["compared_with"], "definition");
  EXPECT_EQ(best()["compared"],
            Json::parse(R"([{ "problem": { "N": 16384 }, "output": "out", "with": "definition",
                              "compared": 16384, "of": 16384 },
                            { "problem": { "N": 1000 }, "output": "out", "with": "definition",
                              "compared": 1000, "of": 1000 }])"));
  EXPECT_EQ(checked().status, 0);
}

TEST_F(Verdict, SaysOfHowManyElementsASampleIs) {
  space(elementwise("2 * in[i]"), kInOut, R"({ "N": 512 })",
        R"json("definition":
            "out[i] = 2 * in[i] + 0 * sum(j < N, sum(k < N, in[k] * in[j]))")json");
  const Ended ended = tuned();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("verified against its definition at 64 of 512 elements"));
  EXPECT_EQ(best()["compared_with"], "definition (sampled)");
  EXPECT_EQ(best()["compared"][0]["compared"], 64);
  const Ended strict = checked();
  EXPECT_EQ(strict.status, 0) << strict.out;
  EXPECT_THAT(strict.out, HasSubstr("compared with definition (sampled)"));
}

TEST_F(Verdict, NamesTheOutputsThatNothingElseGives) {
  space(R"(__global__ void k(const float* in, float* o, float* l, float* m, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) { o[i] = 2 * in[i]; l[i] = 7; m[i] = 8; }
}
)",
        R"json({ "name": "in", "type": "float", "shape": ["N"], "role": "input",
                 "init": "uniform(1, 2)" },
               { "name": "o", "type": "float", "shape": ["N"], "role": "output" },
               { "name": "l", "type": "float", "shape": ["N"], "role": "output" },
               { "name": "m", "type": "float", "shape": ["N"], "role": "output" },
               { "name": "n", "type": "int", "value": "N" })json",
        R"({ "N": 1024 })", R"json("definition": "o[i] = 2 * in[i]")json");
  const Ended ended = tuned();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("*** verified against its definition, but not l, m, compared "
                                   "with nothing but its own default"));
  EXPECT_THAT(ended.err, AllOf(HasSubstr("Nothing says that these results of k are right: l, m."),
                               Not(HasSubstr("\"definition\", \"expected\" files or"))));
  EXPECT_EQ(best()["compared_with"], "definition (o; not l, m)");
  EXPECT_THAT(smemtune("best").out, HasSubstr("definition (o; not l, m)"));
  EXPECT_THAT(smemtune("export --format csv").out, HasSubstr("\"definition (o; not l, m)\""));
  EXPECT_THAT(smemtune("export --format header").out, HasSubstr("\"definition (o; not l, m)\""));
  const Ended strict = checked();
  EXPECT_EQ(strict.status, 1);
  EXPECT_THAT(strict.out, HasSubstr("no longer holds: it was compared with definition (o; not l, "
                                    "m) (--strict)"));
}

TEST_F(Verdict, NamesTheProblemOnWhichNothingCouldBeCompared) {
  space(elementwise("2 * in[i]"), kInOut, R"({ "N": 2048 })",
        R"json("also": [{ "N": 64 }], "definition":
           "out[i] = 2 * in[i] + 0 * sum(j < N, sum(k < N, sum(l < N, in[(j + k + l) % N])))")json");
  const Ended ended = tuned();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("*** out is not compared with its definition on N=2048"),
                               HasSubstr("right: anything at N=2048.")));
  EXPECT_EQ(best()["compared_with"], "definition (not at N=2048)");
  EXPECT_EQ(checked().status, 1);
}

TEST_F(Verdict, ADefinitionThatReadsOutsideOnAFurtherProblemIsAnErrorThatNamesIt) {
  space(elementwise("2 * in[i]"), kInOut, R"({ "N": 16384 })",
        R"json("also": [{ "N": 1000 }], "definition": "out[i] = in[i] + in[i + 1000 / N]")json");
  const Ended ended = tuned();
  EXPECT_NE(ended.status, 0);
  EXPECT_THAT(ended.err, HasSubstr("the definition on N=1000: "));
}

}  // namespace
}  // namespace smemtune::cli
