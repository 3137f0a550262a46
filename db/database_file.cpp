#include "db/database_file.h"

#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/core/whole_file.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune::db {

namespace {

/// Size up to which a database is checked completely when it is opened: checking a larger one would
/// take longer than half a second. Damage in larger databases is found when it is read.
constexpr std::int64_t kMaxCheckedBytes = 64 << 20;

/// Number of attempts to open a database whose journal keeps changing because of live writers.
constexpr int kMaxJournals = 100;

constexpr const char* kAllowNetwork = "SMEMTUNE_ALLOW_NETWORK_FS";

[[noreturn]] void refuse_other(const std::filesystem::path& file, std::int64_t application) {
  throw StoreError(file, "a database of another program (application_id " +
                             std::to_string(application) + ", smemtune's is " +
                             std::to_string(kApplicationId) + ")");
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// Like create_directories(), but with access for the owner only.
void create_folder(const std::filesystem::path& folder) {
  if (folder.empty() || std::filesystem::exists(folder)) return;
  create_folder(folder.parent_path());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw StoreError(folder, std::string("the folder for the database cannot be created: ") +
                                 std::strerror(errno));
  }
  sync_folder_of(folder);
}

/// Creates the file so that only its owner can read it from the start; SQLite gives its journal the
/// same mode.
void create_file(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_CREAT | O_EXCL | O_CLOEXEC | O_RDWR, 0600);
  if (descriptor >= 0) {
    close(descriptor);
    sync_folder_of(file);
  } else if (errno != EEXIST) {
    throw StoreError(file, std::string("the database cannot be created: ") + std::strerror(errno));
  }
}

/// Checks all that can be known about the location before SQLite touches it.
void check_place(const std::filesystem::path& file, OpenMode mode) {
  if (file.empty())
    throw StoreError("no results database is named: set HOME or SMEMTUNE_DB, or use --db");
  struct stat found {};
  const bool exists = stat(file.c_str(), &found) == 0;
  if (!exists && errno != ENOENT) throw StoreError(file, std::strerror(errno));
  if (exists && S_ISDIR(found.st_mode)) throw StoreError(file, "a folder, not a database file");
  if (exists && !S_ISREG(found.st_mode)) throw StoreError(file, "not a regular file");
  if (!exists && mode == OpenMode::read_only) {
    throw StoreError(file, "no such database; a tuning run creates it");
  }
  const std::filesystem::path folder = folder_of(file);
  if (mode == OpenMode::read_write) {
    create_folder(folder);
    if (access(folder.c_str(), W_OK | X_OK) != 0) {
      throw StoreError(
          file, "its folder cannot be written, and the database needs a journal beside it: " +
                    std::string(std::strerror(errno)));
    }
    if (exists && access(file.c_str(), R_OK | W_OK) != 0) {
      throw StoreError(file,
                       std::string("the database cannot be written: ") + std::strerror(errno));
    }
  }
  struct statfs system {};
  const std::filesystem::path& place = exists ? file : folder;
  if (statfs(place.c_str(), &system) != 0) throw StoreError(place, std::strerror(errno));
  const auto network = network_file_system(static_cast<std::int64_t>(system.f_type));
  const char* allowed = std::getenv(kAllowNetwork);
  const bool is_tried =
      mode == OpenMode::read_write && (allowed == nullptr || std::strcmp(allowed, "1") != 0);
  if (!network || !is_tried) return;
  if (const auto why_not = why_locks_fail(folder)) {
    throw StoreError(
        file, "on a network file system (" + *network +
                  "), where SQLite's locks cannot be relied on: " + *why_not +
                  "; set SMEMTUNE_DB to a file on a local disk, have the file system mounted "
                  "with locks (Lustre: flock), or set " +
                  kAllowNetwork + "=1 if no two processes ever use it at once");
  }
}

/// Sets a pragma and reads it back, because SQLite ignores what it does not know or cannot do.
void set_pragma(const Connection& connection, const std::string& name, const std::string& value,
                const std::string& expected) {
  connection.execute(("PRAGMA " + name + " = " + value).c_str());
  const std::string is = connection.text(("PRAGMA " + name).c_str());
  if (is != expected) {
    throw StoreError(connection.file(),
                     "SQLite keeps " + name + " at " + is + ", smemtune needs " + expected);
  }
}

