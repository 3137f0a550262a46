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
/// an older version. read_only never changes the database; it reads an older version through a
/// migrated copy in memory.
using OpenMode = Connection::Mode;

/// Opens a results database, or ":memory:". Throws StoreError saying what is wrong and what to do,
/// and leaves the file as it is, for: no file (read only), a folder, a device, a place that cannot
/// be written, a network file system, not a database, another program's, a newer version, a damaged
/// one, one that is locked.
Connection open_database(const std::filesystem::path& file, OpenMode mode, int busy_timeout_ms,
                         std::span<const Migration> migrations);

/// `NFS` for a file system type (statfs's f_type) on which SQLite's locks cannot be relied on.
std::optional<std::string> network_file_system(std::int64_t type);

}  // namespace smemtune::db
