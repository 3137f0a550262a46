#include "db/export_code.h"

#include "db/code_names.h"
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
#include <vector>

namespace smemtune::db {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

Value number(std::int64_t value) { return value; }

StoredResult stored(const std::string& device, int major, const Problem& problem,
                    const std::string& kernel, const Configuration& configuration, double time_ms) {
  StoredResult result;
  result.space = "gemm";
  result.device.name = device;
  result.device.compute_major = major;
  result.result.kernel = kernel;
  result.result.problem = problem;
  result.result.configuration = configuration;
  result.result.stage = Stage::final;
  result.result.compared = {{.problem = {{"N", std::int64_t{8}}},
                             .output = "out",
                             .with = ComparedWith::definition,
                             .compared = 8,
                             .elements_total = 8}};
  result.result.measurement.median_ms = time_ms;
  LaunchResult launch;
  launch.shape.dynamic_shared_bytes = 1024;
  launch.resources.static_shared_bytes = 512;
  result.result.launches = {launch};
  return result;
}

Problem size(std::int64_t n, const char* type) { return {{"N", number(n)}, {"T", type}}; }

std::vector<StoredResult> results() {
  return {
      stored("NVIDIA H200", 9, size(4096, "float"), "tiled", {{"TILE", number(32)}}, 2.0),
      stored("NVIDIA H200", 9, size(4096, "float"), "buffered",
             {{"DEPTH", number(8)}, {"TILE", number(64)}}, 1.5),
      stored("NVIDIA H200", 9, size(512, "float"), "tiled", {{"TILE", number(16)}}, 0.125),
      stored("NVIDIA H100 PCIe", 9, size(4096, "double"), "tiled", {{"TILE", number(8)}}, 7.0),
  };
}

std::vector<KernelDefaults> defaults() {
  return {{.space = "gemm", .kernel = "tiled", .configuration = {{"TILE", number(1)}}},
          {.space = "gemm",
           .kernel = "buffered",
           .configuration = {{"DEPTH", number(2)}, {"TILE", number(2)}}}};
}

class ExportHeader : public TestFolder {
 protected:
  /// Compiles a program that includes the header, with every compiler available here, and runs it.
  void compile_and_run(const std::string& header, const std::string& program) {
    write("best.h", header);
    write("again.h", header);  // Like a second export, whose header contains selection.h again.
    write("main.cpp", program);
    write("main.cu", program);
    const std::string include = " -I" + folder().string() + " -o " + path("program") + " ";
    const std::string strict = " -std=c++17 -Wall -Wextra -Werror -pedantic" + include;
    run(std::string(SMEMTUNE_TEST_CXX) + strict + path("main.cpp"));
    run(path("program"));
    if (const std::string clang = SMEMTUNE_TEST_CLANG; !clang.empty()) {
      run(clang + strict + path("main.cpp"));
      run(path("program"));
    }
    if (const std::string nvcc = SMEMTUNE_TEST_NVCC; !nvcc.empty()) {
      run(nvcc + " -std=c++17 -Xcompiler -Wall,-Wextra,-Werror -Werror all-warnings -c" + include +
          path("main.cu"));
    }
  }

  void run(const std::string& command) {
    const int status = std::system((command + " >" + path("log") + " 2>&1").c_str());
    std::stringstream log;
    log << std::ifstream(path("log")).rdbuf();
    ASSERT_EQ(status, 0) << command << "\n" << log.str();
  }

  std::string path(const std::string& name) const { return (folder() / name).string(); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder() / name, std::ios::binary) << text;
  }
};

