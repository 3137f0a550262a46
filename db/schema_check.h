#pragma once

#include "db/migrations.h"
#include "db/sqlite.h"

#include <span>
#include <string>
#include <vector>

namespace smemtune::db {

/// Throws StoreError unless the tables and indices are exactly those that the migrations up to the
/// database's version create, and nothing else exists: reading a row would run any generated
/// column, CHECK or index expression that somebody else added. Reads no row.
///
/// In a version newer than the last migration, the known tables may have further plain columns at
/// their end, and there may be further tables and plain indices. Other changes cannot be read past
/// and are refused.
void check_schema(const Connection& connection, std::span<const Migration> migrations);

/// Returns the names of the tables that the migrations create.
std::vector<std::string> known_tables(std::span<const Migration> migrations);

}  // namespace smemtune::db
