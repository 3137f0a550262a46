#include "db/layered_store.h"

#include "db/comparison.h"
#include "db/export_formats.h"
#include "db/folder_test_support.h"
#include "db/planted_results_test_support.h"
#include "db/rows.h"
#include "db/stored_portfolio.h"
#include "tuner/core/error.h"
#include "tuner/core/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace smemtune::db {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Returns the configurations of the results, with the files that they come from.
std::vector<std::string> answers(const std::vector<StoredResult>& all) {
  std::vector<std::string> texts;
  for (const StoredResult& one : all) {
    texts.push_back(one.device.name + " N=" + to_text(one.result.problem.at("N")) + " " +
                    key(one.result.configuration) +
                    (one.shared_from.empty() ? "" : " from " + one.shared_from));
  }
  return texts;
}

class LayeredStoreOf : public TestFolder {
 protected:
  fs::path store(const std::string& name, const std::string& device,
                 const std::vector<Result>& results) const {
    const fs::path file = folder() / name;
    ResultStore into(file);
    const std::string id = "run of " + name + " on " + device;
    const auto log = into.begin_run(planted_run(planted_device(device), id));
    for (const Result& result : results) log->record("hash", result);
    into.end_run(id, "complete");
    return file;
  }

  fs::path write_export(const std::string& name, const fs::path& database) const {
    const ResultStore from(database, ResultStore::Mode::read_only);
    write_whole_file(folder() / name, export_json(from.best({}, true), from.defaults({})));
    return folder() / name;
  }

  /// The shared files are called by their file names.
  LayeredStore layered(const fs::path& own, const std::vector<fs::path>& shared) {
    std::vector<SharedFile> files;
    for (const fs::path& file : shared)
      files.push_back({.file = file, .name = file.filename().string()});
    std::optional<ResultStore> opened;
    if (!own.empty()) opened.emplace(own, ResultStore::Mode::read_only);
    return {std::move(opened), files, [this](const std::string& line) { warnings_ += line; }};
  }

  std::string warnings_;
};

TEST_F(LayeredStoreOf, AnswersFromTheFirstThatKnows) {
  const fs::path own = store("own.sqlite", "A", {planted(tile(1), 3)});
  const fs::path team =
      store("team.sqlite", "A", {planted(tile(2), 2), planted(tile(2), 1, /*n=*/512)});
  const fs::path other =
      write_export("other.json",
                   store("other.sqlite", "A", {planted(tile(3), 1, 512), planted(tile(3), 1, 64)}));
  const LayeredStore results = layered(own, {team, other});
  EXPECT_THAT(answers(results.best({.source = "own,shared"}, false)),
              ElementsAre("A N=4096 TILE=1", "A N=512 TILE=2 from team.sqlite",
                          "A N=64 TILE=3 from other.json"));
  EXPECT_THAT(answers(results.best({.source = "own"}, false)), ElementsAre("A N=4096 TILE=1"));
  EXPECT_THAT(answers(results.best({.source = "shared"}, true)),
              ElementsAre("A N=4096 TILE=2 from team.sqlite", "A N=512 TILE=2 from team.sqlite",
                          "A N=64 TILE=3 from other.json"));
  EXPECT_THAT(answers(results.best({.source = "other"}, true)),
              ElementsAre("A N=512 TILE=3 from other.json", "A N=64 TILE=3 from other.json"));
  EXPECT_THAT(results.best({.source = "imported"}, true), IsEmpty());
  EXPECT_THROW(results.best({.source = "own,other"}, true), InputError);
  EXPECT_THAT(results.results({.source = "all"}), SizeIs(3));
  EXPECT_THAT(results.results({.source = "all"}, 2), SizeIs(2));
  EXPECT_THAT(results.runs({.source = "own,shared"}), SizeIs(3));
  EXPECT_EQ(results.runs({.source = "shared"}).at(0).shared_from, "team.sqlite");
}