/// Sets only pragmas that write nothing, because the file may not be ours.
void set_safety_pragmas(const Connection& connection) {
  set_pragma(connection, "foreign_keys", "ON", "1");
  set_pragma(connection, "trusted_schema", "OFF", "0");
  set_pragma(connection, "cell_size_check", "ON", "1");
  set_pragma(connection, "temp_store", "MEMORY", "2");
  // Otherwise SQLite would read all results to build an index for a query that has none.
  set_pragma(connection, "automatic_index", "OFF", "0");
  // Keeps the inner pages of the indices of large databases in memory.
  set_pragma(connection, "cache_size", "-65536", "-65536");
}

void set_journal_pragmas(const Connection& connection) {
  // Not WAL: it fails on some file systems, needs a second file that is easily left behind in a
  // copy, and before SQLite 3.51.3 two connections could damage the database.
  set_pragma(connection, "journal_mode", "TRUNCATE",
             connection.in_memory() ? "memory" : "truncate");
  set_pragma(connection, "synchronous", "FULL", "2");
}

/// Checks the file's header before SQLite looks for a journal.
void check_header(const Connection& connection) {
  const std::vector<std::uint8_t> header = connection.read_file(0, 100);
  if (header.size() < 100 || std::memcmp(header.data(), "SQLite format 3", 16) != 0) return;
  std::uint32_t application = 0;
  for (std::size_t i = 68; i < 72; ++i) application = application << 8 | header[i];
  if (application != 0 && application != kApplicationId)
    refuse_other(connection.file(), application);
  if (header[18] > 1 || header[19] > 1) {
    throw StoreError(
        connection.file(),
        "a database with a write-ahead log, which smemtune never makes; if it is yours, `sqlite3 "
        "FILE 'PRAGMA journal_mode = DELETE'` makes it use a rollback journal");
  }
}

/// Refuses a database that is not ours. Returns true if it is still empty.
bool check_identity(const Connection& connection, std::span<const Migration> migrations) {
  const std::filesystem::path& file = connection.file();
  const std::int64_t objects = connection.integer("SELECT count(*) FROM sqlite_schema");
  const std::int64_t application = connection.integer("PRAGMA application_id");
  const std::int64_t version = connection.integer("PRAGMA user_version");
  const bool empty = objects == 0 && application == 0 && version == 0;
  if (!empty && application != kApplicationId) refuse_other(file, application);
  if (!empty && version < 1) throw StoreError(file, "the database is damaged (it has no version)");
  if (!empty) check_schema(connection, migrations);
  return empty;
}

/// Refuses a damaged database. REQUIRES: check_identity() has accepted the tables, because their
/// constraints are evaluated.
void check_pages(const Connection& connection, std::span<const Migration> migrations) {
  const std::int64_t bytes =
      connection.integer("PRAGMA page_count") * connection.integer("PRAGMA page_size");
  if (bytes > kMaxCheckedBytes) return;
  const bool newer = connection.integer("PRAGMA user_version") > migrations.back().version;
  for (const std::string& table :
       newer ? known_tables(migrations) : std::vector{std::string("1")}) {
    std::string problem = connection.text(("PRAGMA quick_check(" + table + ")").c_str());
    std::replace(problem.begin(), problem.end(), '\n', ' ');
    if (problem != "ok") {
      throw StoreError(
          connection.file(),
          "the database is damaged (" + problem +
              "); restore a backup, or save what can be read with `sqlite3 FILE .recover`");
    }
  }
}

/// Refuses a database that is not ours or is damaged. Returns true if it is still empty.
bool check_contents(const Connection& connection, std::span<const Migration> migrations) {
  // One snapshot, because another process may be creating the database.
  connection.execute("BEGIN");
  const bool empty = check_identity(connection, migrations);
  if (!empty) check_pages(connection, migrations);
  connection.execute("COMMIT");
  return empty;
}

/// A database that has been checked and opened for reading.
struct Looked {
  Connection connection;
  bool empty = false;
  std::int64_t version = 0;
};

/// Opens and checks the database without changing it: SQLite does not roll back on a read-only
/// connection. If a killed writer has left a journal, a copy is read in which it is rolled back.
/// nullopt if a writer was killed, or committed, in between.
std::optional<Looked> try_to_look(const std::filesystem::path& file, int busy_timeout_ms,
                                  std::span<const Migration> migrations) {
  const auto look = [&](Connection connection) {
    check_header(connection);
    set_safety_pragmas(connection);
    const bool empty = check_contents(connection, migrations);
    const std::int64_t version = connection.integer("PRAGMA user_version");
    return Looked{.connection = std::move(connection), .empty = empty, .version = version};
  };
  check_journal(file);
  try {
    return look(Connection(file, OpenMode::read_only, busy_timeout_ms));
  } catch (const SqliteError& error) {
    if (error.code() != SQLITE_READONLY_ROLLBACK) throw;
  }
  std::optional<Connection> copy =
      rolled_back_copy(Connection(file, OpenMode::read_only, busy_timeout_ms));
  return copy ? std::optional(look(std::move(*copy))) : std::nullopt;
}

