#include "db/database_file.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace smemtune::db {

namespace {

/// Larger databases are not read through when they are opened: that would take longer than half a
/// second. Damage in them is found when it is met.
constexpr std::int64_t kMaxCheckedBytes = 64 << 20;

constexpr const char* kAllowNetwork = "SMEMTUNE_ALLOW_NETWORK_FS";

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw StoreError(file.string() + ": " + why);
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// Like create_directories(), but for the owner only.
void create_folder(const std::filesystem::path& folder) {
  if (folder.empty() || std::filesystem::exists(folder)) return;
  create_folder(folder.parent_path());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    refuse(folder,
           std::string("the folder for the database cannot be made: ") + std::strerror(errno));
  }
}

/// So that it is readable by its owner only from the start; SQLite gives its journal the same mode.
void create_file(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_CREAT | O_EXCL | O_CLOEXEC | O_RDWR, 0600);
  if (descriptor >= 0) {
    close(descriptor);
  } else if (errno != EEXIST) {
    refuse(file, std::string("the database cannot be made: ") + std::strerror(errno));
  }
}

/// What can be said about the place before SQLite touches it.
void check_place(const std::filesystem::path& file, OpenMode mode) {
  if (file.empty())
    throw StoreError("no results database is named: set HOME or SMEMTUNE_DB, or use --db");
  struct stat found {};
  const bool exists = stat(file.c_str(), &found) == 0;
  if (!exists && errno != ENOENT) refuse(file, std::strerror(errno));
  if (exists && S_ISDIR(found.st_mode)) refuse(file, "a folder, not a database file");
  if (exists && !S_ISREG(found.st_mode)) refuse(file, "not a regular file");
  if (!exists && mode == OpenMode::read_only) {
    refuse(file, "no such database; tuning makes it");
  }
  const std::filesystem::path folder = folder_of(file);
  if (mode == OpenMode::read_write) {
    create_folder(folder);
    if (access(folder.c_str(), W_OK | X_OK) != 0) {
      refuse(file, "its folder cannot be written, and the database needs a journal beside it: " +
                       std::string(std::strerror(errno)));
    }
    if (exists && access(file.c_str(), R_OK | W_OK) != 0) {
      refuse(file, std::string("the database cannot be written: ") + std::strerror(errno));
    }
  }
  struct statfs system {};
  const std::filesystem::path& place = exists ? file : folder;
  if (statfs(place.c_str(), &system) != 0) refuse(place, std::strerror(errno));
  const auto network = network_file_system(static_cast<std::int64_t>(system.f_type));
  const char* allowed = std::getenv(kAllowNetwork);
  if (network && (allowed == nullptr || std::strcmp(allowed, "1") != 0)) {
    refuse(file, "on a network file system (" + *network +
                     "), where SQLite's locks cannot be relied on; put the database on a local "
                     "disk, or set " +
                     kAllowNetwork + "=1 if no two processes ever use it at once");
  }
}

/// Sets a pragma and reads it back: SQLite ignores what it does not know or cannot do.
void set_pragma(const Connection& connection, const std::string& name, const std::string& value,
                const std::string& expected) {
  connection.execute(("PRAGMA " + name + " = " + value).c_str());
  const std::string is = connection.text(("PRAGMA " + name).c_str());
  if (is != expected) {
    refuse(connection.file(),
           "SQLite's " + name + " is " + is + " where " + expected + " was asked for");
  }
}

/// Those that write nothing, so that a file can be looked at which may not be ours.
void set_safety_pragmas(const Connection& connection) {
  set_pragma(connection, "foreign_keys", "ON", "1");
  set_pragma(connection, "trusted_schema", "OFF", "0");
  set_pragma(connection, "cell_size_check", "ON", "1");
  set_pragma(connection, "temp_store", "MEMORY", "2");
}

void set_journal_pragmas(const Connection& connection) {
  // Not WAL: it fails on some file systems, needs a second file that a copy forgets, and before
  // SQLite 3.51.3 two connections could damage it.
  set_pragma(connection, "journal_mode", "TRUNCATE",
             connection.in_memory() ? "memory" : "truncate");
  set_pragma(connection, "synchronous", "FULL", "2");
}