TEST_F(LayeredStoreOf, IsAboutTheSpacesOfItsOwnWhereNoneIsNamed) {
  const fs::path team = store("team.sqlite", "A", {planted(tile(2), 2)});
  ResultStore own(folder() / "own.sqlite");
  const auto log = own.begin_run(planted_run(planted_device("A"), "1", "stencil"));
  log->record("hash", planted(tile(1), 3));
  const LayeredStore results = layered(folder() / "own.sqlite", {team});
  EXPECT_THAT(results.best({.source = "own,shared"}, false), SizeIs(1));
  EXPECT_THAT(results.runs({.source = "all"}), SizeIs(1));
  EXPECT_THAT(results.best({.space = "gemm", .source = "own,shared"}, false), SizeIs(1));
  EXPECT_THAT(results.best({.source = "shared"}, false), SizeIs(1));
}

TEST_F(LayeredStoreOf, DoesWithoutAnOwnDatabaseAndWhatCannotBeRead) {
  const fs::path team = store("team.sqlite", "A", {planted(tile(2), 2)});
  write_whole_file(folder() / "broken.json", R"({"format": "smemtune-best", "best": [{}]})");
  write_whole_file(folder() / "half.json", R"({"format": "smemtune-best", "best": [)");
  const LayeredStore results = layered(
      {}, {folder() / "missing.sqlite", folder() / "broken.json", folder() / "half.json", team});
  EXPECT_THAT(answers(results.best({.source = "own,shared"}, false)),
              ElementsAre("A N=4096 TILE=2 from team.sqlite"));
  EXPECT_THAT(warnings_, HasSubstr("missing.sqlite"));
  EXPECT_THAT(warnings_, HasSubstr("broken.json"));
  EXPECT_THAT(warnings_, HasSubstr("half.json: is cut off"));
}

TEST_F(LayeredStoreOf, HoldsAnothersBestAgainstOnesOwnTimes) {
  const fs::path own = store("own.sqlite", "B", {planted(tile(1), 5), planted(tile(2), 2)});
  const fs::path team = write_export("team.json", store("team.sqlite", "A", {planted(tile(1), 1)}));
  const Comparison comparison = layered(own, {team}).compare({.source = "all"});
  ASSERT_THAT(comparison.columns, SizeIs(2));
  EXPECT_EQ(comparison.columns[0].label, "A");
  EXPECT_EQ(comparison.columns[0].shared_from, "team.json");
  EXPECT_EQ(comparison.columns[1].label, "B");
  const Comparison::Row& row = comparison.rows.at(0);
  ASSERT_THAT(row.guests, SizeIs(2));
  EXPECT_FALSE(row.guests[0].share) << "the export has winners only";
  EXPECT_EQ(row.guests[1].best_of, 0u);
  EXPECT_DOUBLE_EQ(row.guests[1].share.value(), 0.4);
  EXPECT_EQ(row.known, 2u);
}

TEST_F(LayeredStoreOf, ChoosesAPortfolioFromTheFirstThatHasTheTimes) {
  const auto both = [](double ms) {
    return std::vector{planted(tile(1), ms), planted(tile(2), 2 * ms), planted(tile(1), 3 * ms, 64),
                       planted(tile(2), ms, 64)};
  };
  const fs::path own = store("own.sqlite", "A", both(1));
  const fs::path team = store("team.sqlite", "A", both(5));
  const fs::path other = store("other.sqlite", "B", both(7));
  const fs::path winners = write_export("winners.json", store("winners.sqlite", "C", both(9)));
  const LayeredStore results = layered(own, {winners, team, other});
  const auto chosen = [&](const std::string& source) {
    std::vector<std::string> texts;
    for (const StoredPortfolio& one : results.portfolios({.source = source}, 1, false)) {
      std::ranges::move(answers(one.chosen), std::back_inserter(texts));
    }
    return texts;
  };
  EXPECT_THAT(chosen("own"), ElementsAre("A N=4096 TILE=2", "A N=64 TILE=2"));
  EXPECT_THAT(chosen("own,shared"),
              ElementsAre("A N=4096 TILE=2", "A N=64 TILE=2", "B N=4096 TILE=2 from other.sqlite",
                          "B N=64 TILE=2 from other.sqlite", "C N=4096 TILE=1 from winners.json"));
  EXPECT_THAT(chosen("team"),
              ElementsAre("A N=4096 TILE=2 from team.sqlite", "A N=64 TILE=2 from team.sqlite"));
  // No other database answers: how these winners do on each other's problems is predicted.
  const std::vector<StoredPortfolio> one = results.portfolios({.source = "winners"}, 1, false);
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_TRUE(one[0].is_predicted);
}

