// Tests `compare`, `export --portfolio` and `diff` as their users see them: runs the built
// executable.

#include "db/planted_results_test_support.h"
#include "db/result_store.h"
#include "smemtune/smemtune.h"
#include "tuner/config/space_file.h"
#include "tuner/core/in_shell_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace smemtune {
namespace {

using Json = nlohmann::json;
using db::planted;
using db::planted_device;
using db::planted_failure;
using db::tile;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ComparingCommands : public testing::Test {
 protected:
  ComparingCommands() {
    setenv("SMEMTUNE_SHIPPED", "off", 1);
    setenv("COLUMNS", "1000", 1);  // Sentences in one line.
  }

  /// Runs a command in the test's folder, through a shell.
  Ended run(const std::string& words) const {
    return in_shell("cd '" + folder_.path().string() +
                    "' && export SMEMTUNE_DB=$PWD/results.sqlite XDG_CACHE_HOME=$PWD/cache "
                    "XDG_RUNTIME_DIR=$PWD GIT_CONFIG_GLOBAL=/dev/null && " +
                    words);
  }
  Ended smemtune(const std::string& words) const {
    return run("'" SMEMTUNE_EXECUTABLE "' " + words);
  }

  std::string read(const std::string& name) const {
    std::ifstream stream(folder_.path() / name, std::ios::binary);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
  }

  std::filesystem::path database() const { return folder_.path() / "results.sqlite"; }

  void record(const std::string& device, const std::vector<Result>& results) const {
    db::ResultStore store(database());
    const auto log = store.begin_run(db::planted_run(planted_device(device), "run-" + device));
    for (const Result& result : results) log->record("hash", result);
  }

  TemporaryFolder folder_;
};

TEST_F(ComparingCommands, CompareWritesItsFormats) {
  record("Large", {planted(tile(8), 1), planted(tile(16), 2), planted(tile(32), 1.5)});
  record("Small", {planted(tile(8), 9), planted(tile(16), 3), planted(tile(32), 4)});
  const Ended text = smemtune("compare");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(
      text.out,
      HasSubstr("smallest loss on the worst GPU: tiled TILE=32, which keeps 67 % on Large"));
  EXPECT_THAT(
      text.out,
      HasSubstr(
          "on Small: do not take over the best of Large: it keeps 33 %, takes 3.0x the time"));
  EXPECT_THAT(smemtune("compare --format md").out, HasSubstr("| 1 Large | best | 33 % |"));
  EXPECT_THAT(smemtune("compare --format csv").out,
              HasSubstr(",Small,own,Large,own,tiled,TILE=8,9,0.33"));
  const Json document = Json::parse(smemtune("compare --json").out);
  EXPECT_EQ(document, Json::parse(smemtune("compare --format json").out));
  EXPECT_EQ(document["format"], "smemtune-comparison");
  EXPECT_EQ(smemtune("compare --format yaml").status, 2);
  EXPECT_EQ(smemtune("compare --device Nobody").status, 2);
}

TEST_F(ComparingCommands, SharedResultsLieBelowOnesOwn) {
  record("Small", {planted(tile(8), 9), planted(tile(16), 3)});
  ASSERT_EQ(smemtune("export --db results.sqlite -o team.json").status, 0);
  std::filesystem::rename(database(), folder_.path() / "team.sqlite");
  record("Large", {planted(tile(8), 1), planted(tile(16), 2)});
  EXPECT_THAT(smemtune("best").out, Not(HasSubstr("Small")));
  for (const std::string shared : {"team.sqlite", "team.json"}) {
    const std::string words = "SMEMTUNE_SHARED_DB=" + shared + " '" SMEMTUNE_EXECUTABLE "' ";
    const Ended best = run(words + "best");
    EXPECT_THAT(best.out, AllOf(HasSubstr("Large"), HasSubstr("  " + shared)));
    EXPECT_THAT(run(words + "best --source own").out, Not(HasSubstr("Small")));
    EXPECT_EQ(Json::parse(run(words + "best --device Small --json").out)
                  .at("best")
                  .at(0)
                  .at("provenance")
                  .at("shared_from"),
              shared);
    EXPECT_THAT(run(words + "compare").out, HasSubstr("  " + shared + "  "));
    EXPECT_THAT(run(words + "list").out, AllOf(HasSubstr("Large"), HasSubstr("  " + shared)));
    EXPECT_THAT(run(words + "list --source own").out, Not(HasSubstr(shared)));
    EXPECT_THAT(run(words + "export --format csv").out, HasSubstr("," + shared + "\n"));
    EXPECT_THAT(run(words + "export --source own").out, Not(HasSubstr("Small")));
    EXPECT_THAT(run(words + "list --source shared").out, HasSubstr("  " + shared));
    EXPECT_THAT(run(words + "report --format md").out, HasSubstr("Small"));
    const Ended none = run(words + "best --db none.sqlite");
    EXPECT_EQ(none.status, 0);
    EXPECT_THAT(none.err, HasSubstr("none.sqlite: no such database"));
  }
  const Ended missing = run("SMEMTUNE_SHARED_DB=gone.json '" SMEMTUNE_EXECUTABLE "' best");
  EXPECT_EQ(missing.status, 0);
  EXPECT_THAT(missing.err,
              HasSubstr("gone.json: cannot be opened: No such file or directory; left out"));
  EXPECT_EQ(smemtune("best --source own,team").status, 2);
}

TEST_F(ComparingCommands, SharedExportsAreReadOnceAndAgainWhenTheyChange) {
  namespace fs = std::filesystem;
  const auto share = [&](const std::string& device) {
    record(device, {planted(tile(8), 9), planted(tile(16), 3)});
    ASSERT_EQ(smemtune("export --db results.sqlite -o team.json").status, 0);
    fs::remove(database());
  };
  const auto best = [&] {
    return run("SMEMTUNE_SHARED_DB=team.json '" SMEMTUNE_EXECUTABLE "' best --db none.sqlite");
  };
  const fs::path folder = folder_.path() / "cache" / "smemtune" / "shared";
  const auto copies = [&] {
    const fs::directory_iterator all(folder);
    return std::vector<fs::path>(begin(all), end(all));
  };
  share("Small");
  EXPECT_THAT(best().out, HasSubstr("Small"));
  ASSERT_THAT(copies(), testing::SizeIs(1));
  const auto written = fs::last_write_time(copies().front());
  EXPECT_THAT(best().out, HasSubstr("Small"));
  EXPECT_EQ(fs::last_write_time(copies().front()), written);

  share("Other");
  EXPECT_THAT(best().out, AllOf(HasSubstr("Other"), Not(HasSubstr("Small"))));
  ASSERT_THAT(copies(), testing::SizeIs(1)) << "the copy of what it was before is gone";

  fs::resize_file(copies().front(), 0);  // A loss of power may leave it so.
  EXPECT_THAT(best().out, HasSubstr("Other"));
  EXPECT_GT(fs::file_size(copies().front()), 0u);

  share("Small");
  fs::permissions(folder, fs::perms::all);
  const Ended others_may_write = best();
  EXPECT_THAT(others_may_write.out, HasSubstr("Small"));
  EXPECT_THAT(others_may_write.err, Not(HasSubstr("left out")));
  EXPECT_THAT(copies(), testing::IsEmpty());
}

TEST_F(ComparingCommands, ImportsAnswerByThemselvesAndBelowWhatWasMeasuredHere) {
  const auto cache = [&](const std::string& device) {
    folder_.write(device + ".json", R"({"device_name": ")" + device +
                                        R"(", "problem_size": [64], "kernel_name": "tiled",
             "tune_params_keys": ["TILE"], "tune_params": {"TILE": [32, 64]},
             "cache": {"32": {"TILE": 32, "time": 1.5}, "64": {"TILE": 64, "time": 2.5}}})");
    ASSERT_EQ(smemtune("import " + device + ".json").status, 0);
  };
  cache("A100-SXM4-40GB");
  const Ended report = smemtune("report --format json");
  ASSERT_EQ(report.status, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("A100-SXM4-40GB"));
  EXPECT_THAT(smemtune("best").out, HasSubstr("A100-SXM4-40GB.json"));
  const Json exported = Json::parse(smemtune("export").out);
  ASSERT_EQ(exported.at("best").size(), 1u);
  EXPECT_EQ(exported["best"][0]["device"]["compute_capability"], "8.0");
  EXPECT_THAT(smemtune("export --format header").out, HasSubstr("{\"A100-SXM4-40GB\", 80, "));

  // Results that were measured here take precedence over others of the same.
  db::ResultStore store(database());
  const smemtune::Run own = db::planted_run(planted_device("A100-SXM4-40GB"), "own", "tiled");
  Result result = planted(tile(8), 9);
  result.problem =
      db::ResultStore(database()).best({.source = "imported"}, false)[0].result.problem;
  store.begin_run(own)->record("hash", result);
  EXPECT_EQ(Json::parse(smemtune("best --json").out).at("best").size(), 2u);
  const Json one = Json::parse(smemtune("export").out).at("best");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["provenance"]["imported_from"], nullptr);
}

