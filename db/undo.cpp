#include "db/database_file.h"
#include "db/maintenance.h"
#include "db/run_rows.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace smemtune::db {

namespace {

/// Returns the first column, called `name`, of all rows that a query gives.
std::vector<std::string> names_in(const Connection& connection, const std::string& sql) {
  std::vector<std::string> names;
  Statement select(connection, sql);
  while (select.step()) names.push_back(select.text("name"));
  return names;
}

/// Copies rows of one table. A row keeps its id if that is free.
class RowCopier {
 public:
  RowCopier(const Connection& from, const Connection& to, const std::string& table)
      : to_(to),
        columns_(names_in(
            from, "SELECT name FROM pragma_table_info('" + table + "') WHERE name <> 'id'")),
        key_(names_in(from, "SELECT part.name FROM pragma_index_list('" + table +
                                "') AS list JOIN pragma_index_info(list.name) AS part "
                                "WHERE list.origin = 'u'")),
        read_(from, "SELECT * FROM " + table + " WHERE id = :id"),
        taken_(to, "SELECT 1 FROM " + table + " WHERE id = :id"),
        find_(to, "SELECT id FROM " + table + " WHERE " + (key_.empty() ? "0" : all_equal(key_))),
        insert_(to, "INSERT INTO " + table + " (id, " + joined(columns_, ", ") +
                        ") VALUES (:id, :" + joined(columns_, ", :") + ")") {
    Statement select(from, "SELECT * FROM pragma_foreign_key_list('" + table + "')");
    while (select.step()) references_[select.text("from")] = select.text("table");
    if (table == "run") references_["origin_id"] = "origin";
  }

  /// Returns the id in the target database of a row of `table`.
  using MapId = std::function<std::int64_t(const std::string& table, std::int64_t id)>;

  /// Returns the row's id in the target database, where it is inserted if there is none of its key.
  /// `map` returns the target ids of the rows that it refers to. `number`: the value of that column
  /// of a row that is inserted whether or not there is one of its key.
  std::int64_t copy(std::int64_t id, const MapId& map, std::optional<std::int64_t> number = {}) {
    read_.bind(":id", id).step();
    std::map<std::string, std::int64_t> values;
    for (const auto& [column, table] : references_) {
      const std::int64_t referred = read_.integer(column);
      // A run of ours has the origin 0, which is no row.
      values[column] = referred == 0 ? 0 : map(table, referred);
    }
    if (number) values["number"] = *number;
    for (const std::string& column : key_) bind(find_, column, values);
    std::int64_t copied = number ? 0 : find_.id();
    if (copied == 0) copied = insert(id, values);
    read_.reset();
    return copied;
  }

 private:
  void bind(Statement& to, const std::string& column,
            const std::map<std::string, std::int64_t>& values) {
    const auto given = values.find(column);
    if (given == values.end()) {
      to.bind_from(read_, column);
    } else {
      to.bind((":" + column).c_str(), given->second);
    }
  }

  std::int64_t insert(std::int64_t id, const std::map<std::string, std::int64_t>& values) {
    const bool is_taken = taken_.bind(":id", id).has_row();
    insert_.bind(":id", is_taken ? std::optional<std::int64_t>() : std::optional(id));
    for (const std::string& column : columns_) bind(insert_, column, values);
    insert_.run();
    return to_.last_insert_id();
  }

  const Connection& to_;
  std::vector<std::string> columns_;               ///< All but the id.
  std::vector<std::string> key_;                   ///< Those that identify a row in both databases.
  std::map<std::string, std::string> references_;  ///< Tables, by the columns that refer to them.
  Statement read_;
  Statement taken_;
  Statement find_;
  Statement insert_;
};

/// Restores what a backup contains and the database does not. REQUIRES: a transaction on `to`.
class Restorer {
 public:
  Restorer(const Connection& backup, const Connection& to)
      : from_(backup),
        to_(to),
        find_run_(to, "SELECT id FROM run WHERE uid = :uid"),
        find_result_(to, R"sql(
          SELECT at_unix, status, median_ms FROM result
          WHERE run_id = :run AND number = :number)sql"),
        next_number_(to, R"sql(
          SELECT coalesce(max(number), 0) + 1 AS id FROM result WHERE run_id = :run)sql"),
        has_moment_(to, R"sql(
          SELECT 1 FROM result WHERE run_id = :run AND at_unix = :at AND status = :status
            AND configuration_id = :configuration AND coalesce(median_ms, 0) = :median)sql") {}

