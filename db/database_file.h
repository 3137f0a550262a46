#pragma once

#include "db/migrations.h"
#include "db/sqlite.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace smemtune::db {

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
Connection open_database(const std::filesystem::path& file, OpenMode mode, int busy_timeout_ms,
                         std::span<const Migration> migrations);

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
