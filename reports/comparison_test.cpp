#include "reports/comparison.h"

#include "db/planted_results_test_support.h"
#include "db/result_store.h"
#include "tuner/core/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <random>
#include <regex>

namespace smemtune {
namespace {

using db::planted;
using db::planted_device;
using Json = nlohmann::json;
using db::tile;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ComparisonText : public testing::Test {
 protected:
  void record(const Device& device, const std::vector<Result>& results,
              const std::string& space = "gemm") {
    const std::string id = "run-" + std::to_string(++runs_);
    const auto log = store_.begin_run(db::planted_run(device, id, space));
    for (const Result& result : results) log->record("hash", result);
  }
  db::Comparison comparison() const { return store_.compare({}); }

  db::ResultStore store_{":memory:"};
  int runs_ = 0;
};

TEST_F(ComparisonText, HoldsDevicesAgainstEachOther) {
  record(planted_device("NVIDIA H200"), {planted(tile(128), 2), db::planted_failure(tile(64))});
  record(planted_device("NVIDIA A100"), {planted(tile(64), 3), planted(tile(128), 3.3)});
  record(planted_device("Some CPU", DeviceKind::cpu), {planted(tile(16), 800)});
  EXPECT_EQ(comparison_text(comparison()),
            R"(gemm
  one configuration keeps 91 % of the best on both GPUs; tuned per GPU gains at most 10 %

N=4096,T=float
  smallest loss on the worst GPU: tiled TILE=128, which keeps 91 % on A100, 100 % on H200, of 2 that were tried on both GPUs
  best on average: the same, with performance portability 95.2 % (the harmonic mean of what the GPUs keep)
  a configuration of its own makes a GPU up to 10 % faster (on A100)

  source: own
  compared with: unknown
  kernel: tiled
  device      time  vs fastest GPU        keeps  rate
      configuration
  A100    3.000 ms  1.50x (1.50 to 1.50)   91 %  333 TFLOP/s, 667 GB/s
      TILE=64
  H200    2.000 ms  fastest               100 %  500 TFLOP/s, 1.00 TB/s
      TILE=128
  CPU     800.0 ms                               1.25 TFLOP/s, 2.50 GB/s
      TILE=16

  Times of the CPU device say nothing about a GPU.

  what the best of one GPU keeps of the optimum on another
  best of  on 1   on 2
  1 A100   best  fails
  2 H200   91 %   best

  on A100: do not take over the best of H200: it keeps 91 %, 10.0 % slower (10.0 to 10.0 %) by 9 and 9 samples; set TILE=64: measured here, keeps 100 % (the best here)
  on H200: do not take over the best of A100: it does not run, constraints (shared_bytes); set TILE=128: measured here, keeps 100 % (the best here)

)");
}

TEST_F(ComparisonText, FitsThePageWithManyGpusAndHostileNames) {
  for (int i = 0; i < 12; ++i) {
    const std::string name = "NVIDIA " + std::string(300, static_cast<char>('A' + i));
    record(planted_device(name), {planted(tile(128), 2 + i), planted(tile(64), 3)});
  }
  const db::Comparison compared = comparison();
  for (const bool all_pairs : {false, true}) {
    const std::string text = comparison_text(compared, Markup::text, all_pairs);
    std::size_t begin = text.find("  architecture");
    if (all_pairs) begin = text.find("  source: own");
    ASSERT_NE(begin, std::string::npos) << text;
    // Sentences keep words whole; tables do not.
    const std::size_t end = text.find("\n\n", begin);
    for (; begin < end; begin = text.find('\n', begin) + 1) {
      EXPECT_LE(text.find('\n', begin) - begin, 80u) << text.substr(begin, 400);
    }
    EXPECT_EQ(text.find("best of") != std::string::npos, all_pairs);
  }
}

TEST_F(ComparisonText, SaysWhatWasNotMeasured) {
  record(planted_device("NVIDIA H200"), {planted(tile(128), 2)});
  record(planted_device("NVIDIA A100"), {planted(tile(64), 2.01)});
  const std::string text = comparison_text(comparison());
  EXPECT_THAT(text, HasSubstr("no GPU's best was measured on another"));
  EXPECT_THAT(text, HasSubstr("1.00x (1.00 to 1.01), the same"));
}

/// The text `keeps 73 %, 36.2 % slower (23.5 to 53.2 %)`, the JSON and the CSV have the same
/// numbers.
TEST_F(ComparisonText, HasOneEstimatorEverywhere) {
  std::mt19937 random(5);
  const auto samples = [&](double ms) {
    std::vector<double> all(6 + random() % 30);
    for (double& one : all) {
      one = ms * std::exp(std::exponential_distribution<double>(10)(random));
      if (random() % 10 == 0) one *= 3;
    }
    return all;
  };
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    record(planted_device("A" + n),
           {planted(tile(1), samples(1), i), planted(tile(2), samples(2), i)});
    record(planted_device("B" + n),
           {planted(tile(1), samples(4), i), planted(tile(2), samples(2.5), i)});
  }
  const db::Comparison all = comparison();
  const std::regex sentence(
      "keeps ([0-9.]+) %, ([0-9.]+) % slower \\(([0-9.-]+) to ([0-9.-]+) %\\) by [0-9]+ and [0-9]+ "
      "samples");
  const std::string text = comparison_text(all);
  int sentences = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), sentence); at != std::sregex_iterator();
       ++at, ++sentences) {
    const auto number = [&](std::size_t i) { return std::stod((*at)[i]); };
    EXPECT_NEAR(number(2), 100 * (100 / number(1) - 1), 100 * 100 * 0.6 / number(1) / number(1))
        << at->str();
    EXPECT_LE(number(3), number(2)) << at->str();
    EXPECT_GE(number(4), number(2)) << at->str();
  }
  EXPECT_GT(sentences, 20);
  int pairs = 0;
  const std::string csv = comparison_csv(all);
  const Json document = Json::parse(comparison_json(all));
  for (const Json& problem : document.at("problems")) {
    for (const Json& pair : problem.at("portability")) {
      const Json& slower = pair.at("slower");
      const double share = pair.at("share");
      EXPECT_NEAR(slower.at("percent").get<double>(), 100 * (1 / share - 1), 1e-9);
      EXPECT_LE(slower.at("low_percent"), slower.at("percent"));
      EXPECT_GE(slower.at("high_percent"), slower.at("percent"));
      EXPECT_THAT(csv,
                  HasSubstr("," + shortest(share) + ",," + slower.at("verdict").get<std::string>() +
                            "," + shortest(slower.at("percent"))));
      ++pairs;
    }
  }
  EXPECT_EQ(pairs, 80);
}