Looked look(const std::filesystem::path& file, int busy_timeout_ms,
            std::span<const Migration> migrations) {
  for (int attempt = 0; attempt < kMaxJournals; ++attempt) {
    if (auto looked = try_to_look(file, busy_timeout_ms, migrations)) return std::move(*looked);
  }
  throw StoreError(
      file, "its journal keeps changing; try again when the processes that write it have ended");
}

Connection migrated_copy(const Connection& connection, std::span<const Migration> migrations) {
  Connection copy(":memory:", OpenMode::read_write, 0);
  connection.back_up_to(copy);
  copy.speak_of(connection.file());
  set_safety_pragmas(copy);
  migrate(copy, migrations);
  return copy;
}

/// Prepares the connection for writing.
Connection made(Connection connection, std::span<const Migration> migrations) {
  if (connection.in_memory()) set_safety_pragmas(connection);
  set_journal_pragmas(connection);
  migrate(connection, migrations);
  connection.require_version(migrations.back().version);
  return connection;
}

}  // namespace

Connection open_database(const std::filesystem::path& file, OpenMode mode, int busy_timeout_ms,
                         std::span<const Migration> migrations) {
  const std::int64_t newest = migrations.back().version;
  if (file == ":memory:") return made(Connection(file, OpenMode::read_write, 0), migrations);

  check_place(file, mode);
  if (mode == OpenMode::read_write) create_file(file);
  // The file is checked before it is opened for writing, because opening may roll it back.
  Looked looked = look(file, busy_timeout_ms, migrations);
  if (mode == OpenMode::read_only) {
    if (looked.empty) throw StoreError(file, "the database is empty; a tuning run fills it");
    set_pragma(looked.connection, "query_only", "ON", "1");
    return looked.version < newest ? migrated_copy(looked.connection, migrations)
                                   : std::move(looked.connection);
  }
  if (looked.version > newest) {
    throw StoreError(file,
                     "written by a newer smemtune (version " + std::to_string(looked.version) +
                         ", this one writes up to " + std::to_string(newest) +
                         "), so it can only be read; update smemtune, or use another database");
  }
  Connection connection(file, OpenMode::read_write, busy_timeout_ms);
  set_safety_pragmas(connection);
  check_contents(connection, migrations);
  if (!connection.can_write()) throw StoreError(file, "the database cannot be written");
  return made(std::move(connection), migrations);
}

std::optional<std::string> why_locks_fail(const std::filesystem::path& folder) {
  std::string pattern = (folder / ".smemtune-lock-XXXXXX").string();
  const int descriptor = mkostemp(pattern.data(), O_CLOEXEC);
  if (descriptor < 0) return std::string("a file cannot be created: ") + std::strerror(errno);
  unlink(pattern.c_str());
  const auto error = [descriptor] {
    const std::string text = std::strerror(errno);
    close(descriptor);
    return text;
  };
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (fcntl(descriptor, F_SETLK, &lock) != 0) return "a file cannot be locked: " + error();
  // A process does not conflict with its own locks, so a child process tries.
  const pid_t other = fork();
  if (other == 0) {
    struct flock tried = lock;
    const bool is_kept_out =
        fcntl(descriptor, F_SETLK, &tried) != 0 && (errno == EACCES || errno == EAGAIN);
    _exit(is_kept_out ? 0 : 1);
  }
  if (other < 0) return "a process cannot be started to try it: " + error();
  int status = 0;
  while (waitpid(other, &status, 0) < 0 && errno == EINTR) {
  }
  close(descriptor);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  return "two processes were both given the same lock";
}