  Restored restore() {
    restore_runs();
    const std::vector<std::int64_t> missing = missing_results();
    if (!missing.empty()) make_room();
    for (const std::int64_t id : missing) restore_result(id);
    restore_current_kernels();
    for (const ResultGroup& group : touched_) choose_best(to_, group);
    for (const std::int64_t run : touched_runs_) {
      keep_counts(to_, run, count_results(to_, run));
    }
    restored_.results = missing.size();
    return restored_;
  }

 private:
  /// Returns the id in the database of a row of the backup, which is inserted if missing.
  std::int64_t map(const std::string& table, std::int64_t id) {
    const auto [place, is_new] = ids_.try_emplace({table, id}, 0);
    if (!is_new) return place->second;
    const std::int64_t copied = copier(table).copy(id, by_map());
    return ids_[{table, id}] = copied;
  }

  RowCopier::MapId by_map() {
    return [this](const std::string& table, std::int64_t id) { return map(table, id); };
  }

  RowCopier& copier(const std::string& table) {
    auto& place = copiers_[table];
    if (!place) place = std::make_unique<RowCopier>(from_, to_, table);
    return *place;
  }

  void restore_runs() {
    Statement runs(from_, "SELECT id, uid FROM run ORDER BY id");
    Statement attempts(from_, "SELECT id FROM attempt WHERE run_id = :run ORDER BY id");
    while (runs.step()) {
      const std::int64_t id = runs.integer("id");
      if (const std::int64_t known = find_run_.bind(":uid", runs.text("uid")).id(); known != 0) {
        ids_[{"run", id}] = known;
        continue;
      }
      touched_runs_.insert(map("run", id));
      ++restored_.runs;
      attempts.bind(":run", id);
      while (attempts.step()) copier("attempt").copy(attempts.integer("id"), by_map());
    }
  }

  std::vector<std::int64_t> missing_results() {
    std::vector<std::int64_t> missing;
    Statement results(from_, R"sql(
      SELECT id, run_id, number, at_unix, status, median_ms, configuration_id FROM result
      ORDER BY id)sql");
    while (results.step()) {
      if (!is_stored(results)) missing.push_back(results.integer("id"));
    }
    return missing;
  }

  static bool same_measurement(const Statement& one, const Statement& other) {
    const bool same_time =
        one.is_null("median_ms")
            ? other.is_null("median_ms")
            : !other.is_null("median_ms") && one.real("median_ms") == other.real("median_ms");
    return same_time && one.real("at_unix") == other.real("at_unix") &&
           one.text("status") == other.text("status");
  }

  /// Looks for the result by its number in the run; if another result has that number, it may be
  /// stored with a new one.
  bool is_stored(const Statement& result) {
    const std::int64_t run = map("run", result.integer("run_id"));
    find_result_.bind(":run", run).bind(":number", result.integer("number"));
    const bool any = find_result_.step();
    const bool same = any && same_measurement(find_result_, result);
    find_result_.reset();
    if (same || !any) return same;
    return has_moment_.bind(":run", run)
        .bind(":at", result.real("at_unix"))
        .bind(":status", result.text("status"))
        .bind(":configuration", map("configuration", result.integer("configuration_id")))
        .bind(":median", result.is_null("median_ms") ? 0 : result.real("median_ms"))
        .has_row();
  }

  /// Ids must be in the order of time. Results stored since the backup may have taken ids that were
  /// free then; these results are moved behind the last id of the backup.
  void make_room() {
    Statement newest(to_, R"sql(
      SELECT result.id, run.uid, result.at_unix FROM result JOIN run ON run.id = result.run_id
      ORDER BY result.id DESC)sql");
    Statement same(from_, R"sql(
      SELECT 1 FROM result JOIN run ON run.id = result.run_id
      WHERE result.id = :id AND run.uid = :uid AND result.at_unix = :at)sql");
    std::int64_t last_old = 0;
    while (last_old == 0 && newest.step()) {
      same.bind(":id", newest.integer("id"))
          .bind(":uid", newest.text("uid"))
          .bind(":at", newest.real("at_unix"));
      if (same.has_row()) last_old = newest.integer("id");
    }
    newest.reset();
    const std::int64_t most = from_.integer("SELECT coalesce(max(id), 0) FROM result");
    if (most <= last_old) return;
    const std::string by = std::to_string(most - last_old);
    const std::string after = std::to_string(last_old);
    to_.execute(("UPDATE result SET id = -(id + " + by + ") WHERE id > " + after +
                 "; UPDATE result SET id = -id WHERE id < 0; UPDATE best SET result_id = "
                 "result_id + " +
                 by + " WHERE result_id > " + after)
                    .c_str());
  }

