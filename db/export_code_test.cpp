#include "db/code_names.h"
#include "db/export_formats.h"
#include "db/folder_test_support.h"
#include "tuner/core/error.h"
#include "tuner/core/stored_expressions.h"

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

// clang++ evaluates at most 1,048,576 steps.
TEST_F(ExportHeader, SelectsAtCompileTimeAmongThousandsOfResults) {
  std::vector<StoredResult> bests;
  std::vector<StoredResult> candidates;
  for (int i = 0; i < 150; ++i) {
    for (const char* type : {"float", "__half", "__nv_bfloat16"}) {
      for (int tile = 0; tile < 5; ++tile) {
        (tile == 0 ? bests : candidates)
            .push_back(stored("NVIDIA H200", 9, size(1000 + 7 * i, type), "tiled",
                              {{"TILE", number(4 << tile)}}, 1 + tile));
      }
    }
  }
  compile_and_run(export_header(bests, defaults(), "", candidates), R"cpp(
#include "best.h"

    constexpr auto chosen =
        smemtune_best::gemm::select({"NVIDIA H200", 90}, {1001, "unsigned short"});
    static_assert(chosen.match == smemtune::Match::nearest_problem && chosen->parameters.TILE == 4);

    int main() { return 0; }
  )cpp");
}

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

    constexpr auto of_other_type = gemm::select(h200, {512, "half"});
    static_assert(of_other_type.match == Match::nearest_problem && of_other_type.size_ratio == 12);
    static_assert(of_other_type->problem.N == 512 && of_other_type->problem.T == "float");

    constexpr auto unlike = gemm::select(h200, {4096, "row"});
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

StoredResult tiled(std::int64_t n, std::int64_t tile, double ms) {
  return stored("NVIDIA H200", 9, size(n, "float"), "tiled", {{"TILE", number(tile)}}, ms);
}

TEST_F(ExportHeader, SelectsWhatIsPredictedToBeTheFastest) {
  StoredResult fails = tiled(4096, 4, 0);
  fails.result.status = Status::runtime;
  fails.result.stage = Stage::none;
  const std::vector<StoredResult> best = {tiled(1024, 2, 1), tiled(4096, 3, 4), tiled(256, 4, 0.1)};
  const std::vector<StoredResult> candidates = {tiled(4096, 2, 9),   tiled(1024, 1, 1.1),
                                                tiled(4096, 1, 4.4), tiled(1024, 3, 1.5),
                                                tiled(256, 1, 0.2),  fails};
  compile_and_run(export_header(best, {defaults().front()}, {}, candidates), R"cpp(
#include "best.h"

    namespace gemm = smemtune_best::gemm;
    using smemtune::Match;
    constexpr auto at(long long n) { return gemm::select({"NVIDIA H200", 90}, {n, "float"}); }
    static_assert(at(1024).match == Match::exact && at(1024)->parameters.TILE == 2);
    static_assert(at(1100).match == Match::nearest_problem && at(1100)->parameters.TILE == 2);
    static_assert(at(2048)->parameters.TILE == 1 && at(2048)->time_ms == 1.1);  // The default.
    static_assert(at(5000)->parameters.TILE == 3 && at(5000)->problem.N == 4096);
    static_assert(at(200)->parameters.TILE == 4);
    static_assert(gemm::select(gemm::Kernel::tiled, {"NVIDIA H200", 90}, {2048, "float"})
                      ->parameters.TILE == 1);
    int main() { return 0; }
  )cpp");
}

