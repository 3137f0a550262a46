#include "db/database_file.h"
#include "db/run_rows.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <regex>
#include <string>
#include <unistd.h>
#include <utility>

namespace smemtune::db {

namespace {

/// Creates a new file for the backup, readable only by its owner.
std::filesystem::path create_backup_file(const std::filesystem::path& file, std::int64_t version) {
  for (int number = 1;; ++number) {
    std::string name = file.string();
    name.append(".v").append(std::to_string(version));
    if (number > 1) name.append(".").append(std::to_string(number));
    std::filesystem::path backup = name.append(".bak");
    const int descriptor =
        open(backup.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0600);
    if (descriptor >= 0) {
      close(descriptor);
      return backup;
    }
    if (errno != EEXIST) {
      throw StoreError(backup.string() + ": the backup before the migration cannot be written: " +
                       std::strerror(errno));
    }
  }
}

void back_up(const Connection& connection, std::int64_t version) {
  const std::filesystem::path backup = create_backup_file(connection.file(), version);
  try {
    // Read through a second connection: SQLite does not copy from a connection that has begun to
    // write.
    const Connection source(connection.file(), Connection::Mode::read_only, 0);
    const Connection target(backup, Connection::Mode::read_write, 0);
    source.back_up_to(target);
  } catch (const StoreError&) {
    unlink(backup.c_str());
    throw;
  }
}

}  // namespace

std::span<const Migration> migrations() {
  static const Migration list[] = {
      {.version = 1, .sql = schema_sql()},
      // True if the clock stayed low during the measurement.
      {.version = 2, .sql = "ALTER TABLE result ADD COLUMN throttled INTEGER NOT NULL DEFAULT 0"},
      // True if the finals chose the result as the best.
      {.version = 3, .sql = R"sql(
        ALTER TABLE result ADD COLUMN chosen INTEGER NOT NULL DEFAULT 0;
        DROP INDEX result_by_configuration;
        CREATE INDEX result_by_configuration ON result
          (model_id, kernel_id, problem_id, configuration_id, id, status, stage, median_ms, run_id,
           chosen))sql"},
      // The kind of reference that the result was compared with. For results stored before, this is
      // known only if the reference was another kernel.
      {.version = 4, .sql = R"sql(
        ALTER TABLE result ADD COLUMN compared_with TEXT NOT NULL DEFAULT 'unknown';
        UPDATE result SET compared_with = 'another kernel'
          WHERE status = 'correct' AND NOT is_reference)sql"},
      // Imported results: the file that they come from. Their device models have rows of their own,
      // so that they never mix with our results.
      {.version = 5, .sql = R"sql(
        CREATE TABLE origin (
          id INTEGER PRIMARY KEY,
          format TEXT NOT NULL,
          file TEXT NOT NULL,
          file_sha256 TEXT NOT NULL,
          tool TEXT NOT NULL,
          device TEXT NOT NULL,
          imported_unix REAL NOT NULL,
          UNIQUE (file_sha256, device)
        ) STRICT;
        ALTER TABLE run ADD COLUMN origin_id INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE device_model ADD COLUMN imported INTEGER NOT NULL DEFAULT 0)sql"},
      // How many configurations a run evaluated, and how many were correct in the end, because
      // counting millions of results takes seconds. Also indices for a kernel's finals and its
      // defaults.
      {.version = 6, .sql = R"sql(
        CREATE TABLE run_count (
          run_id INTEGER PRIMARY KEY REFERENCES run (id),
          results INTEGER NOT NULL,
          correct INTEGER NOT NULL
        ) STRICT;
        INSERT INTO run_count (run_id, results, correct)
          SELECT run_id, count(*), sum(status = 'correct')
          FROM (SELECT run_id, status, max(id) FROM result
                GROUP BY run_id, kernel_id, problem_id, configuration_id)
          GROUP BY run_id;
        DROP INDEX result_final;
        CREATE INDEX result_final ON result
          (model_id, kernel_id, problem_id, run_id, configuration_id)
          WHERE stage = 'final' AND status = 'correct';
        CREATE INDEX result_default ON result (kernel_id)
          WHERE is_default = 1 AND status = 'correct')sql"},
      // Time of the first verified launch; 0 if unknown.
      {.version = 7,
       .sql = "ALTER TABLE result ADD COLUMN first_launch_ms REAL NOT NULL DEFAULT 0"},
      // How many elements of each output were compared with what; empty for results whose
      // `compared_with` followed from the contents of the space file.
      {.version = 8, .sql = "ALTER TABLE result ADD COLUMN compared TEXT NOT NULL DEFAULT ''"},
      // Whether the finals could tell it from the one that they chose (0 for older results, of
      // which that is not known), and what they knew of the one that they chose. And a run's finals
      // say less of kernels of which it chose none.
      {.version = 9,
       .sql = R"sql(
        ALTER TABLE result ADD COLUMN tied INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE result ADD COLUMN finals TEXT NOT NULL DEFAULT '')sql",
       .changes_ranking = true},
      // 1 if it was given up after one launch or two. Older versions stored that as a failure.
      {.version = 10, .sql = "ALTER TABLE result ADD COLUMN given_up INTEGER NOT NULL DEFAULT 0"}};
  return list;
}