TEST_F(ExportHeader, SelectsAtCompileTimeAndSaysHowFarItStretched) {
  compile_and_run(export_header(results(), defaults()), R"cpp(
#include "best.h"

    namespace gemm = smemtune_best::gemm;
    using smemtune::Match;
    constexpr smemtune::Target h200 = {"NVIDIA H200", 90};

    constexpr auto exact = gemm::select(h200, {4096, "float"});
    static_assert(exact.match == Match::exact && exact.size_ratio == 1);
    static_assert(exact->kernel == gemm::Kernel::buffered && exact->parameters.TILE == 64);
    static_assert(exact->parameters.DEPTH == 8 && exact->time_ms == 1.5);
    static_assert(exact->shared_bytes == 1536 && !exact->stale);
    static_assert(exact->compared_with == "definition");

    constexpr auto tiled = gemm::select(gemm::Kernel::tiled, h200, {4096, "float"});
    static_assert(tiled.match == Match::exact && tiled->parameters.TILE == 32);
    static_assert(tiled->parameters.DEPTH == 0);

    constexpr auto nearest = gemm::select(h200, {1024, "float"});
    static_assert(nearest.match == Match::nearest_problem && nearest.size_ratio == 2);
    static_assert(nearest->problem.N == 512 && nearest->parameters.TILE == 16);

    constexpr auto sibling = gemm::select({"NVIDIA H800", 90}, {8192, "double"});
    static_assert(sibling.match == Match::same_architecture && sibling.size_ratio == 2);
    static_assert(sibling->device == "NVIDIA H100 PCIe" && sibling->parameters.TILE == 8);

    constexpr auto unlike = gemm::select(h200, {4096, "half"});
    static_assert(unlike.match == Match::defaults);
    static_assert(unlike->kernel == gemm::Kernel::tiled && unlike->parameters.TILE == 1);
    constexpr auto other = gemm::select(gemm::Kernel::buffered, {"NVIDIA A100", 80}, {4096, "float"});
    static_assert(other.match == Match::defaults && other->parameters.DEPTH == 2);

    template <int TILE>
    int tile() {
      return TILE;
    }

    int main() {
      return tile<exact->parameters.TILE>() == 64 && to_text(nearest.match) == "nearest problem"
                 ? 0
                 : 1;
    }
  )cpp");
}

TEST_F(ExportHeader, NeverSelectsWhatWasSlowerThanTheDefaultValuesNearby) {
  const auto at = [](std::int64_t n, std::int64_t tile, double ms) {
    return stored("NVIDIA H200", 9, size(n, "float"), "tiled", {{"TILE", number(tile)}}, ms);
  };
  StoredResult fails = at(4096, 4, 0);
  fails.result.status = Status::runtime;
  fails.result.stage = Stage::none;
  const std::vector<StoredResult> best = {at(1024, 2, 1), at(4096, 3, 4), at(256, 4, 0.1)};
  const std::vector<StoredResult> candidates = {at(4096, 2, 9),   at(1024, 1, 2),  at(4096, 1, 8),
                                                at(1024, 3, 1.5), at(256, 1, 0.4), fails};
  compile_and_run(export_header(best, {defaults().front()}, {}, candidates), R"cpp(
#include "best.h"

    namespace gemm = smemtune_best::gemm;
    using smemtune::Match;
    constexpr auto at(long long n) { return gemm::select({"NVIDIA H200", 90}, {n, "float"}); }
    static_assert(at(1024).match == Match::exact && at(1024)->parameters.TILE == 2);
    static_assert(at(1500).match == Match::nearest_problem && at(1500)->parameters.TILE == 3);
    static_assert(at(8192)->parameters.TILE == 3 && at(8192)->problem.N == 4096);
    static_assert(at(200).match == Match::defaults);  // It does not run at a size near by.
    static_assert(at(1LL << 30).match == Match::defaults && at(1LL << 30)->parameters.TILE == 1);
    static_assert(gemm::select(gemm::Kernel::tiled, {"NVIDIA H200", 90}, {1500, "float"})
                      ->parameters.TILE == 3);
    int main() { return 0; }
  )cpp");
}

TEST_F(ExportHeader, HasNoChoiceWithoutDefaults) {
  compile_and_run(
      export_header(results(), {}),
      R"cpp(
#include "best.h"
        static_assert(!smemtune_best::gemm::select({"NVIDIA A100", 80}, {4096, "float"}));
        int main() {
          return smemtune_best::gemm::select({"", 0}, {1, ""}).match == smemtune::Match::none ? 0 : 1;
        }
      )cpp");
}

TEST_F(ExportHeader, TwoHeadersShareTheSelection) {
  std::vector<StoredResult> others = results();
  for (StoredResult& one : others) one.space = "conv";
  write("other.h", export_header(others, {}));
  compile_and_run(export_header(results(), defaults()), R"cpp(
#include "best.h"
#include "other.h"
    static_assert(smemtune_best::conv::select({"NVIDIA H200", 90}, {4096, "float"})->time_ms ==
                  smemtune_best::gemm::select({"NVIDIA H200", 90}, {4096, "float"})->time_ms);
    int main() { return 0; }
  )cpp");
}

