#include "db/result_store.h"

#include "db/bests.h"
#include "db/columns.h"
#include "db/database_file.h"
#include "db/json_forms.h"
#include "db/process_name.h"
#include "db/result_sql.h"
#include "db/run_log.h"
#include "db/run_rows.h"
#include "db/sections.h"
#include "db/sqlite.h"
#include "db/stored_names.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace smemtune::db {

namespace {

/// Returns the texts of a list of expressions; of a number its digits.
std::vector<std::string> expressions_of(const Json& object, const char* name) {
  std::vector<std::string> texts;
  if (!object.is_object() || !object.contains(name) || !object[name].is_array()) return texts;
  for (const Json& one : object[name]) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
    if (one.is_number_integer()) texts.push_back(one.dump());
  }
  return texts;
}

/// Returns the product of the `grid` or the `block` of each launch of a kernel in a space file.
std::vector<std::string> volumes_of(const Json& kernel, const char* extents) {
  std::vector<std::string> volumes;
  const Json launches = kernel.value("launches", Json::array({kernel}));
  for (const Json& launch : launches) {
    const std::vector<std::string> each = expressions_of(launch, extents);
    if (each.empty()) continue;
    std::string text = each.front();
    for (std::size_t i = 1; i < each.size(); ++i) text = "(" + text + ") * (" + each[i] + ")";
    volumes.push_back(std::move(text));
  }
  return volumes;
}

/// Reads what a run's space file says of a kernel; nothing if the text is no space file.
void read_kernel(const std::string& space_json, KernelDefaults& defaults) {
  const Json space = Json::parse(space_json, nullptr, /*allow_exceptions=*/false);
  const auto kernels = space.is_object() ? space.find("kernels") : space.end();
  if (kernels == space.end() || !kernels->is_array()) return;
  for (const Json& one : *kernels) {
    if (!one.is_object() || one.value("name", Json()) != defaults.kernel) continue;
    defaults.constraints = expressions_of(one, "constraints");
    defaults.promising = expressions_of(one, "promising");
    defaults.launches.blocks = volumes_of(one, "grid");
    defaults.launches.threads = volumes_of(one, "block");
  }
  const Json metrics = space.value("metrics", Json::object());
  for (const auto& [name, text] : metrics.items()) {
    if (text.is_string()) defaults.launches.metrics[name] = text.get<std::string>();
  }
}

}  // namespace

ResultStore::ResultStore(const std::filesystem::path& file, Mode mode, int busy_timeout_ms)
    : connection_(std::make_unique<Connection>(
          open_database(file, mode == Mode::read_only ? OpenMode::read_only : OpenMode::read_write,
                        busy_timeout_ms))) {}

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

std::vector<StoredResult> ResultStore::best(const Query& asked, bool per_kernel) const {
  const Query query = exact(asked);
  std::vector<KernelBest> bests = best_of_kernels(*connection_, query);
  if (!per_kernel) bests = best_of_problems(*connection_, std::move(bests));

  std::vector<std::int64_t> ids;
  for (const KernelBest& best : bests) ids.push_back(best.timed.result_id);
  return results_of(ids, query);
}

std::vector<StoredResult> ResultStore::candidates(const Query& asked) const {
  const Query query = exact(asked);
  return results_of(
      candidate_results(*connection_, best_of_kernels(*connection_, query), query.run), query);
}

std::vector<KernelDefaults> ResultStore::defaults(const Query& asked) const {
  const Query query = exact(asked);
  Statement statement(*connection_, defaults_sql());
  statement.bind(":space", query.space).bind(":kernel", query.kernel).bind(":source", query.source);
  std::vector<KernelDefaults> defaults;
  while (statement.step()) {
    KernelDefaults& one = defaults.emplace_back(
        KernelDefaults{.space = statement.text("space_name"),
                       .kernel = statement.text("kernel_name"),
                       .configuration = bindings_from_json(statement, "configuration_json")});
    read_kernel(statement.text("space_json"), one);
  }
  return defaults;
}

