#include "reports/findings.h"
#include "reports/report_page.h"
#include "reports/report_source.h"
#include "reports/report_source_examples_test_support.h"
#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smemtune {
namespace {

using db::StoredResult;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ReportFindings, SayWhoWonOverItsDefaultComparedWithWhatAndWhatFailed) {
  StoredResult best = timed(32, 2, Stage::final);
  best.result.chosen = true;
  StoredResult tied = timed(64, 2.01, Stage::final);
  tied.result.tied = true;
  const ReportSource source = source_of({timed(16, 4), best, tied, timed(8, 3, Stage::final),
                                         failed(48, Status::constraints, "shared_bytes")});
  EXPECT_THAT(findings(source, source.sections[0]),
              ElementsAre("tiled with TILE=32 takes 2.000 ms on NVIDIA H200.",
                          "That is 2.00x the speed of its default (TILE=16, 4.000 ms).",
                          "Its median lies between 1.980 ms and 2.020 ms (95 % of confidence, "
                          "n = 9).",
                          "Its results were compared with the space's definition.",
                          "Statistically tied with it: tiled with TILE=64.",
                          "5 configurations tried, 4 timed; failed: 1 constraints."));
}

TEST(ReportFindings, SayThatNothingIsKnownToBeRight) {
  StoredResult alone = timed(16, 4);
  alone.result.compared[0].with = ComparedWith::only_itself;
  const ReportSource source = source_of({alone});
  EXPECT_THAT(findings(source, source.sections[0]),
              Contains(HasSubstr("Nothing says that its results are right")));
}

TEST(ReportFindings, BeginOnTheCpuDeviceWithWhatItsTimesSay) {
  StoredResult on_cpu = timed(32, 2);
  on_cpu.device = db::planted_device("Some", DeviceKind::cpu);
  const ReportSource source = source_of({timed(16, 4), on_cpu});
  db::ProblemResults section = source.sections[0];
  section.device = on_cpu.device;
  const std::vector<std::string> sentences = findings(source, section);
  EXPECT_EQ(sentences.at(0), "Times of the CPU device say nothing about a GPU.");
  EXPECT_THAT(sentences.at(1), HasSubstr("2.000 ms on Some (CPU)"));
}

TEST(ReportFindings, NameTheFileThatAWinnerComesFrom) {
  StoredResult stored = timed(16, 4);
  stored.shared_from = "/srv/best.json";
  const std::string shared = report_markdown(source_of({stored}));
  EXPECT_THAT(shared, HasSubstr("It comes from /srv/best.json, which is shared"));
  EXPECT_THAT(shared, HasSubstr("1 configuration known, 1 timed."));
  stored.shared_from.clear();
  stored.origin = db::Origin{
      .format = "ktt", .file = "ktt.json", .file_sha256 = "", .tool = "KTT 2", .device = ""};
  const std::string imported = report_markdown(source_of({stored}));
  EXPECT_THAT(imported, HasSubstr("It was imported from ktt.json, which KTT 2 wrote"));
  EXPECT_THAT(imported, Not(HasSubstr("screened only"))) << "that was theirs to say";
}

TEST(ReportFindings, SayOfADryRunWhatFits) {
  const ReportSource source = source_of(
      {fitting(16, 32, 100), fitting(32, 64, 50), failed(48, Status::constraints, "shared_bytes")});
  EXPECT_THAT(findings(source, source.sections[0]),
              ElementsAre("2 of 3 configurations fit NVIDIA H200. This is a dry run: nothing was "
                          "launched or timed.",
                          "The highest occupancy is 100 %, of tiled with TILE=16.",
                          "Rejected or failed: 1 constraints."));
}

TEST(ReportCommands, MeasureTheWinnerAndTheSearchAgain) {
  const ReportSource source = source_of({timed(16, 4), timed(32, 2)});
  EXPECT_THAT(repeating_commands(source, source.sections[0]),
              ElementsAre("smemtune run --space gemm --problem N=4096 --device 'NVIDIA H200' "
                          "--kernel tiled --config TILE=32",
                          "smemtune --space gemm --problem N=4096 --device 'NVIDIA H200' "
                          "--strategy auto --seed 1 --fresh"));
}

