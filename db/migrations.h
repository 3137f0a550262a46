#pragma once

#include "db/sqlite.h"

#include <cstdint>
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

}  // namespace smemtune::db
