#pragma once

#include "db/sqlite.h"

#include <cstdint>
#include <span>

namespace smemtune::db {

/// `SMTU` in the file's header: whose database it is.
inline constexpr std::int32_t kApplicationId = 0x534D5455;

/// schema.sql, as it was compiled in.
const char* schema_sql();

/// Takes a database from the version before to this one. Never change one that was released.
struct Migration {
  std::int32_t version = 0;  ///< Afterwards, in PRAGMA user_version.
  const char* sql = nullptr;
  bool changes_ranking = false;  ///< The table `best` is made anew by today's rule.
};

/// All there are, from version 1 (which makes an empty database ours) on, without gaps.
std::span<const Migration> migrations();

/// Runs those that the database lacks, all or none, and marks it as ours. Copies a database that
/// holds an older version to `FILE.v<version>.bak` first, or to `FILE.v<version>.2.bak` where that
/// exists. REQUIRES: the database is empty or ours, and not newer than the last migration.
void migrate(const Connection& connection, std::span<const Migration> migrations);

}  // namespace smemtune::db