TEST_F(ComparingCommands, TablesFit80ColumnsWithoutATerminal) {
  unsetenv("COLUMNS");
  Configuration wide;
  for (int i = 0; i < 40; ++i) wide["A_PARAMETER_" + std::to_string(i)] = std::int64_t{4096};
  for (const char letter : {'x', 'y'}) {
    record(std::string(300, letter) + " of many words and more", {planted(wide, 1)});
  }
  for (const char* const words : {"best", "best --per-kernel", "list", "list --results",
                                  "compare --all-pairs", "devices --known", "db info"}) {
    const Ended ended = smemtune(words);
    ASSERT_EQ(ended.status, 0) << words << ended.err;
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) {
      // A sentence of compare keeps a device's name whole, in a line of its own.
      const bool is_one_word = line.find(' ', line.find_first_not_of(' ')) == line.npos;
      if (is_one_word && std::string(words).starts_with("compare")) continue;
      EXPECT_LE(line.size(), 80u) << words << ": " << line;
    }
  }
}

TEST_F(ComparingCommands, WhatComesWithSmemtuneAnswersUnlessItIsTurnedOff) {
  unsetenv("SMEMTUNE_SHIPPED");
  const Ended best = smemtune("best --json");
  ASSERT_EQ(best.status, 0) << best.err;
  EXPECT_THAT(best.err, Not(HasSubstr("left out")));
  const Json document = Json::parse(best.out);
  std::set<std::string> devices;
  for (const Json& entry : document.at("best")) {
    devices.insert(entry.at("device").at("name").get<std::string>());
    EXPECT_THAT(entry.at("provenance").at("shared_from").get<std::string>(),
                testing::StartsWith("shipped/"));
    const auto space = entry.at("space").get<std::string>();
    const LoadedSpace loaded =
        load_space(std::filesystem::path(SMEMTUNE_SOURCE_DIR) / "configs" / (space + ".json"),
                   SMEMTUNE_SOURCE_DIR);
    const auto kernel = entry.at("kernel").get<std::string>();
    EXPECT_TRUE(std::ranges::any_of(loaded.space.kernels,
                                    [&](const KernelTemplate& one) { return one.name == kernel; }))
        << space << "/" << kernel;
  }
  EXPECT_THAT(devices, testing::ElementsAre("NVIDIA H100 80GB HBM3", "NVIDIA H200"));
  EXPECT_EQ(smemtune("best --no-shipped").status, 4) << "there is no database";
}

