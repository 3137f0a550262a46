#pragma once

#include "db/sqlite.h"

#include <filesystem>
#include <optional>

namespace smemtune::db {

/// Throws StoreError where what lies beside the database is no rollback journal of smemtune's.
/// SQLite obeys a journal that it finds: one may name a further file that it then deletes, a
/// write-ahead log stands for what is in the database, and what is no journal at all is removed as
/// one.
void check_journal(const std::filesystem::path& database);

/// The database as it is once its journal, which a writer that was killed has left, is rolled back:
/// a copy that nobody else sees. The file and its journal stay as they are. nullopt: the journal
/// changed meanwhile, so that its writer lives. REQUIRES: `connection` reads the database, and
/// check_journal() has looked at it.
std::optional<Connection> rolled_back_copy(const Connection& connection);

}  // namespace smemtune::db