TEST(ReportCommands, DoNotRepeatASearchOfWhichNothingIsKnown) {
  ReportSource source = source_of({timed(16, 4), timed(32, 2)});
  source.runs[0].strategy.clear();
  EXPECT_EQ(repeating_commands(source, source.sections[0]).size(), 1u);
}

TEST(ReportCommands, AreNoneForWhatWasImported) {
  StoredResult imported = timed(16, 4);
  imported.origin = db::Origin();
  const ReportSource source = source_of({imported});
  EXPECT_TRUE(repeating_commands(source, source.sections[0]).empty());
}

TEST(ReportJson, HasRowsByTimeAColumnForEachParameterAndAnExampleOfEachFailure) {
  const auto json = report_json(
      source_of({timed(16, 4), failed(48, Status::constraints, "shared_bytes"), timed(32, 2)}));
  const auto& section = json["sections"][0];
  EXPECT_EQ(section["rows"]["ms"], nlohmann::ordered_json::parse("[2.0,4.0,null]"));
  EXPECT_EQ(section["rows"]["values"], nlohmann::ordered_json::parse("[[0,1,2]]"));
  EXPECT_THAT(json["parameters"][0]["values"], ElementsAre("32", "16", "48"));
  EXPECT_EQ(section["failures"].size(), 1u);
  EXPECT_EQ(json["statuses"][section["failures"][0][1].get<std::size_t>()],
            "constraints/shared_bytes");
  EXPECT_EQ(section["failures"][0][3], 2) << "its row";
}

TEST(ReportJson, HasNullForWhatIsNotKnown) {
  StoredResult on_cpu = timed(32, 2);
  LaunchResult launch;
  launch.shape.block = {32, 1, 1};
  on_cpu.result.launches = {launch};
  ReportSource source = source_of({on_cpu});
  source.sections[0].convergence = {{1, std::nan(""), 2}, {1, std::nan(""), 2}};
  source.runs[0].imported_from = "cache.json";
  source.runs[0].started_unix = -1;
  const auto json = report_json(source);
  const auto& section = json["sections"][0];
  for (const char* column : {"registers", "occupancy", "spills"}) {
    EXPECT_TRUE(section["rows"][column][0].is_null()) << column;
  }
  EXPECT_EQ(section["rows"]["threads"][0], 32);
  EXPECT_TRUE(section["convergence"][0][1].is_null());
  EXPECT_EQ(section["chosen_by"], "search");
  EXPECT_TRUE(json["run_list"][0]["started_unix"].is_null());
  EXPECT_EQ(json["run_list"][0]["seed"], "");
}

TEST(ReportJson, HasTheSamplesOfFinalistsOnly) {
  const auto json = report_json(source_of({timed(16, 4), timed(32, 2, Stage::final)}));
  const auto& samples = json["sections"][0]["samples"];
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0]["row"], 0);
  EXPECT_EQ(samples[0]["ms"].size(), 9u);
}

TEST(ReportJson, HasWhyItWinsTheEnergyTheFactsAndTheHistoryOfTheWinner) {
  const auto finalist = [](std::int64_t tile, double ms, double joules) {
    StoredResult stored = timed(tile, ms, Stage::final);
    LaunchResult launch;
    launch.facts = {{"code.instructions", 10 * ms},
                    {"counter.dram_read_bytes", 100},
                    {"counter.dram_write_bytes", 50},
                    {"energy.joules_per_launch", joules}};
    stored.result.launches = {launch};
    return stored;
  };
  ReportSource source = source_of({finalist(8, 1, 3), finalist(16, 2, 1), timed(32, 3)});
  const StoredResult winner = source.sections[0].best.front();
  source.histories = {{.winner = winner, .points = {winner, winner}, .changes = {}}};
  const auto json = report_json(source);
  const auto& section = json["sections"][0];
  EXPECT_EQ(section["why"]["beats"][0]["other"], "its default");
  EXPECT_EQ(section["why"]["beats"][0]["factor"], 2);
  EXPECT_EQ(section["why"]["of_best"][0], "150 B pass through DRAM");
  EXPECT_EQ(section["best"][0]["dram_bytes"], 150);
  EXPECT_EQ(section["energy"]["ranked"].size(), 2u);
  EXPECT_EQ(section["energy"]["ranked"][1]["on_pareto_front"], true);
  ASSERT_EQ(section["facts"].size(), 2u) << "those that have some";
  EXPECT_EQ(section["facts"][1]["row"], 1);
  EXPECT_EQ(json["fact_names"][0], "code.instructions");
  EXPECT_EQ(section["facts"][1]["launches"][0]["values"][1], 20);
  EXPECT_EQ(section["history"]["points"].size(), 2u);
  EXPECT_THAT(section["history"]["sentences"][0].get<std::string>(),
              HasSubstr("2 measurements: to tell a change"));
  source.histories.clear();
  EXPECT_TRUE(report_json(source)["sections"][0]["history"].is_null());
}