void migrate(const Connection& connection, std::span<const Migration> migrations) {
  const auto version = [&] { return connection.integer("PRAGMA user_version"); };
  if (version() >= migrations.back().version) return;

  // A migration may rebuild a table that others refer to, so references are checked at the end. The
  // pragma has no effect inside a transaction.
  connection.execute("PRAGMA foreign_keys = OFF");
  Transaction transaction(connection);
  const std::int64_t before = version();  // Another process may have migrated first.
  if (before > 0 && before < migrations.back().version && !connection.in_memory()) {
    back_up(connection, before);
  }
  bool changes_ranking = false;
  for (const Migration& migration : migrations) {
    if (migration.version <= before) continue;
    connection.execute(migration.sql);
    connection.execute(("PRAGMA user_version = " + std::to_string(migration.version)).c_str());
    changes_ranking = changes_ranking || (migration.changes_ranking && before > 0);
  }
  if (changes_ranking) choose_all_bests(connection);
  connection.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  if (Statement(connection, "PRAGMA foreign_key_check").step()) {
    throw StoreError(connection.file().string() +
                     ": a reference was broken while migrating from version " +
                     std::to_string(before) + "; the database is as it was");
  }
  transaction.commit();
  connection.execute("PRAGMA foreign_keys = ON");
}

