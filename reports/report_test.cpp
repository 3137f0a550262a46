#include "reports/report_data.h"
#include "reports/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace smemtune {
namespace {

using db::StoredResult;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

StoredResult timed(std::int64_t tile, double ms, Stage stage = Stage::screen) {
  StoredResult stored;
  stored.space = "gemm";
  stored.run_id = "first";
  stored.device.name = "NVIDIA H200";
  stored.result.kernel = "tiled";
  stored.result.problem = {{"N", std::int64_t{4096}}};
  stored.result.configuration = {{"TILE", tile}};
  stored.result.stage = stage;
  stored.result.compared_with = ComparedWith::definition;
  stored.result.measurement.median_ms = ms;
  stored.result.measurement.median_low_ms = ms * 0.99;
  stored.result.measurement.median_high_ms = ms * 1.01;
  return stored;
}

StoredResult failed(std::int64_t tile, Status status, const std::string& reason) {
  StoredResult stored = timed(tile, 0, Stage::none);
  stored.result.status = status;
  stored.result.reason = reason;
  stored.result.detail = "needs 70000 bytes, 49152 allowed";
  return stored;
}

db::StoredRun run(const std::string& id, double started_unix) {
  db::StoredRun run;
  run.id = id;
  run.space = "gemm";
  run.device = "NVIDIA H200";
  run.started_unix = started_unix;
  return run;
}

ReportSource source_of(std::vector<StoredResult> results) {
  ReportSource source;
  source.space = "gemm";
  source.results = std::move(results);
  source.defaults = {
      {.space = "gemm", .kernel = "tiled", .configuration = {{"TILE", std::int64_t{16}}}}};
  source.runs.push_back(run("first", 100));
  const StoredResult* best = nullptr;
  for (const StoredResult& one : source.results) {
    const bool better =
        one.result.timed() &&
        (best == nullptr || one.result.measurement.median_ms < best->result.measurement.median_ms);
    if (better) best = &one;
  }
  if (best != nullptr) source.best = {*best};
  return source;
}

TEST(ReportSections, TakeTheNewestOfEachConfigurationAndNoFailureThatMayPass) {
  StoredResult again = timed(16, 3);
  again.at_unix = 1;
  StoredResult gone = timed(64, 1);
  gone.stale = true;
  const ReportSource source =
      source_of({timed(16, 4), again, timed(32, 2), failed(32, Status::runtime, "lost"),
                 failed(48, Status::constraints, "shared_bytes"), gone});
  const std::vector<ReportSection> sections = report_sections(source);
  ASSERT_EQ(sections.size(), 1u);
  ASSERT_EQ(sections[0].results.size(), 3u);
  EXPECT_EQ(sections[0].results[0]->result.measurement.median_ms, 3);
  EXPECT_TRUE(sections[0].results[1]->result.timed());
  EXPECT_TRUE(sections[0].results[2]->result.failed());
}

TEST(ReportFindings, SayWhoWonOverItsDefaultComparedWithWhatAndWhatFailed) {
  StoredResult tie = timed(64, 2.01, Stage::final);
  const ReportSource source =
      source_of({timed(16, 4), timed(32, 2, Stage::final), tie, timed(8, 3, Stage::final),
                 failed(48, Status::constraints, "shared_bytes")});
  EXPECT_THAT(findings(source, report_sections(source)[0]),
              ElementsAre("tiled with TILE=32 takes 2.000 ms on NVIDIA H200.",
                          "That is 2.00x the speed of its default (TILE=16, 4.000 ms).",
                          "Its results were held against the space's definition.",
                          "Statistically tied with it: tiled with TILE=64.",
                          "5 configurations tried, 4 timed; failed: 1 constraints."));
}

TEST(ReportFindings, SayThatNothingIsKnownToBeRight) {
  StoredResult alone = timed(16, 4);
  alone.result.compared_with = ComparedWith::only_itself;
  const ReportSource source = source_of({alone});
  EXPECT_THAT(findings(source, report_sections(source)[0]),
              Contains(HasSubstr("Nothing says that its results are right")));
}

TEST(ReportJson, HasAColumnForEachParameterAndKeepsFinalistsAndDefaultsInASample) {
  std::vector<StoredResult> results;
  for (std::int64_t tile = 1; tile <= 1000; ++tile) results.push_back(timed(tile, 5));
  results[500] = timed(501, 1, Stage::final);
  results[15].result.is_default = true;
  const auto json = report_json(source_of(results), 100);
  const auto& rows = json["sections"][0]["rows"];
  EXPECT_EQ(json["sections"][0]["total"], 1000);
  EXPECT_GE(rows["ms"].size(), 100u);
  EXPECT_LE(rows["ms"].size(), 102u);
  EXPECT_EQ(rows["values"].size(), 1u);
  EXPECT_EQ(rows["values"][0].size(), rows["ms"].size());
  EXPECT_THAT(rows["ms"], Contains(1.0));
  EXPECT_THAT(json["parameters"][0]["values"], Contains("501"));
  EXPECT_THAT(json["parameters"][0]["values"], Contains("16"));
}

TEST(ReportJson, FollowsTheBestSoFarThroughRunsWithoutThePausesBetweenThem) {
  std::vector<StoredResult> results = {timed(1, 9), timed(2, 5), timed(3, 7), timed(4, 4)};
  results[0].at_unix = 101;
  results[1].at_unix = 103;
  results[2].at_unix = 1002;
  results[3].at_unix = 1004;
  results[2].run_id = results[3].run_id = "second";
  ReportSource source = source_of(results);
  source.runs.push_back(run("second", 1000));
  const auto json = report_json(source, 1000);
  EXPECT_EQ(json["sections"][0]["convergence"],
            nlohmann::ordered_json::parse("[[1,1.0,9.0],[2,3.0,5.0],[4,7.0,4.0],[4,7.0,4.0]]"));
}

TEST(ReportMarkdown, MakesNoMarkupOfWhatIsStored) {
  StoredResult hostile = timed(16, 4);
  hostile.device.name = "<img src=x>|[a](b) @everyone `x`";
  const std::string text = report_markdown(source_of({hostile}));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, Not(HasSubstr("@everyone")));
  EXPECT_THAT(text, HasSubstr("\\[a\\](b)"));
  EXPECT_THAT(text, HasSubstr("| tiled | TILE=16 | 4.000 ms | 1.00x |"));
}

