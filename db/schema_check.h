#pragma once

#include "db/migrations.h"
#include "db/sqlite.h"

#include <span>
#include <string>
#include <vector>

namespace smemtune::db {

/// Throws StoreError unless the tables and indices are, to the letter, what the migrations up to
/// the database's version make, and there is nothing else: a generated column, a CHECK or an index
/// of somebody else's would be run by reading a row. No row is read for it.
///
/// Of a version newer than the last migration, the tables that are known here may have more plain
/// columns at their end, and there may be further tables and plain indices. Whatever else it
/// changed cannot be read past.
void check_schema(const Connection& connection, std::span<const Migration> migrations);

/// Names of the tables that the migrations make.
std::vector<std::string> known_tables(std::span<const Migration> migrations);

}  // namespace smemtune::db