TEST_F(ComparisonText, SaysOfHowManySamplesAShareIsWhereTheyAreTooFewForAnInterval) {
  const auto once = [](std::int64_t size, double ms) {
    return planted(tile(size), std::vector<double>{ms});
  };
  record(planted_device("NVIDIA H200"), {once(1, 1), once(2, 2)});
  record(planted_device("NVIDIA A100"), {once(1, 4), once(2, 3)});
  EXPECT_THAT(comparison_text(comparison()),
              HasSubstr("do not take over the best of H200: it keeps 75 % by 1 and 1 sample; "
                        "set TILE=2: measured here"));
}

TEST_F(ComparisonText, AnswersForEachOfSeveralProblems) {
  const std::vector<Result> on_both = {planted(tile(64), 3, 64), planted(tile(128), 3.3, 64)};
  record(planted_device("NVIDIA H200"),
         {planted(tile(128), 2, 64), planted(tile(64), 3, 64), planted(tile(16), 1, 128)});
  record(planted_device("NVIDIA A100"), {on_both[0], on_both[1], planted(tile(32), 1, 128)});
  EXPECT_THAT(
      comparison_text(comparison()),
      StartsWith("gemm\n  for 1 of 2 problems a configuration is known that runs on all its "
                 "GPUs; it keeps 91 % or more of the best; tuned per GPU gains at most "
                 "10 %\n"));
  record(planted_device("NVIDIA A100"), {planted(tile(16), 2, 128)});
  record(planted_device("NVIDIA L4"), {planted(tile(16), 4, 128)});
  EXPECT_THAT(comparison_text(comparison()),
              StartsWith("gemm\n  for each of 2 problems a configuration is known that runs on all "
                         "its GPUs; one for each problem keeps 50 % or more of the best; tuned per "
                         "GPU gains at most 100 %\n"));
}

