#include "tuner/backend/compiler.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

TEST(CompiledKernel, FindsAnEntryByItsNameExpression) {
  CompiledKernel compiled;
  compiled.entries.resize(2);
  compiled.entries[0].name_expression = "k<1>";
  compiled.entries[1].name_expression = "k<2>";
  EXPECT_EQ(&compiled.entries[1], compiled.entry("k<2>"));
  EXPECT_EQ(nullptr, compiled.entry("k<3>"));
}

/// Compiles any program that does not instantiate `bad`.
class CountingCompiler final : public Compiler {
 public:
  std::string version() const override { return "1"; }
  Outcome<CompiledKernel> compile(const CompileRequest& request) override {
    programs.push_back(request.name_expressions);
    CompiledKernel compiled;
    for (const std::string& expression : request.name_expressions) {
      if (expression == "bad") return Failure{Status::compile, "error", "bad is bad"};
      compiled.entries.push_back({.name_expression = expression,
                                  .lowered_name = "_Z" + expression,
                                  .resources = {},
                                  .code_sha256 = ""});
    }
    for (const std::string& expression : request.symbol_expressions) {
      compiled.symbols.push_back({.name_expression = expression, .lowered_name = expression});
    }
    return compiled;
  }

  std::vector<std::vector<std::string>> programs;  ///< The name expressions of each.
};

CompileRequest request_for(const std::string& expression) {
  CompileRequest request;
  request.architecture = "sm_90";
  request.source.files = {{"k.cu", "text"}};
  request.name_expressions = {expression};
  request.symbol_expressions = {"filter"};
  return request;
}

TEST(Compiler, CompilesRequestsOfOneProgramAsOne) {
  CountingCompiler compiler;
  std::vector<CompileRequest> requests = {request_for("a"), request_for("b"), request_for("c")};
  requests[1].options = {"-DX=1"};
  const CompiledTogether outcomes = compiler.compile_together(requests);
  using Programs = std::vector<std::vector<std::string>>;
  EXPECT_EQ(compiler.programs, (Programs{{"a", "c"}, {"b"}}));
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(*outcomes[0], *outcomes[2]);
  EXPECT_NE((*outcomes[0])->entry("c"), nullptr);
  EXPECT_NE((*outcomes[1])->entry("b"), nullptr);
  EXPECT_EQ((*outcomes[0])->symbols.size(), 1u);
}

TEST(Compiler, FindsWhichRequestOfAProgramDoesNotCompile) {
  CountingCompiler compiler;
  std::vector<CompileRequest> requests;
  for (const char* expression : {"a", "b", "c", "bad", "d", "e", "f", "g"}) {
    requests.push_back(request_for(expression));
  }
  const CompiledTogether outcomes = compiler.compile_together(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string& expression = requests[i].name_expressions.front();
    ASSERT_EQ(static_cast<bool>(outcomes[i]), expression != "bad") << expression;
    if (outcomes[i]) {
      EXPECT_NE((*outcomes[i])->entry(expression), nullptr);
    }
  }
  EXPECT_EQ(outcomes[3].failure().detail, "bad is bad");
  EXPECT_EQ(compiler.programs.size(), 7u);  // 8 -> 4, 4 -> 2, 2 -> 1, 1
}

}  // namespace
}  // namespace smemtune