namespace {

/// The text that created each object, by its type and name.
using Schema = std::map<std::pair<std::string, std::string>, std::string>;

Schema read_schema(const Connection& connection) {
  Schema schema;
  Statement objects(connection, "SELECT type, name, tbl_name, sql FROM sqlite_schema");
  while (objects.step()) {
    // An index that SQLite created for a UNIQUE constraint has no text of its own.
    const std::string made_by =
        objects.is_null("sql") ? "for " + objects.text("tbl_name") : objects.text("sql");
    schema[{objects.text("type"), objects.text("name")}] = made_by;
  }
  return schema;
}

/// Returns the schema of an empty database after the migrations up to `version`; makes it the first
/// time only, as a process opens several databases.
const Schema& schema_of(std::span<const Migration> migrations, std::int64_t version) {
  static std::mutex lock;
  static std::map<std::string, Schema> known;
  std::string statements;
  for (const Migration& migration : migrations) {
    if (migration.version <= version) statements += migration.sql;
  }
  const std::lock_guard guard(lock);
  const auto found = known.find(statements);
  if (found != known.end()) return found->second;
  const Connection empty(":memory:", Connection::Mode::read_write, 0);
  for (const Migration& migration : migrations) {
    if (migration.version <= version) empty.execute(migration.sql);
  }
  return known[statements] = read_schema(empty);
}

/// Returns true if `text` is `known` with columns appended as ALTER TABLE does, each with a name, a
/// type and at most a literal as its default.
bool adds_plain_columns(const std::string& known, const std::string& text) {
  if (text.size() <= known.size()) return false;
  static const std::regex kColumnList(
      R"((, *\w+ (INTEGER|REAL|TEXT|BLOB)( NOT NULL)?( DEFAULT (-?\d{1,15}|'[\w ]{0,99}'|NULL))?){1,99})");
  const std::size_t added = text.size() - known.size();
  const auto differs = std::mismatch(known.begin(), known.end(), text.begin()).first;
  for (auto at = static_cast<std::size_t>(differs - known.begin());; --at) {
    if (text.compare(at + added, std::string::npos, known, at) == 0 && added < 4096 &&
        std::regex_match(text.substr(at, added), kColumnList)) {
      return true;
    }
    if (at == 0) return false;
  }
}

/// Returns true for an index that is safe to ignore: on columns only, perhaps restricted to rows
/// where certain columns have certain values.
bool is_plain_index(const std::string& text) {
  static const std::regex kIndex(
      R"(CREATE( UNIQUE)? INDEX \w+ ON \w+\s*\((\s*\w+\s*,){0,99}\s*\w+\s*\)(\s+WHERE \w+ (=|<>|IS|IS NOT) (\d{1,15}|'\w{0,99}'|NULL)( AND \w+ (=|<>|IS|IS NOT) (\d{1,15}|'\w{0,99}'|NULL)){0,9})?)");
  return text.size() < 4096 && std::regex_match(text, kIndex);
}

/// Returns true for an object that a newer version may have added.
bool is_harmless(const std::string& type, const std::string& text) {
  if (type == "index") return text.starts_with("for ") || is_plain_index(text);
  return type == "table" && text.starts_with("CREATE TABLE ");
}

[[noreturn]] void refuse(const Connection& connection, const std::string& what,
                         std::int64_t version, bool newer) {
  throw StoreError(connection.file().string() + ": " + what +
                   (newer ? "; it was written by a newer smemtune (version " +
                                std::to_string(version) +
                                "), or by another program: update "
                                "smemtune to read it"
                          : ", so it is not a database as smemtune made it (version " +
                                std::to_string(version) + "), and nothing in it is read"));
}

}  // namespace

void check_schema(const Connection& connection, std::span<const Migration> migrations) {
  const std::int64_t version = connection.integer("PRAGMA user_version");
  const bool newer = version > migrations.back().version;
  const Schema& known = schema_of(migrations, version);
  const Schema found = read_schema(connection);
  for (const auto& [object, text] : known) {
    const auto& [type, name] = object;
    const auto its = found.find(object);
    // A newer version may have replaced an index; no query names one.
    if (newer && type == "index") continue;
    if (its == found.end())
      refuse(connection, "the " + type + " " + name + " is missing", version, newer);
    if (its->second != text && !(newer && adds_plain_columns(text, its->second))) {
      refuse(connection, "the " + type + " " + name + " has been changed", version, newer);
    }
  }
  for (const auto& [object, text] : found) {
    const auto its = known.find(object);
    if (its != known.end() && (its->second == text || object.first == "table")) continue;
    if (newer && is_harmless(object.first, text)) continue;
    const std::string article = object.first == "index" ? "an " : "a ";
    refuse(connection, "there is " + article + object.first + " " + object.second + " in it",
           version, newer);
  }
}

std::vector<std::string> known_tables(std::span<const Migration> migrations) {
  std::vector<std::string> tables;
  for (const auto& [object, text] : schema_of(migrations, migrations.back().version)) {
    if (object.first == "table") tables.push_back(object.second);
  }
  return tables;
}

}  // namespace smemtune::db