TEST_F(ComparingCommands, APortfolioIsExportedForAHeaderAndTheLibrary) {
  std::vector<Result> results;
  for (const std::int64_t n : {100, 200, 400, 800, 3000, 6000, 12000, 24000}) {
    const auto ms = static_cast<double>(n);
    results.push_back(planted(tile(1), n < 1000 ? ms * 1.01 : ms * 2, n));
    results.push_back(planted(tile(2), n < 1000 ? ms * 3 : ms * 1.01, n));
    results.push_back(planted(tile(n), ms, n));
  }
  record("GPU", results);
  const Ended header = smemtune("export --portfolio 2 --format header -o best.h");
  EXPECT_EQ(header.status, 0) << header.err;
  EXPECT_THAT(header.err, AllOf(HasSubstr("gemm on GPU: 8 problems"),
                                HasSubstr("tiled TILE=1: N=100,T=float; N=200,T=float")));
  EXPECT_THAT(read("best.h"), HasSubstr("//   tiled TILE=1: N=100,T=float; N=200,T=float"));
  std::ofstream(folder_.path() / "use.cpp") << R"(
    #include "best.h"
    namespace gemm = smemtune_best::gemm;
    constexpr auto at(long long n) { return gemm::select({"GPU", 90}, {n, "float"}); }
    static_assert(at(150)->parameters.TILE == 1 && at(5000)->parameters.TILE == 2);
    static_assert(at(200).match == smemtune::Match::exact);
    int main() {})";
  const Ended compiled = run("'" SMEMTUNE_TEST_CXX "' -std=c++17 -fsyntax-only use.cpp");
  EXPECT_EQ(compiled.status, 0) << compiled.err;

  ASSERT_EQ(smemtune("export --portfolio 2 -o best.json").status, 0);
  const Results library(folder_.path() / "best.json");
  EXPECT_EQ(key(library.select({"GPU", 90}, "gemm", {{"N", 150}, {"T", "float"}}).parameters),
            "TILE=1");
  EXPECT_EQ(key(library.select({"GPU", 90}, "gemm", {{"N", 9000}, {"T", "float"}}).parameters),
            "TILE=2");
  const Json portfolio = Json::parse(read("best.json")).at("portfolios").at(0);
  EXPECT_EQ(portfolio.at("configurations"), 2);
  EXPECT_NEAR(portfolio.at("loss").at("worst_percent").get<double>(), 1, 1e-6);
  EXPECT_NEAR(portfolio.at("sizes").at(1).at("held_back").at("mean_percent").get<double>(), 1,
              1e-6);
  EXPECT_EQ(smemtune("export --portfolio 0").status, 2);
}