TEST_F(ExportHeader, SelectsOnlyWhatSatisfiesItsConstraints) {
  const std::vector<StoredResult> best = {tiled(1024, 32, 1), tiled(4000, 16, 1),
                                          tiled(1001, 7, 1)};
  std::vector<StoredResult> all = best;
  for (StoredResult& one : all) one.device.max_shared_bytes_per_block = 2048;
  std::vector<KernelDefaults> with = {defaults().front()};
  with[0].constraints = {"N % TILE == 0", "TILE * TILE * sizeof(T) <= max_shared_bytes_per_block"};
  const std::string program = R"cpp(
#include "best.h"

    namespace gemm = smemtune_best::gemm;
    using smemtune::Match;
    constexpr auto at(long long n) { return gemm::select({"NVIDIA H200", 90}, {n, "float"}); }
    static_assert(at(1024)->parameters.TILE == 32);  // It was measured.
    static_assert(at(1040)->parameters.TILE == 16);  // 32 does not divide it.
    static_assert(at(1088)->parameters.TILE == 16);  // 32 needs 4 KB.
    static_assert(at(1008)->parameters.TILE == 7);
    static_assert(at(1009).match == Match::defaults);
    int main() { return 0; }
  )cpp";
  compile_and_run(export_header(all, with), program);
}

TEST_F(ExportHeader, HasConstraintsThatSayWhatThoseOfTheSpaceDo) {
  const std::vector<std::string> texts = {"N / TILE * TILE == N",
                                          "N / (TILE - 8) > 3",
                                          "ceil_div(N, TILE) <= sm_count or TILE == 8",
                                          "T == float ? TILE <= 16 : TILE >= 16",
                                          "T != double && !(TILE > 8)",
                                          "min(N, TILE, 12) + max(3, TILE) >= 20",
                                          "round_up(N, TILE) - N < 3",
                                          "is_pow2(TILE) && log2(TILE) % 2 == 1",
                                          "gcd(N, TILE) > 4 || N & 1",
                                          "pow2(TILE / 4) > N",
                                          "N * N * N * N * N * N > 0",
                                          "-N + TILE * 4 < ~N ^ 3",
                                          "(N > 100) == (TILE > 8)",
                                          "N << 2 >= TILE >> 1",
                                          "abs(N - 100) < 50",
                                          "T == __half",
                                          "N // TILE > 3",
                                          "select(1, 2, 3)",
                                          "not N",
                                          "N +",
                                          "UNKNOWN > 3",
                                          "system(\"rm -rf\")",
                                          "T == \"\\\"); evil(\"",
                                          "N ** 2 > 5"};
  std::vector<StoredResult> results;
  std::vector<KernelDefaults> with;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    results.push_back(tiled(128, 8, 1));
    results.back().result.kernel = "k" + std::to_string(i);
    with.push_back({.space = "gemm",
                    .kernel = results.back().result.kernel,
                    .configuration = {{"TILE", number(8)}},
                    .constraints = {texts[i]}});
  }
  results.push_back(stored("NVIDIA H200", 9, size(128, "double"), "k0", {{"TILE", number(8)}}, 1));
  std::string program = "#include \"best.h\"\nnamespace gemm = smemtune_best::gemm;\n";
  int true_count = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const StoredExpressions ours({texts[i]}, {{"TILE", number(8)}}, size(128, "float"));
    for (const std::int64_t n : {0, 1, 96, 100, 4096}) {
      for (const std::int64_t tile : {4, 8, 12, 32}) {
        for (const char* type : {"float", "double"}) {
          // Operators and names that only these texts have are left out.
          const bool is_left_out = i >= 16;
          const bool holds = !is_left_out && ours.hold({{"TILE", number(tile)}}, size(n, type),
                                                       {{"sm_count", number(10)}});
          true_count += holds ? 1 : 0;
          const bool has_no_value = texts[i] == "N / (TILE - 8) > 3" && tile == 8;
          if (has_no_value || i == 10) continue;  // Division by 0, and overflow.
          program += "static_assert(gemm::runs(gemm::Kernel::k" + std::to_string(i) + ", {" +
                     std::to_string(tile) + "}, {" + std::to_string(n) + ", \"" + type + "\"}, {" +
                     "10}) == " + (holds ? "true" : "false") + ");\n";
        }
      }
    }
  }
  EXPECT_GT(true_count, 100);
  compile_and_run(export_header(results, with), program + "int main() { return 0; }\n");
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
