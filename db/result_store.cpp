#include "db/result_store.h"

#include "db/columns.h"
#include "db/database_file.h"
#include "db/findings.h"
#include "db/process_name.h"
#include "db/ranking.h"
#include "db/result_sql.h"
#include "db/run_log.h"
#include "db/run_record.h"
#include "db/run_rows.h"
#include "db/sections.h"
#include "db/sqlite.h"
#include "db/standings.h"
#include "db/stored_names.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

/// What a result is ranked by.
struct Ranked {
  std::int64_t model_id = 0;
  std::int64_t problem_id = 0;
  std::int64_t kernel_id = 0;
  std::string kernel;
  bool stale = false;
  bool correct = false;
  Timed timed;
};

std::vector<Ranked> read_ranked(Statement& statement) {
  std::vector<Ranked> rows;
  while (statement.step()) {
    rows.push_back({.model_id = statement.integer("model_id"),
                    .problem_id = statement.integer("problem_id"),
                    .kernel_id = statement.integer("kernel_id"),
                    .kernel = statement.text("kernel_name"),
                    .stale = statement.integer("stale") != 0,
                    .correct = statement.text("status") == "correct",
                    .timed = read_timed(statement)});
  }
  return rows;
}

/// The rows whose indices are the map's values, in their order.
template <typename Key>
std::vector<Ranked> keep(std::vector<Ranked> rows, const std::map<Key, std::size_t>& chosen) {
  std::set<std::size_t> kept;
  for (const auto& [group, i] : chosen) kept.insert(i);
  std::vector<Ranked> result;
  for (const std::size_t i : kept) result.push_back(std::move(rows[i]));
  return result;
}

/// Of results of one run, the newest first, the best of each kernel and problem.
std::vector<Ranked> best_of_results(std::vector<Ranked> rows) {
  using Kernel = std::tuple<std::int64_t, std::int64_t, std::string>;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
  std::map<Kernel, std::vector<std::size_t>> kernels;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Ranked& row = rows[i];
    const bool newest =
        seen.insert({row.model_id, row.problem_id, row.timed.configuration_id}).second;
    const bool timed = row.correct && row.timed.stage != Stage::none;
    if (newest && timed) kernels[{row.model_id, row.problem_id, row.kernel}].push_back(i);
  }
  std::map<Kernel, std::size_t> chosen;
  for (const auto& [kernel, members] : kernels) {
    std::vector<Timed> newest;
    std::vector<Timed> finals;
    for (const std::size_t i : members) {
      newest.push_back(rows[i].timed);
      if (rows[i].timed.stage == Stage::final) finals.push_back(rows[i].timed);
    }
    if (const auto best = best_of(newest, finals)) chosen[kernel] = members[*best];
  }
  return keep(std::move(rows), chosen);
}

/// Of several versions of a kernel only the one that is current; where that has no best, the
/// newest.
std::vector<Ranked> one_version_each(std::vector<Ranked> rows) {
  const auto better = [](const Ranked& one, const Ranked& other) {
    if (one.stale != other.stale) return !one.stale;
    return one.timed.result_id > other.timed.result_id;
  };
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::size_t> chosen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [place, added] =
        chosen.try_emplace({rows[i].model_id, rows[i].problem_id, rows[i].kernel}, i);
    if (!added && better(rows[i], rows[place->second])) place->second = i;
  }
  return keep(std::move(rows), chosen);
}

/// The fastest of the kernels that solve a problem on a device; a stale one only where all are.
std::vector<Ranked> one_kernel_each(const Connection& connection, std::vector<Ranked> rows) {
  using ModelAndProblem = std::pair<std::int64_t, std::int64_t>;
  std::map<ModelAndProblem, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    groups[{rows[i].model_id, rows[i].problem_id}].push_back(i);
  }
  StandingsReader reader(connection, {.finalists_only = true});
  // In parts, each of which SQLite answers from an index.
  Statement other_finals(connection, R"sql(
    SELECT 1 FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem AND run_id > :run
      AND stage = 'final' AND status = 'correct'
    UNION ALL
    SELECT 1 FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem AND run_id < :run
      AND stage = 'final' AND status = 'correct'
    UNION ALL
    SELECT 1 FROM result
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
      AND configuration_id = :configuration AND id <> :id
      AND stage = 'final' AND status = 'correct' LIMIT 1)sql");
  const auto was_in_finals_of_one_run = [&](const Ranked& row) {
    if (row.timed.stage != Stage::final) return false;
    other_finals.bind(":model", row.model_id)
        .bind(":kernel", row.kernel_id)
        .bind(":problem", row.problem_id)
        .bind(":run", row.timed.run_id)
        .bind(":configuration", row.timed.configuration_id)
        .bind(":id", row.timed.result_id);
    const bool others = other_finals.step();
    other_finals.reset();
    return !others;
  };
  std::map<ModelAndProblem, std::size_t> chosen;
  for (auto& [group, members] : groups) {
    const auto stale = [&rows](std::size_t i) { return rows[i].stale; };
    if (!std::all_of(members.begin(), members.end(), stale)) {
      members.erase(std::remove_if(members.begin(), members.end(), stale), members.end());
    }
    // Where there are but one run's finals, and each kernel's best was in them once, it beat all of
    // the kernel's others there.
    const std::int64_t run = rows[members.front()].timed.run_id;
    const bool is_one_run = std::ranges::all_of(members, [&](std::size_t i) {
      return rows[i].timed.run_id == run && was_in_finals_of_one_run(rows[i]);
    });
    std::vector<Timed> newest;
    std::vector<Timed> finals;
    for (const std::size_t i : members) {
      newest.push_back(rows[i].timed);
      if (is_one_run || members.size() == 1) continue;
      const Standings its = reader.read(group.first, rows[i].kernel_id, group.second);
      finals.insert(finals.end(), its.finals.begin(), its.finals.end());
    }
    if (is_one_run) finals = newest;
    if (const auto best = best_of(newest, finals)) chosen[group] = members[*best];
  }
  return keep(std::move(rows), chosen);
}

}  // namespace