TEST_F(ComparingCommands, RulesAreExportedWithWhatTheyLose) {
  std::vector<Result> results;
  for (const std::int64_t n : {100, 200, 400, 800, 3000, 6000, 12000, 24000}) {
    const auto ms = static_cast<double>(n);
    results.push_back(planted(tile(1), n < 1000 ? ms : ms * 2, n));
    results.push_back(planted(tile(2), n < 1000 ? ms * 3 : ms, n));
    results.push_back(planted(tile(3), ms * 1.5, n));
    results.back().is_default = true;
  }
  record("GPU", results);
  const Ended cpp = smemtune("export --rules cpp -o rules.h");
  EXPECT_EQ(cpp.status, 0) << cpp.err;
  EXPECT_THAT(cpp.err, HasSubstr("gemm on GPU: 8 sizes. At 8 of them"));
  EXPECT_THAT(read("rules.h"), AllOf(HasSubstr("it loses 0.0 % to their bests"),
                                     HasSubstr("if (p.N <= 1549) {"), HasSubstr("0 of 8")));
  std::ofstream(folder_.path() / "use.cpp") << R"(
    #include "rules.h"
    namespace gemm = smemtune_rules::gemm;
    constexpr auto at(long long n) { return gemm::select("GPU", {n, "float"}).parameters.TILE; }
    static_assert(at(100) == 1 && at(1549) == 1 && at(1550) == 2 && at(24000) == 2);
    static_assert(at(1 << 20) == 3);
    int main() {})";
  const Ended compiled = run("'" SMEMTUNE_TEST_CXX "' -std=c++17 -fsyntax-only use.cpp");
  EXPECT_EQ(compiled.status, 0) << compiled.err;
  const Ended one = smemtune("export --rules python --portfolio 1");
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("def gemm_select(device, **problem):"));
  EXPECT_EQ(smemtune("export --rules cpp --format json").status, 2);
  EXPECT_EQ(smemtune("export --rules java").status, 2);
}

TEST_F(ComparingCommands, BestsThatComeWithSmemtuneHavePortfoliosAndRules) {
  setenv("SMEMTUNE_SHIPPED", "on", 1);
  const std::string asked = "export --space gemm --source shared --device H200 ";
  const Ended portfolio = smemtune(asked + "--portfolio 3 --format header -o best.h");
  EXPECT_EQ(portfolio.status, 0) << portfolio.err;
  EXPECT_THAT(portfolio.err, HasSubstr("gemm on NVIDIA H200, from shipped/h200.json"));
  const Ended rules = smemtune(asked + "--rules cpp -o rules.h");
  EXPECT_EQ(rules.status, 0) << rules.err;
  std::ofstream(folder_.path() / "use.cpp") << R"(
    #include "best.h"
    #include "rules.h"
    static_assert(smemtune_best::gemm::select({"NVIDIA H200", 90}, {4096, 4096, 4096, "float"}));
    constexpr auto tiny = smemtune_rules::gemm::select("NVIDIA H200", {4096, 4096, 1, "float"});
    static_assert(tiny.kernel == smemtune_rules::gemm::Kernel::narrow);
    int main() {})";
  const Ended compiled = run("'" SMEMTUNE_TEST_CXX "' -std=c++17 -fsyntax-only use.cpp");
  EXPECT_EQ(compiled.status, 0) << compiled.err;
}