TEST(ReportMarkdown, MakesNoMarkupOfWhatIsStored) {
  StoredResult hostile = timed(16, 4);
  hostile.device.name = "<img src=x>|[a](b) @everyone `x`";
  const std::string text = report_markdown(source_of({hostile}));
  EXPECT_THAT(text, Not(HasSubstr(" <img")));
  EXPECT_THAT(text, Not(HasSubstr(" @everyone")));
  EXPECT_THAT(text, HasSubstr("\\[a\\](b)"));
  EXPECT_THAT(text, HasSubstr("| tiled | TILE=16 | 4.000 ms | 1.00x |"));
}

TEST(ReportMarkdown, LeavesOutAnEmptyProblem) {
  StoredResult stored = timed(16, 4);
  stored.result.problem.clear();
  EXPECT_THAT(report_markdown(source_of({stored})), HasSubstr("\n## NVIDIA H200\n"));
}

/// Returns the text between two marks.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t from = at + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST(ReportPage, LetsNoTextOfTheDataBecomeMarkup) {
  StoredResult hostile = failed(16, Status::compile, "</script><script>alert(1)</script>");
  hostile.device.name = "</script><!--<script>";
  const auto json = report_json(source_of({hostile}));
  const std::string page = report_page(json, "<b>&\"\x1b[2J\xE2\x80\xAE", "");
  EXPECT_THAT(page, HasSubstr("<title>&lt;b&gt;&amp;&quot;?[2J?</title>"));
  const std::string data = between(page, "id=\"data\">", "</script>");
  EXPECT_THAT(data, Not(HasSubstr("<")));
  EXPECT_EQ(nlohmann::ordered_json::parse(data), json);
}

TEST(ReportPage, WeighsLessThanAMegabyteWithoutData) {
  EXPECT_LT(report_page({}, "gemm", embedded_charts()).size(), 1'000'000u);
}

TEST(ReportPage, OfFortyDevicesWithTenProblemsEachWeighsLessThanThreeMegabytes) {
  std::vector<StoredResult> results;
  for (std::int64_t n = 1; n <= 120; ++n) {
    results.push_back(
        timed(n, 1 + 1 / static_cast<double>(n), n <= 40 ? Stage::final : Stage::screen));
    results.back().result.measurement.samples_ms.assign(60, 1.23456789012 / static_cast<double>(n));
    for (const char* name : {"DEPTH", "ITEMS", "TILE_X", "UNROLL"}) {
      results.back().result.configuration[name] = n % 7;
    }
  }
  ReportSource source = source_of(std::move(results));
  const db::ProblemResults section = source.sections[0];
  for (int i = 1; i < 400; ++i) {
    source.sections.push_back(section);
    source.sections.back().device.name = "GPU " + std::to_string(i / 10);
  }
  EXPECT_LT(report_page(report_json(source), "gemm", embedded_charts()).size(), 3'000'000u);
}

TEST(ReportPage, NamesItsOwnScriptsByTheirHashesAndNothingElse) {
  const std::string page = report_page(report_json(source_of({timed(16, 4)})), "gemm", "");
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  // The output of `printf 'x' | openssl dgst -sha256 -binary | base64`.
  EXPECT_THAT(report_page({}, "gemm", "x"),
              HasSubstr("'sha256-LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE='"));
}

