#include "db/schema_check.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <regex>
#include <utility>

namespace smemtune::db {

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