TEST_F(ComparingCommands, APortfolioSaysHowManyOfItsTimesArePredictions) {
  record("GPU", {planted(tile(1), 1, 100), planted(tile(2), 1, 200)});
  const Ended portfolio = smemtune("export --portfolio 1");
  EXPECT_EQ(portfolio.status, 0) << portfolio.err;
  EXPECT_THAT(portfolio.err,
              HasSubstr("1 of the 2 chosen times are predictions, as nothing was measured there"));
}

TEST_F(ComparingCommands, APortfolioThatIsTooSmallIsRefused) {
  record("GPU", {planted(tile(1), 1, 100), planted_failure(tile(1), 200), planted(tile(2), 1, 200),
                 planted_failure(tile(2), 100)});
  const Ended one = smemtune("export --portfolio 1");
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(one.err, HasSubstr("no choice of 1 configuration"));
  EXPECT_EQ(smemtune("export --portfolio 2").status, 0);
}

TEST_F(ComparingCommands, NamesThatAMessageListsStayOnItsLine) {
  for (const std::string kernel : {"one\\nname", "another"}) {
    folder_.write("cache.json", R"({"device_name": "A", "problem_size": [64], "kernel_name": ")" +
                                    kernel +
                                    R"(", "tune_params_keys": ["B"], "tune_params": {"B": [32]},
                                    "cache": {"32": {"B": 32, "time": 1.5}}})");
    ASSERT_EQ(smemtune("import cache.json").status, 0);
  }
  for (const std::string words : {"report", "best --space gone"}) {
    const Ended ended = smemtune(words + " --source imported");
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr("one name"));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
}

TEST_F(ComparingCommands, AReportOfAnUnknownFormatIsRefusedWithThoseThatThereAre) {
  const Ended ended = smemtune("report --format svg");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("--format"), HasSubstr("svg"), HasSubstr("html"),
                               HasSubstr("md"), HasSubstr("json")));
}

class DiffCommand : public ComparingCommands {
 protected:
  /// Writes a space with a kernel that repeats its work `times` times.
  void write_space(const std::string& folder, int times, const std::string& factor = "2.0f") const {
    folder_.write(folder + "/mine.cu", R"(
template <int THREADS>
__global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  volatile float sum = 0;
  for (int time = 0; time < )" + std::to_string(times) +
                                           R"(; ++time) sum = in[i] * )" + factor + R"(;
  out[i] = sum;
}
)");
    folder_.write(folder + "/mine.json", R"json({
      "name": "mine", "description": "doubles each element",
      "problems": [{ "N": 20000 }],
      "arguments": [
        { "name": "in", "type": "float", "shape": ["N"], "role": "input", "init": "uniform(-1, 1)" },
        { "name": "out", "type": "float", "shape": ["N"], "role": "output" },
        { "name": "n", "type": "int", "value": "N" }],
      "verify": { "reference": "twice", "definition": "out[i] = in[i] + in[i]" },
      "kernels": [{ "name": "twice", "source": "mine.cu", "entry": "twice<THREADS>",
        "parameters": { "THREADS": [32, 64] },
        "block": ["THREADS"], "grid": ["ceil_div(N, THREADS)"] }]
})json");
  }
};