void ResultStore::each_result(const Query& asked, std::size_t limit,
                              const std::function<void(StoredResult&&)>& take) const {
  const Query query = exact(asked);
  Statement statement(*connection_, ids_sql(query));
  bind_query(statement, *connection_, query);
  statement.bind(":limit", limit == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(limit));
  std::vector<std::int64_t> ids;
  while (statement.step()) ids.push_back(statement.integer("id"));
  std::ranges::reverse(ids);
  each_of(ids, query, take);
}

std::vector<StoredResult> ResultStore::one_of_each_kernel(const Query& asked) const {
  const Query query = exact(asked);
  Statement statement(*connection_, one_of_each_kernel_sql());
  bind_query(statement, *connection_, query);
  std::vector<std::int64_t> ids;
  while (statement.step()) {
    if (!statement.is_null("id")) ids.push_back(statement.integer("id"));
  }
  return results_of(ids, query);
}

void ResultStore::each_newest(const Query& asked,
                              const std::function<void(StoredResult&&)>& take) const {
  const Query query = exact(asked);
  Statement statement(*connection_, newest_sql(query));
  bind_query(statement, *connection_, query);
  statement.bind(":versions", versions_json(query));
  struct Newest {
    std::int64_t configuration = 0;  ///< Negative: of imported results.
    std::int64_t first_id = 0;
    std::int64_t id = 0;
  };
  std::vector<Newest> newest;
  std::size_t count = 0;
  const auto join_last = [&](const Newest& one) {
    if (count > 0 && newest[count - 1].configuration == one.configuration) {
      newest[count - 1].first_id = std::min(newest[count - 1].first_id, one.first_id);
      newest[count - 1].id = std::max(newest[count - 1].id, one.id);
      return;
    }
    if (count == newest.size()) newest.emplace_back();
    newest[count++] = one;
  };
  while (statement.step()) {
    const std::int64_t id = statement.integer("id");
    const std::int64_t configuration = statement.integer("configuration_id");
    join_last({statement.integer("imported") != 0 ? -configuration : configuration, id, id});
  }
  // The index has the results of a configuration beside each other, but for each version and model
  // by itself.
  std::ranges::sort(newest, {}, &Newest::configuration);
  count = 0;
  for (std::size_t i = 0; i < newest.size(); ++i) join_last(Newest(newest[i]));
  newest.resize(count);
  std::ranges::sort(newest, {}, &Newest::first_id);
  std::vector<std::int64_t> ids;
  for (const Newest& one : newest) ids.push_back(one.id);
  each_of(ids, query, take);
}

std::vector<ProblemResults> ResultStore::sections(const Query& asked, std::size_t most) const {
  const Query query = exact(asked);
  std::vector<ProblemResults> sections = read_sections(*connection_, query, most);
  for (const KernelBest& best : best_first(*connection_, best_of_kernels(*connection_, query))) {
    if (best.stale) continue;
    StoredResult stored = std::move(results_of({best.timed.result_id}, query).front());
    const auto its = std::ranges::find_if(sections, [&](const ProblemResults& section) {
      return section.model_id == stored.model_id && section.problem == stored.result.problem;
    });
    if (its != sections.end()) its->best.push_back(std::move(stored));
  }
  return sections;
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

Query ResultStore::exact(const Query& asked) const { return exact_query(*connection_, asked); }

std::string ResultStore::space_text(const StoredResult& stored) const {
  Statement select(*connection_, "SELECT space_json FROM run WHERE uid = :uid");
  return select.bind(":uid", stored.run_id).step() ? select.text("space_json") : std::string();
}

std::vector<StoredRun> ResultStore::runs(const Query& asked) const {
  const Query query = exact(asked);
  Statement statement = select_runs(*connection_, query);
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