ResultStore::ResultStore(const std::filesystem::path& file, Mode mode, int busy_timeout_ms)
    : connection_(std::make_unique<Connection>(
          open_database(file, mode == Mode::read_only ? OpenMode::read_only : OpenMode::read_write,
                        busy_timeout_ms, migrations()))) {}

ResultStore::~ResultStore() = default;
ResultStore::ResultStore(ResultStore&&) noexcept = default;
ResultStore& ResultStore::operator=(ResultStore&&) noexcept = default;

std::optional<std::int64_t> ResultStore::newer_version() const {
  const std::int64_t version = connection_->integer("PRAGMA user_version");
  return version > migrations().back().version ? std::optional(version) : std::nullopt;
}

std::unique_ptr<ResultLog> ResultStore::begin_run(const Run& run) {
  return std::make_unique<RunLog>(*connection_, run);
}

void ResultStore::end_run(const std::string& run_id, const std::string& outcome) {
  Transaction transaction(*connection_);
  Statement update(*connection_, R"sql(
    UPDATE run SET outcome = :outcome, ended_unix = :now WHERE uid = :uid RETURNING id)sql");
  update.bind(":outcome", outcome).bind(":now", unix_now()).bind(":uid", run_id);
  if (!update.step()) {
    throw StoreError(connection_->file().string() + ": there is no run " + run_id);
  }
  const std::int64_t id = update.integer("id");
  update.run();
  // A run that was told to stop leaves attempts behind that nothing was wrong with.
  Statement(*connection_, R"sql(
    UPDATE attempt SET outcome = 'abandoned' WHERE run_id = :run AND outcome IS NULL)sql")
      .bind(":run", id)
      .run();
  transaction.commit();
}

void ResultStore::note_alive(const std::string& run_id, const std::string& hosts_state) {
  Statement(*connection_, "UPDATE run SET process = :process WHERE uid = :uid")
      .bind(":process", sign_of_life(unix_now(), hosts_state))
      .bind(":uid", run_id)
      .run();
}

RunRecord ResultStore::record_of(const std::string& run_id) const {
  return read_run_record(*connection_, run_id);
}

Added ResultStore::add(RunRecord record, const std::function<void(RunRecord&)>& next,
                       const AddLimits& limits) {
  return add_run_record(*connection_, record, next, limits);
}

std::vector<StoredResult> ResultStore::best(const Query& asked, bool per_kernel) const {
  const Query query = exact_query(*connection_, asked);
  // The table of bests holds those of all runs of ours, and of all imports.
  const bool of_all_runs = query.run.empty() && is_source_word(query.source);
  Statement statement(*connection_, of_all_runs ? bests_sql() : ranked_sql(query));
  bind_query(statement, *connection_, query);
  statement.bind(":versions", versions_json(query));
  std::vector<Ranked> rows = read_ranked(statement);
  if (!of_all_runs) rows = best_of_results(std::move(rows));
  rows = one_version_each(std::move(rows));
  if (!per_kernel) rows = one_kernel_each(*connection_, std::move(rows));

  std::vector<std::int64_t> ids;
  for (const Ranked& row : rows) ids.push_back(row.timed.result_id);
  return results_of(ids, query);
}

std::vector<KernelDefaults> ResultStore::defaults(const Query& asked) const {
  const Query query = exact_query(*connection_, asked);
  Statement statement(*connection_, defaults_sql());
  statement.bind(":space", query.space).bind(":kernel", query.kernel).bind(":source", query.source);
  std::vector<KernelDefaults> defaults;
  while (statement.step()) {
    defaults.push_back({.space = statement.text("space_name"),
                        .kernel = statement.text("kernel_name"),
                        .configuration = bindings_from_json(statement, "configuration_json")});
  }
  return defaults;
}