TEST_F(DiffCommand, FindsALossAndAGain) {
  write_space("fast", 1);
  write_space("slow", 4000);
  const Ended loss = smemtune("diff fast/mine.json slow/mine.json --device cpu --json");
  EXPECT_EQ(loss.status, 1) << loss.err;
  const Json document = Json::parse(loss.out);
  EXPECT_EQ(document.at("format"), "smemtune-diff");
  const Json& pair = document.at("pairs").at(0);
  EXPECT_EQ(pair.at("what"), "default of twice");
  EXPECT_EQ(pair.at("outcome"), "slower");
  EXPECT_GT(pair.at("slower").at("low_percent").get<double>(), 3);
  EXPECT_EQ(pair.at("loss"), true);
  const Ended gain = smemtune("diff slow/mine.json fast/mine.json --device cpu --format md");
  EXPECT_EQ(gain.status, 0) << gain.err;
  EXPECT_THAT(gain.out, AllOf(HasSubstr("| default of twice |"), HasSubstr(" % faster (")));
  EXPECT_EQ(
      smemtune("diff fast/mine.json slow/mine.json --device cpu -q --tolerance 1000000").status, 0);
}

TEST_F(DiffCommand, MeasuresNothingWhereTheCodeIsTheSame) {
  write_space("a", 1);
  write_space("b", 1);
  const Ended same = smemtune("diff a/mine.json b/mine.json --device cpu");
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("same code: nothing to measure"));
}

TEST_F(DiffCommand, ANewVersionThatIsWrongIsALoss) {
  write_space("right", 1);
  write_space("wrong", 1, "2.5f");
  const Ended loss = smemtune("diff right/mine.json wrong/mine.json --device cpu");
  EXPECT_EQ(loss.status, 1) << loss.out << loss.err;
}

TEST_F(DiffCommand, HoldsTheStoredWinnersAgainstEachOther) {
  write_space("old", 1);
  write_space("new", 2);
  ASSERT_EQ(smemtune("--space old/mine.json --device cpu -q").status, 0);
  const Ended before = smemtune("diff old/mine.json new/mine.json --device cpu --tolerance 1e6");
  EXPECT_THAT(before.out, HasSubstr("old winner"));
  ASSERT_EQ(smemtune("--space new/mine.json --device cpu -q").status, 0);
  const Ended after = smemtune("diff old/mine.json new/mine.json --device cpu --tolerance 1e6");
  EXPECT_THAT(after.out, AllOf(HasSubstr(" winner "), Not(HasSubstr("old winner"))));
}

TEST_F(DiffCommand, TakesAVersionFromGit) {
  if (run("git --version").status != 0) GTEST_SKIP() << "no git";
  write_space("repository/spaces", 1);
  const std::string git = "git -C repository -c user.name=n -c user.email=e ";
  ASSERT_EQ(run("git init -q repository && " + git + "add . && " + git + "commit -qm first").status,
            0)
      << read("err");
  write_space("repository/spaces", 4000);
  const std::string diff = "'" SMEMTUNE_EXECUTABLE "' diff ";
  const Ended loss =
      run("cd repository && " + diff + "HEAD:spaces/mine.json spaces/mine.json --device cpu");
  EXPECT_EQ(loss.status, 1) << loss.err;
  EXPECT_THAT(loss.out, HasSubstr("HEAD:spaces/mine.json -> spaces/mine.json"));
  EXPECT_EQ(run("cd repository/spaces && " + diff +
                "HEAD:./mine.json HEAD:spaces/mine.json "
                "--device cpu")
                .status,
            0)
      << read("err");
  const Ended no_file = run("cd repository && " + diff + "HEAD:mine.json spaces/mine.json");
  EXPECT_EQ(no_file.status, 2);
  EXPECT_THAT(no_file.err, HasSubstr("the revision has no such file"));
  const Ended no_revision =
      run("cd repository && " + diff + "'--output=x:spaces/mine.json' spaces/mine.json");
  EXPECT_EQ(no_revision.status, 2);
  EXPECT_THAT(run("cd repository && " + diff + "nowhere:spaces/mine.json spaces/mine.json").err,
              HasSubstr("there is no such revision"));
}

TEST_F(DiffCommand, RefusesOtherProblems) {
  write_space("a", 1);
  write_space("b", 1);
  std::string other = read("b/mine.json");
  other.replace(other.find("20000 }"), 7, R"(20000, "M": 1 })");
  folder_.write("b/mine.json", other);
  const Ended refused = smemtune("diff a/mine.json b/mine.json --device cpu");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("there is nothing to compare"));
}

}  // namespace
}  // namespace smemtune
