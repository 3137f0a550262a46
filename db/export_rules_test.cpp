#include "db/export_formats.h"
#include "db/folder_test_support.h"
#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace smemtune::db {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Returns rules with the default values of `tiled` out of reach, TILE=8 for M up to 100, and for
/// larger M another kernel with float and TILE=32 with double.
DeviceRules planted_rules(const std::string& device) {
  DeviceRules of = {
      .space = "gemm",
      .device = device,
      .variants = {{.kernel = "tiled", .configuration = {{"TILE", std::int64_t{1}}}},
                   {.kernel = "tiled", .configuration = {{"TILE", std::int64_t{8}}}},
                   {.kernel = "wide", .configuration = {{"LAYOUT", "row"}}},
                   {.kernel = "tiled", .configuration = {{"TILE", std::int64_t{32}}}}},
      .rules = {},
      .notes = "loses 1 %\nat worst 2 %\n"};
  of.rules.nodes = {
      {.name = "M", .limit = std::int64_t{100}, .yes = 1, .no = 2},
      {.variant = 1, .cases = {0, 1}},
      {.name = "T", .limit = "float", .yes = 3, .no = 4},
      {.variant = 2, .cases = {2}},
      {.variant = 3, .cases = {3}},
  };
  of.rules.sizes = {{"M", {8, 4096}}};
  of.rules.words = {{"T", {"float", "double"}}};
  return of;
}

class ExportRules : public TestFolder {
 protected:
  std::string path(const std::string& name) const { return (folder() / name).string(); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder() / name, std::ios::binary) << text;
  }

  void run(const std::string& command) {
    const int status = std::system((command + " >" + path("log") + " 2>&1").c_str());
    std::stringstream log;
    log << std::ifstream(path("log")).rdbuf();
    ASSERT_EQ(status, 0) << command << "\n" << log.str();
  }
};

TEST_F(ExportRules, AnswerInCppAtCompileTime) {
  DeviceRules other = planted_rules("NVIDIA L4");
  other.rules.nodes = {{.variant = 3, .cases = {0}}};
  write("rules.h", export_rules_cpp({planted_rules("NVIDIA H200"), other}));
  write("main.cpp", R"cpp(
#include "rules.h"
#include "rules.h"
    namespace gemm = smemtune_rules::gemm;
    constexpr auto at(long long m, const char* type) { return gemm::select("NVIDIA H200", {m, type}); }
    static_assert(at(100, "float").parameters.TILE == 8);
    static_assert(at(101, "float").kernel == gemm::Kernel::wide);
    static_assert(at(101, "float").parameters.LAYOUT == "row");
    static_assert(at(101, "double").parameters.TILE == 32);
    static_assert(at(7, "double").parameters.TILE == 1 && at(4097, "double").parameters.TILE == 1);
    static_assert(gemm::select("NVIDIA L4", {9, "float"}).parameters.TILE == 32);
    static_assert(gemm::select("another", {9, "float"}).parameters.TILE == 1);
    int main() {}
  )cpp");
  const std::string flags = " -std=c++17 -Wall -Wextra -Werror -pedantic -fsyntax-only ";
  run(std::string(SMEMTUNE_TEST_CXX) + flags + path("main.cpp"));
  if (const std::string clang = SMEMTUNE_TEST_CLANG; !clang.empty()) {
    run(clang + flags + path("main.cpp"));
  }
}

TEST_F(ExportRules, AnswerTheSameInPython) {
  if (std::system("python3 -c 1 >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no python3";
  write("rules.py", export_rules_python({planted_rules("NVIDIA H200")}));
  write("main.py", R"py(
import rules
at = lambda m, t: rules.gemm_select("NVIDIA H200", M=m, T=t)
assert at(100, "float") == ("tiled", {"TILE": 8})
assert at(101, "float") == ("wide", {"LAYOUT": "row"})
assert at(101, "double") == ("tiled", {"TILE": 32})
assert at(7, "float") == at(4097, "float") == rules.gemm_select("another") == ("tiled", {"TILE": 1})
)py");
  run("cd '" + folder().string() + "' && python3 -B main.py");
}

TEST_F(ExportRules, SayWhatTheyLoseAndHowManySizesAnAnswerIsFrom) {
  for (const auto& text : {export_rules_cpp({planted_rules("NVIDIA H200")}),
                           export_rules_python({planted_rules("NVIDIA H200")})}) {
    EXPECT_THAT(text, HasSubstr("at worst 2 %"));
    EXPECT_THAT(text, HasSubstr("2 measured sizes."));
    EXPECT_THAT(text, HasSubstr("1 measured size."));
  }
}

TEST_F(ExportRules, KeepStoredTextText) {
  const std::string nasty =
      "\"});\n#include \"/etc/passwd\"\n\"\"\"\nimport os # */ \\ \x1b[2J \xff \xe2\x80\xae '''";
  DeviceRules hostile = planted_rules(nasty);
  hostile.notes = nasty;
  hostile.rules.nodes[2].limit = nasty;
  hostile.rules.words = {{"T", {nasty, "float"}}};
  hostile.variants[3].configuration = {{"lambda", nasty}};
  const std::string cpp = export_rules_cpp({hostile});
  write("rules.h", cpp);
  write("main.cpp", "#include \"rules.h\"\nint main() {}\n");
  run(std::string(SMEMTUNE_TEST_CXX) + " -std=c++17 -Werror -fsyntax-only " + path("main.cpp"));
  const std::string python = export_rules_python({hostile});
  write("rules.py", python);
  if (std::system("python3 -c 1 >/dev/null 2>&1") == 0) {
    run("cd '" + folder().string() +
        "' && python3 -B -c 'import rules; assert not hasattr(rules, \"os\")'");
  }
  for (const std::string& text : {cpp, python}) {
    EXPECT_TRUE(
        std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    EXPECT_THAT(text, Not(HasSubstr("\n#include \"/etc")));
  }
}

TEST_F(ExportRules, RefuseNamesThatAreNone) {
  DeviceRules one = planted_rules("NVIDIA H200");
  one.space = "a b";
  EXPECT_THROW(export_rules_cpp({one}), InputError);
  EXPECT_THROW(export_rules_python({one}), InputError);
  one = planted_rules("NVIDIA H200");
  one.rules.sizes["T"] = {1, 2};
  EXPECT_THROW(export_rules_cpp({one}), InputError) << "a size here and a word there";
  one = planted_rules("NVIDIA H200");
  one.rules.sizes["a;b"] = {1, 2};
  EXPECT_THROW(export_rules_cpp({one}), InputError);
}

}  // namespace
}  // namespace smemtune::db
