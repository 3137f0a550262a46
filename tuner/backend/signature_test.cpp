#include "tuner/backend/signature.h"

#include "tuner/backend/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A request for dbl(o, a, n) of `k.cu`, where n is passed as an int.
CompileRequest request_of_dbl() {
  CompileRequest request;
  request.source.files = {{.name = "k.cu",
                           .text = "// dbl(x)\n__device__ int dbl(int);\n\n"
                                   "template <int B>\n__global__ void dbl\n"
                                   "(float* o, const float* a, float n) {}\n"}};
  request.name_expressions = {"ns::dbl<64>"};
  const PassedArgument out = {.name = "o", .kind = PassedArgument::Kind::buffer, .is_result = true};
  const PassedArgument in = {.name = "a", .kind = PassedArgument::Kind::buffer};
  const PassedArgument n = {.name = "n", .type = ScalarType::int32};
  request.signatures = {{{.name_expression = "ns::dbl<64>", .arguments = {out, in, n}}}};
  return request;
}

constexpr const char* kFault =
    "k.cu:5: argument 3 of ns::dbl<64> is of type float, but the space passes 'n', a value of type "
    "int";

TEST(Signature, ReadsWhatEachCompilerSaysOfAnAssertion) {
  const std::string type = "smemtune_signature::smt_passes<false, ";
  for (const std::string& log :
       {"smemtune_signature(4): error: incomplete type \"" + type +
            "smemtune_signature::smt_is<void (*)(float *)>::smt_type>\" (aka \"" + type +
            "float>\") is not allowed\n  static_assert(sizeof(x)) \"error: \"\n",
        "smemtune_signature:4:15: error: invalid application of 'sizeof' to incomplete type '" +
            type + "float>'\n",
        "smemtune_signature:4:15: error: implicit instantiation of undefined template '" + type +
            "float>'\n"}) {
    const SignatureLog read = read_signature_log(request_of_dbl(), log);
    EXPECT_THAT(read.faults, ElementsAre(kFault)) << log;
    EXPECT_FALSE(read.has_other_errors);
    ASSERT_TRUE(signature_failure(read));
    EXPECT_EQ(signature_failure(read)->reason, "signature");
  }
}

TEST(Signature, TellsAWrongNumberOfArgumentsOnce) {
  const std::string type = "smemtune_signature::smt_passes<false, ";
  const SignatureLog read = read_signature_log(
      request_of_dbl(), "smemtune_signature(1): error: incomplete type \"" + type +
                            "smemtune_signature::smt_number<4>>\" is not allowed\n"
                            "smemtune_signature(3): error: incomplete type \"" +
                            type + "const double *>\" is not allowed\n");
  EXPECT_THAT(read.faults, ElementsAre("k.cu:5: ns::dbl<64> takes 4 arguments, but the space "
                                       "passes 3: o, a, n"));
}

TEST(Signature, IsNoMatterWhereTheSourceItselfIsWrong) {
  const SignatureLog read = read_signature_log(
      request_of_dbl(),
      "k.cu(3): error: expected a \";\"\nsmemtune_signature(1): error: identifier \"dbl\"\n");
  EXPECT_TRUE(read.has_other_errors);
  EXPECT_TRUE(read.is_about_assertions);
  EXPECT_THAT(read.faults, IsEmpty());
  EXPECT_FALSE(signature_failure(read));
}

TEST(Signature, AsksThatSomeLaunchCanWriteEachResult) {
  CompileRequest request = request_of_dbl();
  Signature& signature = request.signatures.front();
  signature.push_back(signature.front());
  std::swap(signature.back().arguments[0], signature.back().arguments[1]);
  const std::string text = signature_assertions(request);
  EXPECT_THAT(text, HasSubstr(", 0>::smt_as::smt_writes() || smemtune_signature::smt_is<decltype(&"
                              "ns::dbl<64>), 1>::smt_as::smt_writes()"));
  EXPECT_THAT(signature_assertions(without_signatures(request)), IsEmpty());
}

}  // namespace
}  // namespace smemtune
