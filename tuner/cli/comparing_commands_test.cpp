// `compare` and `export --portfolio` as their users see them: the built executable is run.

#include "db/planted_results.h"
#include "smemtune/smemtune.h"
#include "tuner/core/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>

namespace smemtune {
namespace {

using Json = nlohmann::json;
using db::planted;
using db::planted_device;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Ended {
  int status = -1;
  std::string out;
  std::string err;
};

class ComparingCommands : public testing::Test {
 protected:
  /// In the test's folder, through a shell.
  Ended run(const std::string& words) const {
    const std::string command = "cd '" + folder_.path().string() +
                                "' && SMEMTUNE_DB=results.sqlite XDG_CACHE_HOME=$PWD/cache "
                                "XDG_RUNTIME_DIR=$PWD GIT_CONFIG_GLOBAL=/dev/null " +
                                words + " > out 2> err";
    const int status = std::system(command.c_str());
    return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .out = read("out"),
            .err = read("err")};
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

Configuration tile(std::int64_t size) { return {{"TILE", size}}; }

TEST_F(ComparingCommands, CompareWritesItsFormats) {
  record("Large", {planted(tile(8), 1), planted(tile(16), 2), planted(tile(32), 1.5)});
  record("Small", {planted(tile(8), 9), planted(tile(16), 3), planted(tile(32), 4)});
  const Ended text = smemtune("compare");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("loses least at worst: tiled TILE=32: keeps 67 % at worst"));
  EXPECT_THAT(text.out, HasSubstr("on Small: Large's best keeps 33 %, 200.0 % slower"));
  EXPECT_THAT(smemtune("compare --format md").out, HasSubstr("| 1 Large | best | 33 % |"));
  EXPECT_THAT(smemtune("compare --format csv").out, HasSubstr(",Small,Large,tiled,TILE=8,9,0.33"));
  const Json document = Json::parse(smemtune("compare --json").out);
  EXPECT_EQ(document, Json::parse(smemtune("compare --format json").out));
  EXPECT_EQ(document["format"], "smemtune-comparison");
  EXPECT_EQ(smemtune("compare --format yaml").status, 2);
  EXPECT_EQ(smemtune("compare --device Nobody").status, 2);
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

TEST_F(ComparingCommands, APortfolioThatIsTooSmallIsRefused) {
  record("GPU", {planted(tile(1), 1, 100), planted(tile(2), 1, 200)});
  const Ended one = smemtune("export --portfolio 1");
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(one.err, HasSubstr("no 1 configuration"));
  EXPECT_EQ(smemtune("export --portfolio 2").status, 0);
}

}  // namespace
}  // namespace smemtune