void ResultStore::each_result(const Query& asked, std::size_t limit,
                              const std::function<void(StoredResult&&)>& take) const {
  const Query query = exact_query(*connection_, asked);
  Statement statement(*connection_, ids_sql(query));
  bind_query(statement, *connection_, query);
  statement.bind(":limit", limit == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(limit));
  std::vector<std::int64_t> ids;
  while (statement.step()) ids.push_back(statement.integer("id"));
  std::ranges::reverse(ids);
  each_of(ids, query, take);
}

std::vector<StoredResult> ResultStore::results(const Query& query, std::size_t limit) const {
  std::vector<StoredResult> all;
  each_result(query, limit, [&](StoredResult&& one) { all.push_back(std::move(one)); });
  return all;
}

std::vector<StoredSection> ResultStore::sections(const Query& asked, std::size_t most) const {
  const Query query = exact_query(*connection_, asked);
  std::vector<StoredSection> sections = read_sections(*connection_, query, most);
  for (StoredResult& stored : best(query, /*per_kernel=*/true)) {
    const auto its = std::ranges::find_if(sections, [&](const StoredSection& section) {
      return section.model_id == stored.model_id && section.problem == stored.result.problem;
    });
    if (its != sections.end() && !stored.stale) its->best.push_back(std::move(stored));
  }
  return sections;
}

std::vector<Findings> ResultStore::findings(const std::string& space, const Device& device,
                                            const std::vector<Problem>& problems,
                                            bool in_log_too) const {
  return read_findings(*connection_, space, device, problems, in_log_too);
}

std::vector<StoredResult> ResultStore::results_of(const std::vector<std::int64_t>& ids,
                                                  const Query& query) const {
  std::vector<StoredResult> results;
  results.reserve(ids.size());
  each_of(ids, query, [&](StoredResult&& one) { results.push_back(std::move(one)); });
  return results;
}

void ResultStore::each_of(const std::vector<std::int64_t>& ids, const Query& query,
                          const std::function<void(StoredResult&&)>& take) const {
  Statement statement(*connection_, result_sql());
  statement.bind(":versions", versions_json(query));
  for (const std::int64_t id : ids) {
    if (!statement.bind(":id", id).step()) {
      throw StoreError(connection_->file().string() + ": result " + std::to_string(id) +
                       " was pruned while it was being read; try again");
    }
    take(read_stored(statement));
    statement.reset();
  }
}

std::string ResultStore::space_text(const std::string& run_id) const {
  Statement select(*connection_, "SELECT space_json FROM run WHERE uid = :uid");
  return select.bind(":uid", run_id).step() ? select.text("space_json") : std::string();
}

std::vector<StoredRun> ResultStore::runs(const Query& asked) const {
  const Query query = exact_query(*connection_, asked);
  Statement statement(*connection_, runs_sql());
  statement.bind(":space", query.space)
      .bind(":device", query.device)
      .bind(":run", query.run)
      .bind(":source", query.source);
  std::vector<StoredRun> runs;
  while (statement.step()) {
    StoredRun run;
    run.id = statement.text("uid");
    run.space = statement.text("space_name");
    run.device = statement.text("name");
    read_column(statement, "kind", run.device_kind);
    run.host = statement.text("host");
    run.compiler = statement.text("compiler");
    run.strategy = statement.text("strategy");
    run.seed = std::strtoull(statement.text("seed").c_str(), nullptr, 10);
    run.started_unix = statement.real("started_unix");
    if (!statement.is_null("ended_unix")) run.ended_unix = statement.real("ended_unix");
    run.outcome = statement.text("outcome");
    const std::string process = statement.text("process");
    const double now = unix_now();
    run.goes_on = run.outcome.empty() && may_be_alive(process, now - run.started_unix, now);
    if (run.goes_on) run.hosts_state = state_of(process);
    run.imported_from = statement.text("origin_file");
    run.results = static_cast<std::uint64_t>(statement.integer("results"));
    run.correct = static_cast<std::uint64_t>(statement.integer("correct"));
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<std::string> ResultStore::kernels() const {
  Statement statement(*connection_, "SELECT DISTINCT name FROM kernel ORDER BY name");
  std::vector<std::string> kernels;
  while (statement.step()) kernels.push_back(statement.text("name"));
  return kernels;
}

std::int64_t ResultStore::data_version() const {
  return connection_->integer("PRAGMA data_version");
}

std::vector<Device> ResultStore::devices() const {
  Statement statement(*connection_,
                      "SELECT * FROM device_model WHERE NOT imported ORDER BY name, id");
  std::vector<Device> devices;
  while (statement.step()) devices.push_back(read_model(statement));
  return devices;
}

}  // namespace smemtune::db