/// What stands between two marks.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t from = at + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST(ReportPage, LetsNoTextOfTheDataBecomeMarkup) {
  StoredResult hostile = failed(16, Status::compile, "</script><script>alert(1)</script>");
  hostile.device.name = "</script><!--<script>";
  const auto json = report_json(source_of({hostile}), 100);
  const std::string page = report_page(json, "<b>&\"", "");
  EXPECT_THAT(page, HasSubstr("<title>&lt;b&gt;&amp;&quot;</title>"));
  const std::string data = between(page, "id=\"data\">", "</script>");
  EXPECT_THAT(data, Not(HasSubstr("<")));
  EXPECT_EQ(nlohmann::ordered_json::parse(data), json);
}

TEST(ReportPage, NamesItsOwnScriptsByTheirHashesAndNothingElse) {
  const std::string page = report_page(report_json(source_of({timed(16, 4)}), 100), "gemm", "");
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  // What `printf 'x' | openssl dgst -sha256 -binary | base64` prints.
  EXPECT_THAT(report_page({}, "gemm", "x"),
              HasSubstr("'sha256-LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE='"));
}

/// Seen by a browser: without one here the test is skipped.
class ReportInABrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(SMEMTUNE_BROWSER).empty()) GTEST_SKIP() << "no Chromium here";
    if (embedded_charts().empty()) GTEST_SKIP() << "built without Chart.js (libjs-chart.js)";
    folder_ = std::filesystem::path(testing::TempDir()) / ("report_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The page as it is after its script ran; what the console said goes to log().
  std::string opened(const std::string& page) const {
    std::ofstream(folder_ / "page.html") << page;
    const std::string command =
        std::string("timeout 100 ") + SMEMTUNE_BROWSER +
        " --headless --no-sandbox --disable-gpu --user-data-dir='" +
        (folder_ / "profile").string() +
        "' --enable-logging=stderr --virtual-time-budget=5000 --dump-dom 'file://" +
        (folder_ / "page.html").string() + "' > '" + (folder_ / "dom").string() + "' 2> '" +
        (folder_ / "log").string() + "'";
    if (std::system(command.c_str()) != 0) return "the browser failed: " + log();
    return text_of(folder_ / "dom");
  }
  std::string log() const { return text_of(folder_ / "log"); }

 private:
  static std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::filesystem::path folder_;
};

TEST_F(ReportInABrowser, DrawsItsChartsWithoutAnErrorOrARequest) {
  std::vector<StoredResult> results;
  for (std::int64_t tile = 1; tile <= 64; ++tile) {
    for (std::int64_t rows = 1; rows <= 4; ++rows) {
      StoredResult one = tile > 48 ? failed(tile, Status::constraints, "shared_bytes")
                                   : timed(tile, static_cast<double>(70 - tile + rows),
                                           tile == 48 ? Stage::final : Stage::screen);
      one.result.configuration["ROWS"] = rows;
      one.result.detail = "<script>document.title='taken'</script>";
      results.push_back(one);
    }
  }
  const std::string title = "gemm - smemtune";
  const std::string page =
      opened(report_page(report_json(source_of(results), 1000), title, embedded_charts()));
  EXPECT_THAT(log(), Not(HasSubstr("CONSOLE")));
  EXPECT_THAT(page, HasSubstr("<title>" + title + "</title>"));
  EXPECT_THAT(page, HasSubstr("data-drawn=\"8\"")) << log();
  EXPECT_THAT(page, HasSubstr("Share of the best time of tiled"));
  EXPECT_THAT(page, HasSubstr("takes 23.00 ms on NVIDIA H200"));
}

}  // namespace
}  // namespace smemtune
