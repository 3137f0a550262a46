#pragma once

#include "db/sqlite.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune::db {

/// `SMTU`, the application id in the file's header that marks a database of smemtune.
inline constexpr std::int32_t kApplicationId = 0x534D5455;

/// Returns the text of schema.sql, which is compiled in.
const char* schema_sql();

/// A change from the previous version of the database to this one. Must never be edited once
/// released.
struct Migration {
  /// The version that the database has afterwards, stored in PRAGMA user_version.
  std::int32_t version = 0;
  const char* sql = nullptr;
  bool changes_ranking = false;  ///< The table `best` is made anew by today's rule.
};

/// Returns all migrations in order, without gaps, from version 1 (which turns an empty database
/// into ours).
std::span<const Migration> migrations();

/// Runs the migrations that the database lacks, all or none, and marks it as ours. Before that,
/// copies a database with an older version to `FILE.v<version>.bak`, or to `FILE.v<version>.2.bak`
/// if that exists. REQUIRES: the database is empty or ours, and not newer than the last migration.
void migrate(const Connection& connection, std::span<const Migration> migrations);

/// Throws StoreError unless the tables and indices are exactly those that the migrations up to the
/// database's version create, and nothing else exists: reading a row would run any generated
/// column, CHECK or index expression that somebody else added. Reads no row.
///
/// Known tables of a version newer than the last migration may have further plain columns at
/// their end, and there may be further tables and plain indices. Other changes cannot be read past
/// and are refused.
void check_schema(const Connection& connection, std::span<const Migration> migrations);

/// Returns the names of the tables that the migrations create.
std::vector<std::string> known_tables(std::span<const Migration> migrations);

/// read_write creates the file (0600) and its folder (0700) if they do not exist, and migrates an
/// older version. read_only changes neither the database nor the files beside it: an older version
/// is read through a migrated copy in memory, a database that a killed writer left with a journal
/// through a copy in which it is rolled back. Of a newer version, the tables and columns that this
/// version knows are read.
using OpenMode = Connection::Mode;

/// Opens a results database, or ":memory:". Throws StoreError saying what is wrong and what to do,
/// and leaves the file as it is, for: no file (read only), a folder, a device, a place that cannot
/// be written, a network file system, not a database, another program's, a schema that smemtune
/// never made, a foreign journal, a newer version (read_write), a damaged one, one that is locked.
Connection open_database(const std::filesystem::path& file, OpenMode mode,
                         int busy_timeout_ms = 30000,
                         std::span<const Migration> migrations = db::migrations());

/// Returns the name, like `NFS`, of a file system type (f_type of statfs) on which SQLite's locks
/// are unreliable; nullopt for other types.
std::optional<std::string> network_file_system(std::int64_t type);

/// Tries to lock a file in the folder between processes. Returns why that fails; nullopt if it
/// works.
std::optional<std::string> why_locks_fail(const std::filesystem::path& folder);

/// Throws StoreError if a file beside the database is not a rollback journal that smemtune wrote.
/// SQLite obeys any journal that it finds: a journal may name a further file, which SQLite then
/// deletes; a write-ahead log overrides what is in the database; and a file that is not a journal
/// at all is deleted as one.
void check_journal(const std::filesystem::path& database);

/// Returns a private copy of the database in which the journal that a killed writer left is rolled
/// back. The file and its journal stay unchanged. nullopt if the journal changed meanwhile, which
/// means that its writer is alive. REQUIRES: `connection` reads the database, and check_journal()
/// has accepted its journal.
std::optional<Connection> rolled_back_copy(const Connection& connection);

}  // namespace smemtune::db