/// Opens for reading. A writer that was killed may have left a journal that must be rolled back
/// first, which a read-only connection cannot do.
Connection open_to_read(const std::filesystem::path& file, int busy_timeout_ms) {
  try {
    Connection connection(file, OpenMode::read_only, busy_timeout_ms);
    connection.integer("SELECT count(*) FROM sqlite_schema");
    return connection;
  } catch (const SqliteError& error) {
    if (error.code() != SQLITE_READONLY_ROLLBACK) throw;
  }
  return {file, OpenMode::read_write, busy_timeout_ms};
}

/// Refuses what is not ours, not whole or newer. True when there is nothing in it yet.
bool check_contents(const Connection& connection, std::int32_t newest) {
  const std::filesystem::path& file = connection.file();
  connection.execute("BEGIN");  // One snapshot: another process may be creating it.
  const std::int64_t objects = connection.integer("SELECT count(*) FROM sqlite_schema");
  const std::int64_t application = connection.integer("PRAGMA application_id");
  const std::int64_t version = connection.integer("PRAGMA user_version");
  connection.execute("COMMIT");
  if (objects == 0 && application == 0 && version == 0) return true;
  if (application != kApplicationId) {
    refuse(file, "a database of another program (application_id " + std::to_string(application) +
                     ", smemtune's is " + std::to_string(kApplicationId) + ")");
  }
  if (version > newest) {
    refuse(file, "written by a newer smemtune (version " + std::to_string(version) +
                     ", this one reads up to " + std::to_string(newest) + "); update smemtune");
  }
  if (version < 1) refuse(file, "the database is damaged (it has no version)");
  const std::int64_t bytes =
      connection.integer("PRAGMA page_count") * connection.integer("PRAGMA page_size");
  if (bytes <= kMaxCheckedBytes) {
    std::string problem = connection.text("PRAGMA quick_check(1)");
    std::replace(problem.begin(), problem.end(), '\n', ' ');
    if (problem != "ok") {
      refuse(file, "the database is damaged (" + problem +
                       "); restore a backup, or save what can be read with `sqlite3 FILE "
                       ".recover`");
    }
  }
  return false;
}

Connection migrated_copy(const Connection& connection, std::span<const Migration> migrations) {
  Connection copy(":memory:", OpenMode::read_write, 0);
  connection.back_up_to(copy);
  copy.speak_of(connection.file());
  set_safety_pragmas(copy);
  migrate(copy, migrations);
  return copy;
}

}  // namespace

Connection open_database(const std::filesystem::path& file, OpenMode mode, int busy_timeout_ms,
                         std::span<const Migration> migrations) {
  const std::int32_t newest = migrations.back().version;
  const bool in_memory = file == ":memory:";
  if (!in_memory) check_place(file, mode);

  if (mode == OpenMode::read_only && !in_memory) {
    Connection connection = open_to_read(file, busy_timeout_ms);
    set_safety_pragmas(connection);
    set_pragma(connection, "query_only", "ON", "1");
    const bool empty = check_contents(connection, newest);
    if (empty) refuse(file, "the database is empty; tuning fills it");
    if (connection.integer("PRAGMA user_version") < newest) {
      return migrated_copy(connection, migrations);
    }
    return connection;
  }

  if (!in_memory) create_file(file);
  Connection connection(file, OpenMode::read_write, busy_timeout_ms);
  set_safety_pragmas(connection);
  check_contents(connection, newest);
  if (!connection.can_write()) refuse(file, "the database cannot be written");
  set_journal_pragmas(connection);
  migrate(connection, migrations);
  return connection;
}

std::optional<std::string> network_file_system(std::int64_t type) {
  // linux/magic.h has most of these; the others are their file systems' own.
  switch (type & 0xFFFFFFFF) {
    case 0x6969:
      return "NFS";
    case 0x517B:
      return "SMB";
    case 0xFE534D42:
      return "SMB2";
    case 0xFF534D42:
      return "CIFS";
    case 0x0BD00BD0:
      return "Lustre";
    case 0x47504653:
      return "GPFS";
    case 0x65735546:
      return "FUSE";
    case 0x01021997:
      return "9P";
    case 0x00C36400:
      return "Ceph";
    case 0x5346414F:
    case 0x6B414653:
      return "AFS";
    case 0x19830326:
      return "BeeGFS";
    default:
      return std::nullopt;
  }
}

}  // namespace smemtune::db