std::optional<std::string> network_file_system(std::int64_t type) {
  // Most of these are in linux/magic.h; the others are defined by the file systems themselves.
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

namespace {

namespace fs = std::filesystem;

/// The first bytes of a rollback journal. They are also the last bytes of a journal of a
/// transaction over several files, where they follow the name of the file that lists all these
/// journals.
constexpr std::string_view kMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

/// Keeps a sparse file from filling the disk.
constexpr std::int64_t kMaxCopiedBytes = std::int64_t{4} << 30;
constexpr int kBytesAtOnce = 1 << 20;

/// Returns the path beside the database itself rather than beside a link to it, as SQLite does.
fs::path beside(const fs::path& database, const char* suffix) {
  std::error_code error;
  const fs::path file = fs::canonical(database, error);
  return (error ? database : file).string() + suffix;
}

/// Returns eight bytes at a position in a file that its writer may change at any moment; fewer at
/// its end.
std::string eight_bytes(std::ifstream& file, std::ios::off_type offset, std::ios::seekdir from) {
  std::string bytes(kMagic.size(), '\0');
  file.clear();
  file.seekg(offset, from);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TemporaryFolder folder_for_copy() {
  try {
    return TemporaryFolder();
  } catch (const Error& error) {
    throw StoreError(std::string("a copy of the database cannot be created: ") + error.what());
  }
}

void write(const fs::path& file, const char* data, std::size_t size) {
  std::ofstream stream(file, std::ios::binary | std::ios::app);
  stream.write(data, static_cast<std::streamsize>(size));
  stream.close();
  if (!stream)
    throw StoreError(file, std::string("the copy of the database: ") + std::strerror(errno));
}

}  // namespace

void check_journal(const fs::path& database) {
  const fs::path log = beside(database, "-wal");
  struct stat found {};
  if (lstat(log.c_str(), &found) == 0) {
    throw StoreError(log,
                     "a write-ahead log beside the database, which smemtune never writes; if the "
                     "database is yours, `sqlite3 FILE 'PRAGMA journal_mode = DELETE'` merges it "
                     "into the database");
  }
  const fs::path journal = beside(database, "-journal");
  if (lstat(journal.c_str(), &found) != 0) {
    if (errno == ENOENT) return;
    throw StoreError(journal, std::strerror(errno));
  }
  const std::string not_ours =
      "lies where the database's journal would be and is not one of smemtune's ";
  if (!S_ISREG(found.st_mode))
    throw StoreError(journal, not_ours + "(not a regular file); move it away");
  if (found.st_size == 0) return;
  std::ifstream file(journal, std::ios::binary);
  if (!file)
    throw StoreError(journal, std::string("the journal cannot be read: ") + std::strerror(errno));
  const std::string begin = eight_bytes(file, 0, std::ios::beg);
  // A journal begins with zeros until it is synced, and is truncated when its writer commits.
  if (!begin.empty() && begin[0] != '\0' && begin != kMagic) {
    throw StoreError(journal, not_ours + "(it is not a journal); move it away");
  }
  if (eight_bytes(file, -8, std::ios::end) == kMagic) {
    throw StoreError(journal,
                     not_ours + "(it names a further file, which would be deleted); move it away");
  }
}

std::optional<Connection> rolled_back_copy(const Connection& connection) {
  const fs::path journal = beside(connection.file(), "-journal");
  std::error_code error;
  const std::uintmax_t size = fs::file_size(journal, error);
  if (error || size == 0) return std::nullopt;
  if (static_cast<std::int64_t>(size) > kMaxCopiedBytes) {
    throw StoreError(
        journal,
        "too large to be rolled back in a copy; `sqlite3 FILE .tables` rolls it back in place");
  }
  const std::string rolled_back = contents(journal);

  const TemporaryFolder folder = folder_for_copy();
  const fs::path copy = folder.path() / "copy.sqlite";
  write(copy, "", 0);
  for (std::int64_t offset = 0;; offset += kBytesAtOnce) {
    const std::vector<std::uint8_t> bytes = connection.read_file(offset, kBytesAtOnce);
    if (bytes.empty()) break;
    if (offset >= kMaxCopiedBytes) {
      throw StoreError(connection.file(),
                       "too large for its journal to be rolled back in a copy; `sqlite3 FILE "
                       ".tables` rolls it back in place");
    }
    write(copy, reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  // Every journal has its own random number: if it is unchanged, it matches the pages just read.
  if (contents(journal) != rolled_back) return std::nullopt;
  write(copy.string() + "-journal", rolled_back.data(), rolled_back.size());
  Connection connection_to_copy(copy, Connection::Mode::read_write, 0);
  connection_to_copy.speak_of(connection.file());
  connection_to_copy.integer("SELECT count(*) FROM sqlite_schema");
  return connection_to_copy;
}

}  // namespace smemtune::db