TEST_F(ComparisonText, AnswersOfARowWithWhatWasLookedAt) {
  record(planted_device("NVIDIA H200"), {planted(tile(128), 2), planted(tile(64), 3)});
  record(planted_device("NVIDIA A100"), {planted(tile(64), 3), planted(tile(128), 3.3)});
  db::Comparison::Row row = comparison().rows.at(0);
  EXPECT_EQ(for_all_answer({"A100", "H200"}, row),
            "One configuration keeps 91 % of the best on both GPUs, of 2 that were tried on both "
            "GPUs; a configuration of its own makes a GPU up to 10 % faster (on A100).");
  row.known = 1'000;
  EXPECT_THAT(for_all_answer({"A100", "H200"}, row),
              HasSubstr("tried on both GPUs, of 2 of 1,000 that were looked at; "));
  row.least_worst->shares = {0.995, 1};
  row.least_worst->worst_share = 0.995;
  EXPECT_THAT(for_all_answer({"A100", "H200"}, row),
              HasSubstr("; one is enough: no GPU gains more than 1 %"));
  row.least_worst.reset();
  EXPECT_EQ(for_all_answer({"A100", "H200"}, row),
            "No configuration is known to run on both GPUs, of 2 of 1,000 that were looked at.");
}

/// If the problem's key is empty, neither it nor the separator after it is printed.
TEST_F(ComparisonText, LeavesOutAnEmptyProblem) {
  Result nameless = planted(tile(64), 1);
  nameless.problem.clear();
  record(planted_device("NVIDIA H200"), {nameless});
  record(planted_device("NVIDIA A100"), {nameless});
  const std::string text = comparison_text(comparison());
  EXPECT_THAT(text, HasSubstr("one configuration keeps 100 % of the best on both GPUs; "));
  EXPECT_THAT(text, Not(HasSubstr("\n: ")));
}

TEST_F(ComparisonText, SaysWhoChoseTheConfigurationsThatAParameterMattersAmong) {
  std::vector<Result> results;
  for (std::int64_t size = 1; size <= 6; ++size) {
    for (std::int64_t rows : {1, 2}) {
      results.push_back(planted({{"TILE", size}, {"ROWS", rows}}, static_cast<double>(size)));
    }
  }
  smemtune::Run searched = db::planted_run(planted_device("NVIDIA H200"), "searched");
  searched.strategy = "auto";
  const auto log = store_.begin_run(searched);
  for (const Result& result : results) log->record("hash", result);
  record(planted_device("NVIDIA A100"), results);  // Chosen at random.
  const std::string text = comparison_text(comparison());
  EXPECT_THAT(text, HasSubstr("on A100: tune TILE first: of 12 timed configurations drawn at "
                              "random, TILE alone explains 100 % of the variance of log time"));
  EXPECT_THAT(text, HasSubstr("on H200: of 12 timed configurations that the search chose, "
                              "TILE alone explains"));
}

TEST_F(ComparisonText, IsInertWhateverIsStored) {
  Result hostile = planted(tile(64), 1);
  hostile.kernel = "til\red|[x](http://y)<b>";
  record(planted_device("GPU\x1b[2J=1+1,\"\n"), {hostile}, "ge\x1bmm\n");
  record(planted_device("=B"), {hostile}, "ge\x1bmm\n");
  for (const Markup markup : {Markup::text, Markup::markdown}) {
    for (const char c : comparison_text(comparison(), markup)) {
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    }
  }
  EXPECT_THAT(comparison_text(comparison(), Markup::markdown),
              AllOf(HasSubstr("til ed\\|\\[x\\](http://y)\\<b\\>"), Not(HasSubstr("<b>"))));
  EXPECT_THAT(comparison_csv(comparison()), AllOf(HasSubstr(",'=B,"), Not(HasSubstr("\x1b"))));
}