TEST_F(LayeredStoreOf, ReadsFromAnExportHowWinnersDoForOtherProblems) {
  const fs::path team =
      store("team.sqlite", "A",
            {planted(tile(1), 1), planted(tile(2), 2), planted(tile(3), 4), planted(tile(1), 3, 64),
             planted(tile(2), 1, 64), planted_failure(tile(1), 8), planted(tile(2), 1, 8)});
  const ResultStore whole(team, ResultStore::Mode::read_only);
  const fs::path file = folder() / "team.json";
  write_whole_file(file,
                   export_json(whole.best({}, true), whole.defaults({}), whole.candidates({})));
  const LayeredStore results = layered({}, {file});
  std::vector<std::string> candidates;
  for (const StoredResult& one : results.candidates({.source = "shared"})) {
    candidates.push_back(key(one.result.problem) + " " + key(one.result.configuration) + " " +
                         to_text(one.result.status));
  }
  EXPECT_THAT(candidates, testing::UnorderedElementsAre("N=4096,T=float TILE=2 correct",
                                                        "N=64,T=float TILE=1 correct",
                                                        "N=8,T=float TILE=1 constraints"));
  const StoredPortfolio one = results.portfolios({.source = "shared"}, 1, false).at(0);
  ASSERT_TRUE(one.portfolio);
  EXPECT_FALSE(one.is_predicted);
  EXPECT_THAT(answers(one.chosen), testing::SizeIs(3));
}

TEST_F(LayeredStoreOf, FindsWhatARunMayStartWith) {
  const fs::path own = store("own.sqlite", "A", {planted(tile(1), 3)});
  const fs::path team = store("team.sqlite", "A", {planted(tile(2), 2)});
  const auto found = layered(own, {team})
                         .prior_timings("gemm", planted_device("A"), {planted(tile(1), 1).problem});
  EXPECT_THAT(found.from, ElementsAre("team.sqlite"));
  ASSERT_THAT(found.prior_timings, SizeIs(1))
      << "also of the device and problem that are to be tuned";
  EXPECT_EQ(found.prior_timings[0].timed.at(0).second, tile(2));
}

TEST_F(LayeredStoreOf, ReadsOfAnExportOnlyTheSpaceThatIsAskedFor) {
  const ResultStore whole(store("whole.sqlite", "A", {planted(tile(1), 3)}),
                          ResultStore::Mode::read_only);
  std::vector<StoredResult> two = whole.best({}, true);
  two.push_back(two.front());
  two.back().space = "another";
  two.back().run_id += "2";
  const fs::path file = folder() / "two.json";
  write_whole_file(file, export_json(two, {}));
  const auto spaces = [&](const std::string& space) {
    std::vector<std::string> found;
    const LayeredStore results(
        std::nullopt, {{.file = file, .name = "two.json"}},
        [](const std::string& line) { ADD_FAILURE() << line; }, {}, space);
    for (const StoredResult& one : results.best({.source = "shared"}, true)) {
      found.push_back(one.space);
    }
    return found;
  };
  EXPECT_THAT(spaces(""), testing::UnorderedElementsAre("another", "gemm"));
  EXPECT_THAT(spaces("another"), ElementsAre("another"));
  EXPECT_THAT(spaces("gemm"), ElementsAre("gemm"));
  EXPECT_THAT(spaces("none"), testing::IsEmpty());
}

TEST_F(LayeredStoreOf, ListsTheFilesOfFolders) {
  fs::create_directory(folder() / "team");
  for (const char* name : {"b.json", "a.sqlite", "c.json.gz", "notes.txt"}) {
    write_whole_file(folder() / "team" / name, "{}");
  }
  const std::string team = (folder() / "team").string();
  std::vector<std::string> names;
  for (const SharedFile& one : shared_files(team + "::missing.sqlite:")) {
    names.push_back(one.name);
  }
  EXPECT_THAT(names, ElementsAre(team + "/a.sqlite", team + "/b.json", team + "/c.json.gz",
                                 "missing.sqlite"));
  EXPECT_THAT(shared_files(""), IsEmpty());
}

}  // namespace
}  // namespace smemtune::db
