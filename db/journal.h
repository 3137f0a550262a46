#pragma once

#include "db/sqlite.h"

#include <filesystem>
#include <optional>

namespace smemtune::db {

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
