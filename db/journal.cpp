#include "db/journal.h"

#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace smemtune::db {

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
