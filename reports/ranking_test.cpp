#include "db/export_formats.h"
#include "db/json_forms.h"
#include "db/planted_results_test_support.h"
#include "db/result_store.h"
#include "reports/report_source.h"
#include "reports/result_texts.h"
#include "reports/run_summary.h"
#include "tuner/core/repetitions_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

namespace smemtune {
namespace {

using Names = std::vector<std::string>;

constexpr int kHistories = repetitions(60);
const std::map<std::string, std::string> kHashes = {{"naive", "hash-of-naive"},
                                                    {"tiled", "hash-of-tiled"}};

std::string name_of(const Result& result) {
  return result.kernel + " " + key(result.configuration) + " " +
         std::to_string(result.measurement.median_ms);
}

Names names_of(const std::vector<Result>& results) {
  Names names;
  for (const Result& result : results) names.push_back(name_of(result));
  return names;
}

Names names_of(const std::vector<db::StoredResult>& results) {
  Names names;
  for (const db::StoredResult& stored : results) names.push_back(name_of(stored.result));
  return names;
}

Names sorted(Names names) {
  std::ranges::sort(names);
  return names;
}

Names tied_names(const db::ProblemResults& section) {
  Names names;
  for (const db::StoredResult* tie : ties(section)) names.push_back(name_of(tie->result));
  return sorted(names);
}

/// Runs of one space on one device, at once and one after the other, that screen, fail, and hold
/// finals.
class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {}

  db::ResultStore& store() { return store_; }
  ResultLog& last_log() { return *logs_.back(); }

  void go_on() {
    if (logs_.empty() || below(3) == 0) {
      logs_.push_back(
          store_.begin_run(db::planted_run(device(), "run-" + std::to_string(logs_.size()))));
    }
    ResultLog& log = *logs_[below(logs_.size())];
    std::vector<Result> results;
    for (std::size_t i = 0; i < 1 + below(8); ++i) results.push_back(screened());
    for (const Result& result : results) log.record(kHashes.at(result.kernel), result);
    if (below(2) == 0) hold_finals(log, results);
  }

  static Device device() { return db::planted_device("NVIDIA H200"); }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  double some_ms() { return 1 + static_cast<double>(below(40)) / 100; }

  Result screened() {
    Result result = db::planted({{"TILE", static_cast<std::int64_t>(below(5))}}, some_ms());
    if (below(2) == 0) result.kernel = "naive";
    if (below(8) == 0) {
      result.status = below(2) == 0 ? Status::correctness : Status::runtime;
      result.reason = result.status == Status::runtime ? "crash" : "mismatch";
      result.stage = Stage::none;
      result.measurement = {};
    }
    return result;
  }

  /// Finals of some of what was screened, as a run records them: all in one transaction, one of
  /// them chosen.
  void hold_finals(ResultLog& log, std::vector<Result> results) {
    std::set<std::string> met;
    std::erase_if(results, [&](const Result& result) {
      return !result.timed() || below(3) == 0 ||
             !met.insert(result.kernel + key(result.configuration)).second;
    });
    if (results.empty()) return;
    const std::size_t best = below(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].stage = Stage::final;
      results[i].measurement = db::planted(results[i].configuration, some_ms()).measurement;
      results[i].chosen = i == best;
      results[i].tied = i != best && below(2) == 0;
    }
    log.in_transaction([&] {
      for (const Result& result : results) log.record(kHashes.at(result.kernel), result);
    });
  }

  std::mt19937_64 random_;
  db::ResultStore store_{":memory:"};
  std::vector<std::unique_ptr<ResultLog>> logs_;
};

/// Prints as `list --results --json` does, and reads that as a report does.
db::ProblemResults listed(const db::ResultStore& store) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  store.each_result({}, 0, [&](db::StoredResult&& one) { list.push_back(db::stored_json(one)); });
  const std::string text = db::document_text("smemtune-results", 1, {{"results", list}});
  return std::get<ReportSource>(read_document("results.json", text)).sections.at(0);
}

/// Prints as a run with --json does, and reads that as a report does.
db::ProblemResults printed(const ProblemSummary& problem) {
  Space space;
  space.name = "gemm";
  TuningSummary summary;
  summary.problems = {problem};
  const std::string text = summary_json(space, summary, History::device(), {});
  return std::get<ReportSource>(read_document("run.json", text)).sections.at(0);
}

TEST(Ranking, IsTheSameWhoeverAsks) {
  int with_ties = 0;
  for (int history = 0; history < kHistories; ++history) {
    History runs(static_cast<std::uint64_t>(history));
    for (int step = 0; step < 6; ++step) {
      runs.go_on();
      db::ResultStore& store = runs.store();
      const Problem problem = store.results({}).front().result.problem;
      const Bests bests = runs.last_log().bests(problem, kHashes);
      const Names names = names_of(bests.kernels);
      const Names tied = sorted(names_of(bests.tied));
      SCOPED_TRACE("history " + std::to_string(history) + ", step " + std::to_string(step));

      EXPECT_EQ(sorted(names), sorted(names_of(store.best({}, /*per_kernel=*/true))));
      const Names of_all = names_of(store.best({}, /*per_kernel=*/false));
      ASSERT_EQ(of_all.size(), names.empty() ? 0u : 1u);
      if (names.empty()) continue;
      EXPECT_EQ(names.front(), of_all.front());

      const auto section = stored_source(store, {.space = "gemm"}, 1000).sections.at(0);
      EXPECT_EQ(names, names_of(section.best));
      EXPECT_EQ(tied, tied_names(section));

      const db::ProblemResults list = listed(store);
      EXPECT_EQ(names, names_of(list.best));
      EXPECT_EQ(tied, tied_names(list));

      ProblemSummary summary;
      summary.problem = problem;
      summary.bests = bests;
      for (const db::StoredResult& one : section.results) summary.results.push_back(one.result);
      EXPECT_EQ(names, names_of(printed(summary).best));
      for (const Result& best : bests.kernels) {
        EXPECT_EQ(name_of(best), name_of(*summary.bests.best_of(best.kernel)));
      }
      with_ties += tied.empty() ? 0 : 1;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(with_ties, 0);
}

}  // namespace
}  // namespace smemtune