constexpr const char* kDryRun = R"json({
  "format": "smemtune-run", "version": 2, "space": "add",
  "device": {"kind": "gpu", "name": "L4", "compute_capability": "8.9"},
  "problems": [{"problem": {"N": 64}, "results": [
    {"kernel": "plain", "problem": {"N": 64}, "configuration": {"ITEMS": 1}, "status": "fits",
     "stage": "none", "launches": [], "time": null, "metrics": {}},
    {"kernel": "plain", "problem": {"N": 64}, "configuration": {"ITEMS": 2},
     "status": "constraints", "reason": "threads", "stage": "none", "launches": [], "time": null,
     "metrics": {}}]}]})json";

TEST(ReportDocument, OfADryRunIsReadAsASection) {
  const auto source = std::get<ReportSource>(read_document("dry.json", kDryRun));
  ASSERT_EQ(source.sections.size(), 1u);
  EXPECT_EQ(source.space, "add");
  EXPECT_TRUE(is_dry(source.sections[0]));
  EXPECT_EQ(source.sections[0].device.compute_minor, 9);
  EXPECT_EQ(source.sections[0].failures.begin()->first.reason, "threads");
}

TEST(ReportDocument, ThatIsWrongIsRefusedWithItsNameAndPlace) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      read_document("dry.json", text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message("{"), HasSubstr("dry.json: parse error at line 1"));
  EXPECT_THAT(message(R"({"format": "smemtune-best"})"), HasSubstr("format 'smemtune-best'"));
  EXPECT_THAT(message(R"({"name": "a", "kernels": []})"),
              HasSubstr("dry.json: is a space file; to report on what is stored of it, use "
                        "--space 'dry.json'"));
  EXPECT_THAT(message(R"({"format": "smemtune-run", "space": "a", "device": {}, "problems": []})"),
              HasSubstr("dry.json: holds no result"));
  std::string wrong = kDryRun;
  wrong.replace(wrong.find("\"constraints\""), 13, "\"wrong\"");
  EXPECT_THAT(message(wrong),
              HasSubstr("dry.json: problems[0].results[1]: 'wrong' is not a status"));
}

TEST(ReportSource, IsNarrowedToTheDeviceProblemAndKernelThatAreAskedFor) {
  const auto left = [](const db::Query& query) {
    StoredResult other = timed(32, 2);
    other.result.kernel = "naive";
    ReportSource source = source_of({timed(16, 4), other});
    narrow(source, query);
    return source.sections.empty() ? 0 : source.sections[0].configurations;
  };
  EXPECT_EQ(left({}), 2u);
  EXPECT_EQ(left({.device = "h200", .problem = "N=4096"}), 2u);
  EXPECT_EQ(left({.device = "a100"}), 0u);
  EXPECT_EQ(left({.problem = "N=1"}), 0u);
  EXPECT_EQ(left({.kernel = "naive"}), 1u);
  EXPECT_EQ(left({.kernel = "other"}), 0u);
}

TEST(ReportDocument, OfTwoVersionsIsReadAsItWasWritten) {
  VersionDiff diff{.space = "gemm", .old_name = "a", .new_name = "b", .device = "H200"};
  diff.pairs.push_back({.problem = {{"N", std::int64_t{1}}},
                        .what = "winner",
                        .old_one = {"tiled", {{"TILE", std::int64_t{8}}}},
                        .new_one = {"tiled", {{"TILE", std::int64_t{16}}}},
                        .old_result = timed(8, 2).result,
                        .new_result = timed(16, 3).result,
                        .slower = Slowdown{50, 49, 51}});
  diff.notes = {"a note"};
  const auto read = std::get<VersionDiff>(read_document("d.json", version_diff_json(diff)));
  EXPECT_EQ(version_diff_view(read), version_diff_view(diff));
  EXPECT_EQ(version_diff_text(read), version_diff_text(diff));
}

}  // namespace
}  // namespace smemtune