  void restore_result(std::int64_t id) {
    Statement row(from_, R"sql(
      SELECT run_id, number, model_id, kernel_id, problem_id FROM result WHERE id = :id)sql");
    row.bind(":id", id).step();
    const std::int64_t run = map("run", row.integer("run_id"));
    std::int64_t number = row.integer("number");
    if (find_result_.bind(":run", run).bind(":number", number).has_row()) {
      number = next_number_.bind(":run", run).id();
    }
    copier("result").copy(id, by_map(), number);
    touched_runs_.insert(run);
    touched_.insert({map("device_model", row.integer("model_id")),
                     map("kernel", row.integer("kernel_id")),
                     map("problem", row.integer("problem_id"))});
  }

  /// Restores the current version of kernels that have none in the database.
  void restore_current_kernels() {
    Statement rows(from_, "SELECT model_id, space_id, name, kernel_id FROM current_kernel");
    Statement insert(to_, R"sql(
      INSERT INTO current_kernel (model_id, space_id, name, kernel_id)
      VALUES (:model, :space, :name, :kernel) ON CONFLICT DO NOTHING)sql");
    while (rows.step()) {
      insert.bind(":model", map("device_model", rows.integer("model_id")))
          .bind(":space", map("space", rows.integer("space_id")))
          .bind(":name", rows.text("name"))
          .bind(":kernel", map("kernel", rows.integer("kernel_id")))
          .run();
    }
  }

  const Connection& from_;
  const Connection& to_;
  Statement find_run_;
  Statement find_result_;
  Statement next_number_;
  Statement has_moment_;
  std::map<std::string, std::unique_ptr<RowCopier>> copiers_;
  /// Ids in the database, by table and id in the backup.
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> ids_;
  std::set<ResultGroup> touched_;
  std::set<std::int64_t> touched_runs_;
  Restored restored_;
};

Restored restore_from(const std::filesystem::path& backup, const std::filesystem::path& file) {
  const Connection from = open_database(backup, OpenMode::read_only);
  const Connection to = open_database(file, OpenMode::read_write);
  to.execute("PRAGMA foreign_keys = OFF");  // References are checked at the end.
  Transaction transaction(to);
  Restored restored = Restorer(from, to).restore();
  restored.backup = backup;
  if (restored.results == 0 && restored.runs == 0) return restored;
  if (Statement(to, "PRAGMA foreign_key_check").step()) {
    throw StoreError(backup.string() +
                     ": what it holds refers to rows that it lacks; nothing was "
                     "brought back");
  }
  transaction.commit();
  return restored;
}

}  // namespace

std::vector<std::filesystem::path> prune_backups(const std::filesystem::path& file) {
  const std::string begin = file.filename().string() + ".pruned-";
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::vector<std::filesystem::path> backups;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".bak")) backups.push_back(entry.path());
  }
  std::ranges::sort(backups, std::greater<>());
  return backups;
}

Restored undo_prune(const std::filesystem::path& file,
                    const std::optional<std::filesystem::path>& backup) {
  std::vector<std::filesystem::path> candidates = prune_backups(file);
  if (backup) candidates = {*backup};
  if (candidates.empty()) {
    throw InputError(file.string() + ": no backup of a prune lies beside it");
  }
  for (const std::filesystem::path& candidate : candidates) {
    Restored restored = restore_from(candidate, file);
    if (restored.results + restored.runs > 0) return restored;
  }
  if (backup) return {.backup = *backup};
  throw InputError(file.string() + ": all that its " + counted(candidates.size(), "backup") +
                   " hold is in it");
}

}  // namespace smemtune::db