TEST_F(ComparisonText, AsMarkdownHasTables) {
  record(planted_device("NVIDIA H200"), {planted(tile(128), 2), planted(tile(64), 2.5)});
  record(planted_device("NVIDIA A100"), {planted(tile(64), 3), planted(tile(128), 3.3)});
  const std::string text = comparison_text(comparison(), Markup::markdown);
  EXPECT_THAT(text, AllOf(StartsWith("## gemm\n\n- one configuration keeps"),
                          HasSubstr("\n\n| device | time |")));
  EXPECT_THAT(text, HasSubstr("\n| 1 A100 | best | 80 % |\n| 2 H200 | 91 % | best |\n"));
  EXPECT_THAT(text, HasSubstr("\n- on H200: do not take over the best of A100: it keeps 80 %, "));
}

TEST_F(ComparisonText, AsCsvHasALineForEachPair) {
  record(planted_device("NVIDIA H200"), {planted(tile(128), 2), planted(tile(64), 2.5)});
  record(planted_device("NVIDIA A100"), {planted(tile(64), 3)});
  const std::string text = comparison_csv(comparison());
  EXPECT_THAT(text, StartsWith("space,problem,on,on_source,best_of,best_of_source,"));
  EXPECT_THAT(
      text,
      HasSubstr("gemm,\"N=4096,T=float\",NVIDIA H200,own,NVIDIA A100,own,tiled,TILE=64,2.5,0.8,,"
                "slower,2"));
  EXPECT_THAT(text, HasSubstr("NVIDIA A100,own,NVIDIA H200,own,tiled,TILE=128,,,,,,,,,\n"));
}

TEST_F(ComparisonText, IsEmptyWithoutResults) { EXPECT_EQ(comparison_text(comparison()), ""); }

TEST_F(ComparisonText, AsJsonHasTheSameFigures) {
  record(planted_device("NVIDIA H200"), {planted(tile(128), 2), db::planted_failure(tile(64))});
  record(planted_device("NVIDIA A100"), {planted(tile(64), 3), planted(tile(128), 3.3)});
  record(planted_device("Some CPU", DeviceKind::cpu), {planted(tile(16), 800)});
  const Json document = Json::parse(comparison_json(comparison()));
  EXPECT_EQ(document.at("format"), "smemtune-comparison");
  EXPECT_EQ(document.at("version"), 4);
  ASSERT_EQ(document.at("devices").size(), 3u);
  const Json& problem = document.at("problems").at(0);
  EXPECT_EQ(problem.at("problem"), Json({{"N", 4096}, {"T", "float"}}));
  const Json& entries = problem.at("best");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries.at(0).at("column"), "NVIDIA A100");
  EXPECT_EQ(entries.at(0).at("time_to_fastest_gpu"), 1.5);
  EXPECT_EQ(entries.at(0).at("slower").at("verdict"), "slower");
  EXPECT_TRUE(entries.at(1).at("slower").is_null());
  EXPECT_FALSE(entries.at(2).contains("time_to_fastest_gpu"));

  const Json& pairs = problem.at("portability");
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs.at(0).at("on"), "NVIDIA A100");
  EXPECT_EQ(pairs.at(0).at("best_of"), "NVIDIA H200");
  EXPECT_NEAR(pairs.at(0).at("share").get<double>(), 1 / 1.1, 1e-9);
  EXPECT_NEAR(pairs.at(0).at("slower").at("percent").get<double>(), 10, 1e-9);
  EXPECT_EQ(pairs.at(1).at("share"), 0.0);
  EXPECT_EQ(pairs.at(1).at("failure"), "constraints (shared_bytes)");
  EXPECT_EQ(problem.at("least_worst").at("configuration"), Json({{"TILE", 128}}));
  EXPECT_EQ(pairs.at(0).at("samples"), 9);
  EXPECT_TRUE(pairs.at(1).at("median_ms").is_null());
  EXPECT_EQ(problem.at("configurations_on_all_gpus"), 2);
  const Json& repair = problem.at("parameters").at(0).at("repairs").at(0);
  EXPECT_EQ(repair.at("value"), "64");
  EXPECT_EQ(repair.at("share"), 1);
}

}  // namespace
}  // namespace smemtune