TEST_F(ExportHeader, StoredTextStaysText) {
  const std::string nasty =
      "\"};\n}} int evil = system(\"touch pwned\"); /* */ // \\\n#include \"/etc/passwd\"\n"
      "?\?/ ?\?' %s \x1b[2J \xff \xe2\x80\xae )\" R\"(";
  std::vector<StoredResult> hostile = results();
  hostile[0].device.name = nasty;
  hostile[0].result.problem = {{"N", number(INT64_MIN)}, {"T", nasty}};
  hostile[0].result.configuration = {{"TILE", nasty}, {"double", number(INT64_MAX)}};
  hostile[0].result.kernel = "switch";
  hostile[1].result.problem = {{"Problem", "word"}, {"N", "word"}};
  hostile[1].result.configuration = {{"Parameters", number(3)}};
  for (StoredResult& one : hostile) one.space = "namespace";
  const std::string header = export_header(hostile, {});
  EXPECT_TRUE(
      std::ranges::all_of(header, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_THAT(header, Not(HasSubstr("\n#include \"/etc")));
  compile_and_run(header, R"cpp(
#include "best.h"
                                namespace space = smemtune_best::namespace_;
                                int evil = 0;
                                int main() {
                                  for (const auto& entry : space::entries) {
                                    if (entry.kernel != space::Kernel::switch_) continue;
                                    const bool same = entry.parameters.TILE == entry.device && entry.problem.T == entry.device;
                                    return same && entry.device.size() ==)cpp" +
                              std::to_string(nasty.size()) +
                              R"cpp(&&evil == 0 && entry.parameters.double_ > 0 ? 0 : 1;
                                    }
                                    return 2;
                                    }
                              )cpp");
}

TEST_F(ExportHeader, RefusesNamesThatAreNone) {
  const std::vector<std::string> bad = {"",
                                        "1st",
                                        "a b",
                                        "a;b",
                                        "a\nb",
                                        "a\"b",
                                        "__LINE__",
                                        "_Exit",
                                        "caf\xc3\xa9",
                                        std::string("a\0b", 3),
                                        std::string(65, 'a')};
  for (const std::string& name : bad) {
    std::vector<StoredResult> one = {results().front()};
    one[0].space = name;
    EXPECT_THROW(export_header(one, {}), InputError) << name;
    one = {results().front()};
    one[0].result.kernel = name;
    EXPECT_THROW(export_header(one, {}), InputError) << name;
    one = {results().front()};
    one[0].result.problem[name] = number(1);
    EXPECT_THROW(export_header(one, {}), InputError) << name;
    one = {results().front()};
    one[0].result.configuration[name] = number(1);
    EXPECT_THROW(export_header(one, {}), InputError) << name;
    EXPECT_THROW(export_defines(one[0]), InputError) << name;
  }
}

TEST(ExportDefines, AreOneConfiguration) {
  StoredResult best = results()[1];
  best.result.configuration["T"] = "unsigned char";
  best.result.measurement.median_ms = 0.06826650000000001;
  EXPECT_EQ(
      export_defines(best),
      "// gemm buffered, N=4096,T=float on NVIDIA H200: 0.06827 ms, compared with definition\n"
      "#define DEPTH 8\n#define T unsigned char\n#define TILE 64\n");
}

TEST(ExportDefines, RefuseWordsAndNamesThatWouldBeCode) {
  for (const char* word : {"", "1", "a\nb", "f()", "a;b", "x\\", "\"s\"", "a/*", "#", "a%:b"}) {
    StoredResult best = results()[0];
    best.result.configuration["T"] = word;
    EXPECT_THROW(export_defines(best), InputError) << word;
  }
  StoredResult best = results()[0];
  best.result.configuration["if"] = number(1);
  EXPECT_THROW(export_defines(best), InputError);
}

TEST(ExportDefines, ACommentEndsWithItsLine) {
  StoredResult best = results()[0];
  best.device.name = "evil\n#define EVIL\\\n?\?/\r*/";
  const std::string text = export_defines(best);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
  EXPECT_THAT(text, Not(HasSubstr("#define EVIL")));
  EXPECT_THAT(text, Not(HasSubstr("\\")));
  EXPECT_THAT(text, Not(HasSubstr("?")));
}

TEST(StringLiteral, EscapesWhatIsNotPlain) {
  EXPECT_EQ(string_literal("NVIDIA H200"), "\"NVIDIA H200\"");
  EXPECT_EQ(string_literal("a\"b\\?1\n"), R"("a\042b\134\0771\012")");
}

}  // namespace
}  // namespace smemtune::db
