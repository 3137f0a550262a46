#pragma once

#include "db/migrations.h"
#include "db/sqlite.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace smemtune::db {

/// read_write creates the file (0600) and its folder (0700) where they do not exist, and migrates
/// an older version. read_only changes nothing, neither the database nor what lies beside it: an
/// older version is read through a migrated copy in memory, one that a killed writer left through a
/// copy that is rolled back, of a newer one what is known here.
using OpenMode = Connection::Mode;

/// Opens a results database, or ":memory:". Throws StoreError saying what is wrong and what to do,
/// and leaves the file as it is, for: no file (read only), a folder, a device, a place that cannot
/// be written, a network file system, not a database, another program's, a schema that smemtune
/// never made, a foreign journal, a newer version (read_write), a damaged one, one that is locked.
Connection open_database(const std::filesystem::path& file, OpenMode mode, int busy_timeout_ms,
                         std::span<const Migration> migrations);

/// `NFS` for a file system type (statfs's f_type) on which SQLite's locks cannot be relied on.
std::optional<std::string> network_file_system(std::int64_t type);

/// Why files in the folder cannot be locked between processes, from trying it; nullopt: they can.
std::optional<std::string> why_locks_fail(const std::filesystem::path& folder);

}  // namespace smemtune::db
