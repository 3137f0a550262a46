#include "db/database_file.h"

#include "db/folder_test_support.h"
#include "tuner/core/hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace smemtune::db {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Migrations of a database, of which an older smemtune knows only the first.
const Migration kTwoVersions[] = {
    {.version = 1, .sql = "CREATE TABLE t (i INTEGER) STRICT; INSERT INTO t VALUES (7)"},
    {.version = 2, .sql = "ALTER TABLE t ADD COLUMN name TEXT NOT NULL DEFAULT 'seven'"}};
const std::span<const Migration> kFirstVersion(kTwoVersions, 1);

Connection open_current(const fs::path& file, OpenMode mode = OpenMode::read_write) {
  return open_database(file, mode, 0);
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const StoreError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Returns the one line with which opening is refused, and expects that the file stays unchanged.
std::string refusal(const fs::path& file, OpenMode mode = OpenMode::read_write) {
  const bool regular = fs::is_regular_file(file);
  const std::string before = regular ? sha256(contents(file)) : "";
  const std::string message = message_of([&] { open_current(file, mode); });
  EXPECT_THAT(message, AllOf(StartsWith(file.string() + ": "), Not(HasSubstr("\n"))));
  EXPECT_EQ(regular ? sha256(contents(file)) : "", before);
  return message;
}

/// Returns the exit status of a child process that runs `body`; 0 if it threw nothing.
int in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const StoreError& error) {
      _exit(4);
    }
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class DatabaseFile : public TestFolder {};

TEST_F(DatabaseFile, IsMadeWithItsFolderForTheOwnerOnly) {
  const fs::path file = folder() / "new" / "folder" / "results.sqlite";
  const Connection connection = open_current(file);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(file.parent_path()).permissions(), fs::perms(0700));
  EXPECT_EQ(connection.integer("PRAGMA application_id"), 0x534D5455);
  EXPECT_EQ(connection.integer("PRAGMA user_version"), migrations().back().version);
}

TEST_F(DatabaseFile, IsOpenedWithEverySafeguard) {
  const Connection connection = open_current(folder() / "results.sqlite");
  EXPECT_EQ(connection.text("PRAGMA journal_mode"), "truncate");
  EXPECT_EQ(connection.integer("PRAGMA synchronous"), 2);
  EXPECT_EQ(connection.integer("PRAGMA foreign_keys"), 1);
  EXPECT_EQ(connection.integer("PRAGMA trusted_schema"), 0);
  EXPECT_EQ(connection.integer("PRAGMA cell_size_check"), 1);
}

TEST_F(DatabaseFile, HasStrictTablesOnly) {
  const Connection connection = open_current(":memory:");
  EXPECT_GT(connection.integer("SELECT count(*) FROM pragma_table_list WHERE schema = 'main'"), 10);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' "
                               "AND name NOT LIKE 'sqlite_%' AND NOT strict"),
            0);
}

TEST_F(DatabaseFile, IsFoundAgain) {
  const fs::path file = folder() / "results.sqlite";
  open_current(file).execute("INSERT INTO space (name) VALUES ('gemm')");
  EXPECT_EQ(open_current(file).text("SELECT name FROM space"), "gemm");
  EXPECT_EQ(open_current(file, OpenMode::read_only).text("SELECT name FROM space"), "gemm");
}

TEST_F(DatabaseFile, ThatIsEmptyIsFilled) {
  const fs::path file = folder() / "results.sqlite";
  write(file, "");
  EXPECT_EQ(open_current(file).integer("PRAGMA user_version"), migrations().back().version);
}

TEST_F(DatabaseFile, CannotBeWrittenWhenOpenedForReading) {
  const fs::path file = folder() / "results.sqlite";
  open_current(file);
  const Connection reader = open_current(file, OpenMode::read_only);
  EXPECT_THROW(reader.execute("INSERT INTO space (name) VALUES ('gemm')"), SqliteError);
}

TEST_F(DatabaseFile, IsNotMadeByReading) {
  const fs::path file = folder() / "results.sqlite";
  EXPECT_THAT(refusal(file, OpenMode::read_only), HasSubstr("no such database"));
  EXPECT_FALSE(fs::exists(file));
  write(file, "");
  EXPECT_THAT(refusal(file, OpenMode::read_only), HasSubstr("empty"));
}

TEST_F(DatabaseFile, IsRefusedWhenItIsNoDatabase) {
  const fs::path file = folder() / "notes.txt";
  write(file,
        "These are notes, and they are longer than a hundred bytes, so that SQLite looks at "
        "more than the size before it says that this is no database.");
  EXPECT_THAT(refusal(file), HasSubstr("not a database"));
  EXPECT_THAT(refusal(file, OpenMode::read_only), HasSubstr("not a database"));
}

TEST_F(DatabaseFile, IsRefusedWhenItIsAnotherPrograms) {
  const fs::path file = folder() / "other.sqlite";
  write(file, "");
  Connection(file, OpenMode::read_write, 0).execute("CREATE TABLE t (i); PRAGMA user_version = 1");
  EXPECT_THAT(refusal(file), HasSubstr("another program (application_id 0"));
  Connection(file, OpenMode::read_write, 0).execute("PRAGMA application_id = 1234");
  EXPECT_THAT(refusal(file), HasSubstr("another program (application_id 1234"));
}

TEST_F(DatabaseFile, IsRefusedWithAWriteAheadLog) {
  const fs::path file = folder() / "results.sqlite";
  open_current(file);
  write(folder() / "results.sqlite-wal", "precious");
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    EXPECT_THAT(message_of([&] { open_current(file, mode); }), HasSubstr("write-ahead log"));
  }
  EXPECT_EQ(contents(folder() / "results.sqlite-wal"), "precious");
  fs::remove(folder() / "results.sqlite-wal");
  Connection(file, OpenMode::read_write, 0).execute("PRAGMA journal_mode = WAL");
  fs::remove(folder() / "results.sqlite-wal");
  fs::remove(folder() / "results.sqlite-shm");
  EXPECT_THAT(refusal(file), HasSubstr("write-ahead log"));
  EXPECT_THAT(refusal(file, OpenMode::read_only), HasSubstr("write-ahead log"));
  EXPECT_FALSE(fs::exists(folder() / "results.sqlite-shm"));
}

TEST_F(DatabaseFile, IsRefusedWhenItIsTruncated) {
  const fs::path file = folder() / "results.sqlite";
  open_current(file);
  fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_THAT(refusal(file), HasSubstr("damaged"));
  EXPECT_THAT(refusal(file, OpenMode::read_only), HasSubstr("damaged"));
}

TEST_F(DatabaseFile, IsRefusedWhenAPageIsGarbage) {
  const fs::path file = folder() / "results.sqlite";
  open_current(file);
  std::string bytes = contents(file);
  ASSERT_GT(bytes.size(), 3 * 4096u);
  for (std::size_t i = 2 * 4096; i < 3 * 4096; ++i) bytes[i] = static_cast<char>(i * 37);
  write(file, bytes);
  EXPECT_THAT(refusal(file), HasSubstr("damaged"));
}

TEST_F(DatabaseFile, IsRefusedWhileAnotherProcessHoldsIt) {
  const fs::path file = folder() / "results.sqlite";
  open_current(file);
  const Connection other(file, OpenMode::read_write, 0);
  other.execute("BEGIN EXCLUSIVE");
  EXPECT_THAT(refusal(file), HasSubstr("locked by another process for longer than 0.0 s"));
  EXPECT_THAT(refusal(file, OpenMode::read_only), HasSubstr("locked by another process"));
}

TEST_F(DatabaseFile, IsNoFolderAndNoPipe) {
  EXPECT_THAT(refusal(folder()), HasSubstr("a folder"));
  const fs::path pipe = folder() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(pipe), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("not a regular file"));
}

TEST_F(DatabaseFile, NeedsAFolderThatCanBeMade) {
  const fs::path file = folder() / "file";
  write(file, "not a folder");
  EXPECT_THROW(open_current(file / "results.sqlite"), StoreError);
  EXPECT_THROW(open_current(""), StoreError);
}

TEST_F(DatabaseFile, IsRefusedWhereItCannotBeWritten) {
  // Root may write anywhere, so a child process changes its user.
  const auto as_somebody = [&](const fs::path& file, OpenMode mode) {
    return in_child([&] {
      if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
      open_current(file, mode);
    });
  };
  fs::permissions(folder(), fs::perms(0777));
  const fs::path file = folder() / "results.sqlite";
  open_current(file);
  fs::permissions(file, fs::perms(0444));
  EXPECT_EQ(as_somebody(file, OpenMode::read_write), 4);
  EXPECT_EQ(as_somebody(file, OpenMode::read_only), 0);
  fs::permissions(file, fs::perms(0666));
  EXPECT_EQ(as_somebody(file, OpenMode::read_write), 0);
  fs::permissions(folder(), fs::perms(0555));
  EXPECT_EQ(as_somebody(file, OpenMode::read_write), 4);
  EXPECT_EQ(as_somebody(folder() / "new.sqlite", OpenMode::read_write), 4);
  fs::permissions(folder(), fs::perms(0755));
}

TEST_F(DatabaseFile, CanBeMadeByTwoProcessesAtOnce) {
  for (int round = 0; round < 5; ++round) {
    const fs::path file = folder() / ("results" + std::to_string(round) + ".sqlite");
    const pid_t child = fork();
    if (child == 0) {
      try {
        open_database(file, OpenMode::read_write);
      } catch (const StoreError&) {
        _exit(4);
      }
      _exit(0);
    }
    EXPECT_NO_THROW(open_database(file, OpenMode::read_write));
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(DatabaseFile, OfAnOlderVersionIsMigratedAndKeptAside) {
  const fs::path file = folder() / "results.sqlite";
  open_database(file, OpenMode::read_write, 0, kFirstVersion);
  const Connection migrated = open_database(file, OpenMode::read_write, 0, kTwoVersions);
  EXPECT_EQ(migrated.integer("PRAGMA user_version"), 2);
  EXPECT_EQ(migrated.text("SELECT name FROM t WHERE i = 7"), "seven");
  EXPECT_EQ(migrated.integer("PRAGMA foreign_keys"), 1);

  const fs::path backup = folder() / "results.sqlite.v1.bak";
  EXPECT_EQ(fs::status(backup).permissions(), fs::perms(0600));
  const Connection before = open_database(backup, OpenMode::read_only, 0, kFirstVersion);
  EXPECT_EQ(before.integer("PRAGMA user_version"), 1);
  EXPECT_EQ(before.integer("SELECT i FROM t"), 7);
}

TEST_F(DatabaseFile, OfVersionThreeKnowsWhatResultsOfOtherKernelsWereComparedWith) {
  const fs::path file = folder() / "results.sqlite";
  open_database(file, OpenMode::read_write, 0, migrations().first(3)).execute(R"sql(
    PRAGMA foreign_keys = OFF;
    INSERT INTO device_model SELECT 1, printf('%064d', 0), 'gpu', 'g', 'sm_90', 9, 0, 1, 1, 1, 1, 1,
      1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, '';
    INSERT INTO device_unit VALUES (1, 1, 'u');
    INSERT INTO environment VALUES (1, 1, '', '', '', '', '', '');
    INSERT INTO space VALUES (1, 's');
    INSERT INTO problem VALUES (1, 1, 'N=1', '{"N":1}');
    INSERT INTO kernel VALUES (1, 1, 'k', 'h');
    INSERT INTO configuration VALUES (1, 1, 'k', '', '{}');
    INSERT INTO run VALUES (1, 'r', 1, '', '{}', 1, '', '1', '[]', '', 0, 0, '');
    INSERT INTO result (run_id, number, model_id, environment_id, kernel_id, problem_id,
      configuration_id, status, reason, detail, stage, launches_json, metrics_json, compile_ms,
      verify_ms, cubin_sha256, is_default, is_reference, at_unix)
      SELECT 1, value, 1, 1, 1, 1, 1, iif(value = 3, 'compile', 'correct'), '', '', 'none', '[]',
        '{}', 0, 0, '', 0, value = 1, 0 FROM json_each('[1,2,3]'))sql");
  const Connection migrated = open_current(file);
  EXPECT_EQ(migrated.text("SELECT group_concat(compared_with) FROM result"),
            "unknown,another kernel,unknown");
}

TEST_F(DatabaseFile, IsNotBackedUpOverAnOlderBackup) {
  const fs::path file = folder() / "results.sqlite";
  open_database(file, OpenMode::read_write, 0, kFirstVersion);
  write(folder() / "results.sqlite.v1.bak", "precious");
  open_database(file, OpenMode::read_write, 0, kTwoVersions);
  EXPECT_EQ(contents(folder() / "results.sqlite.v1.bak"), "precious");
  EXPECT_TRUE(fs::exists(folder() / "results.sqlite.v1.2.bak"));
}

TEST_F(DatabaseFile, OfAnOlderVersionIsReadWithoutChangingIt) {
  const fs::path file = folder() / "results.sqlite";
  open_database(file, OpenMode::read_write, 0, kFirstVersion);
  const std::string before = sha256(contents(file));
  const Connection reader = open_database(file, OpenMode::read_only, 0, kTwoVersions);
  EXPECT_EQ(reader.text("SELECT name FROM t"), "seven");
  EXPECT_EQ(sha256(contents(file)), before);
  EXPECT_FALSE(fs::exists(folder() / "results.sqlite.v1.bak"));
}

TEST_F(DatabaseFile, IsRefusedWhereItsTablesAreNotThoseOfItsVersion) {
  const fs::path golden = folder() / "golden.sqlite";
  const std::pair<const char*, const char*> changes[] = {
      {"CREATE TABLE extra (i INTEGER)", "a table extra"},
      {"CREATE TABLE extra (i INTEGER, j TEXT AS (printf('%.*c', i, 'x')))", "a table extra"},
      {"CREATE VIEW extra AS SELECT 1", "a view extra"},
      {"CREATE TRIGGER thief AFTER INSERT ON result BEGIN DELETE FROM result; END",
       "a trigger thief"},
      {"CREATE INDEX extra ON space (length(name))", "an index extra"},
      {"DROP TABLE best", "table best is missing"},
      {"DROP INDEX attempt_open", "index attempt_open is missing"},
      {"ALTER TABLE space ADD COLUMN extra INTEGER", "table space has been changed"},
      {"ALTER TABLE space ADD COLUMN extra TEXT AS (instr(printf('%.*c', 9, 'x'), 'y'))",
       "table space has been changed"},
      {"ALTER TABLE space RENAME COLUMN name TO label", "table space has been changed"},
      {"ANALYZE", "a table sqlite_stat1"}};
  for (std::int32_t version = 1; version <= migrations().back().version; ++version) {
    const auto upto = migrations().first(static_cast<std::size_t>(version));
    fs::remove(golden);
    open_database(golden, OpenMode::read_write, 0, upto);
    EXPECT_EQ(open_current(golden, OpenMode::read_only).integer("SELECT count(*) FROM space"), 0);
    for (const auto& [change, what] : changes) {
      const fs::path file = folder() / "results.sqlite";
      fs::copy_file(golden, file, fs::copy_options::overwrite_existing);
      Connection(file, OpenMode::read_write, 0).execute(change);
      EXPECT_THAT(refusal(file), HasSubstr(what));
      EXPECT_THAT(refusal(file, OpenMode::read_only), HasSubstr(what));
    }
  }
  // A version that does not match the tables.
  for (const char* version : {"PRAGMA user_version = 1", "PRAGMA user_version = 2"}) {
    Connection(golden, OpenMode::read_write, 0).execute(version);
    EXPECT_THAT(refusal(golden), HasSubstr("has been changed"));
  }
}

TEST_F(DatabaseFile, OfANewerVersionIsReadWhereItOnlyAddsAndNeverWritten) {
  const fs::path file = folder() / "results.sqlite";
  const std::string mine = std::to_string(migrations().back().version);
  const std::string newer = std::to_string(migrations().back().version + 1);
  open_current(file).execute(
      ("PRAGMA user_version = " + newer +
       ";"
       "INSERT INTO space (name) VALUES ('gemm');"
       "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;"
       "CREATE INDEX result_by_moment ON result (at_unix, id) WHERE stage = 'final';"
       "DROP INDEX attempt_open;"
       "ALTER TABLE space ADD COLUMN color TEXT NOT NULL DEFAULT 'none';"
       "ALTER TABLE space ADD COLUMN weight REAL;"
       "ALTER TABLE result ADD COLUMN energy INTEGER DEFAULT -1")
          .c_str());
  EXPECT_THAT(refusal(file), AllOf(HasSubstr("newer smemtune (version " + newer +
                                             ", this one writes up to " + mine + ")"),
                                   HasSubstr("can only be read")));
  const Connection reader = open_current(file, OpenMode::read_only);
  EXPECT_EQ(reader.text("SELECT name FROM space"), "gemm");
  EXPECT_THROW(reader.execute("DELETE FROM space"), SqliteError);

  const std::string before = contents(file);
  for (const char* change :
       {"ALTER TABLE space ADD COLUMN j TEXT AS (printf('%.*c', id, 'x'))",
        "ALTER TABLE space ADD COLUMN j TEXT CHECK (instr(j, 'x'))",
        "CREATE INDEX extra ON space (length(name))", "CREATE VIEW extra AS SELECT 1",
        "CREATE TRIGGER thief AFTER INSERT ON result BEGIN DELETE FROM result; END",
        "CREATE VIRTUAL TABLE extra USING fts5 (text)", "DROP TABLE best",
        "ALTER TABLE space RENAME COLUMN name TO label"}) {
    write(file, before);
    Connection(file, OpenMode::read_write, 0).execute(change);
    EXPECT_THAT(refusal(file, OpenMode::read_only), HasSubstr("update smemtune to read it"))
        << change;
  }
}

TEST_F(DatabaseFile, IsNoLongerWrittenWhenANewerSmemtuneHasChangedIt) {
  const fs::path file = folder() / "results.sqlite";
  const Connection older = open_database(file, OpenMode::read_write, 0, kFirstVersion);
  Transaction(older).commit();
  open_database(file, OpenMode::read_write, 0, kTwoVersions);
  EXPECT_THAT(message_of([&] { Transaction(older).commit(); }),
              HasSubstr("a newer smemtune has changed the database"));
  EXPECT_FALSE(older.in_transaction());
}

/// Returns the journal that a writer leaves when it is killed in a transaction over several files.
/// `super`: the file that lists them.
std::string journal_naming(const fs::path& super, std::uint32_t pages) {
  const auto big_endian = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  };
  const std::string magic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  std::string header = magic + big_endian(0) + big_endian(1) + big_endian(pages) + big_endian(512) +
                       big_endian(4096);
  header.resize(512);
  std::uint32_t sum = 0;
  for (const char c : super.string()) sum += static_cast<std::uint32_t>(c);
  return header + big_endian((1 << 30) / 4096 + 1) + super.string() +
         big_endian(static_cast<std::uint32_t>(super.string().size())) + big_endian(sum) + magic;
}

TEST_F(DatabaseFile, IsRefusedWithAJournalThatNamesAFileToDelete) {
  const fs::path file = folder() / "results.sqlite";
  const fs::path journal = folder() / "results.sqlite-journal";
  const fs::path victim = folder() / "victim.txt";
  open_current(file);
  const auto pages = static_cast<std::uint32_t>(fs::file_size(file) / 4096);
  write(victim, "precious");
  write(journal, journal_naming(victim, pages));
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    EXPECT_THAT(message_of([&] { open_current(file, mode); }), HasSubstr("names a further file"));
    EXPECT_EQ(contents(victim), "precious");
    EXPECT_EQ(contents(journal), journal_naming(victim, pages));
  }
  // The same through a link.
  fs::create_symlink(file, folder() / "link.sqlite");
  EXPECT_THAT(message_of([&] { open_current(folder() / "link.sqlite"); }),
              HasSubstr("names a further file"));
  // SQLite itself would have deleted the file.
  Connection(file, OpenMode::read_write, 0).integer("SELECT count(*) FROM space");
  EXPECT_FALSE(fs::exists(victim));
}

TEST_F(DatabaseFile, IsRefusedWithWhatIsNoJournalInItsPlace) {
  const fs::path file = folder() / "results.sqlite";
  const fs::path journal = folder() / "results.sqlite-journal";
  write(journal, "precious");
  write(file, "");
  EXPECT_THAT(message_of([&] { open_current(file); }), HasSubstr("not a journal"));
  EXPECT_THAT(message_of([&] { open_current(file, OpenMode::read_only); }),
              HasSubstr("not a journal"));
  EXPECT_EQ(contents(journal), "precious");
  fs::remove(journal);
  fs::create_directory(journal);
  EXPECT_THAT(message_of([&] { open_current(file); }), HasSubstr("not a regular file"));
}

/// Leaves a journal beside `file` that must be rolled back.
void be_killed_while_writing(const fs::path& file) {
  const int status = in_child([&] {
    const Connection connection(file, OpenMode::read_write, 0);
    // Pages that do not fit the cache are written before the commit, after the journal.
    connection.execute(
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE space SET name = 'during';"
        "INSERT INTO space (name) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "LIMIT 20000) SELECT 'space number ' || i FROM n");
    raise(SIGKILL);
  });
  ASSERT_EQ(status, 128 + SIGKILL);
  ASSERT_GT(fs::file_size(file.string() + "-journal"), 0u);
}

TEST_F(DatabaseFile, IsReadableAfterAWriterWasKilledInTheMiddleOfWriting) {
  const fs::path file = folder() / "results.sqlite";
  open_current(file).execute("INSERT INTO space (name) VALUES ('before')");
  be_killed_while_writing(file);
  const std::string before = contents(file);
  const std::string journal = contents(folder() / "results.sqlite-journal");

  const Connection reader = open_current(file, OpenMode::read_only);
  EXPECT_EQ(reader.text("SELECT group_concat(name) FROM space"), "before");
  EXPECT_THROW(reader.execute("DELETE FROM space"), SqliteError);
  // Reading wrote nothing; opening to write rolls back.
  EXPECT_EQ(contents(file), before);
  EXPECT_EQ(contents(folder() / "results.sqlite-journal"), journal);
  EXPECT_EQ(open_current(file).text("SELECT group_concat(name) FROM space"), "before");
  EXPECT_LT(fs::file_size(file), before.size());
}

TEST_F(DatabaseFile, OfAnotherIsNeverRolledBack) {
  const fs::path file = folder() / "results.sqlite";
  const fs::path journal = folder() / "results.sqlite-journal";
  open_current(file).execute("INSERT INTO space (name) VALUES ('before'); CREATE TABLE extra (i)");
  be_killed_while_writing(file);
  const std::string left = contents(journal);
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    EXPECT_THAT(refusal(file, mode), HasSubstr("a table extra"));
    EXPECT_EQ(contents(journal), left);
  }
}

TEST_F(DatabaseFile, IsAsItWasWhenAMigrationFails) {
  const fs::path file = folder() / "results.sqlite";
  open_database(file, OpenMode::read_write, 0, kFirstVersion);
  const std::string before = sha256(contents(file));
  const Migration broken[] = {kTwoVersions[0],
                              kTwoVersions[1],
                              {.version = 3, .sql = "DROP TABLE t; DROP TABLE no_such_table"}};
  EXPECT_THROW(open_database(file, OpenMode::read_write, 0, broken), StoreError);
  EXPECT_EQ(sha256(contents(file)), before);

  const Migration dangling[] = {kTwoVersions[0],
                                {.version = 2,
                                 .sql = "CREATE TABLE child (t INTEGER REFERENCES parent (id));"
                                        "CREATE TABLE parent (id INTEGER PRIMARY KEY);"
                                        "INSERT INTO child VALUES (5)"}};
  EXPECT_THROW(open_database(file, OpenMode::read_write, 0, dangling), StoreError);
  EXPECT_EQ(sha256(contents(file)), before);
}

/// Digests of the released migrations: a database of an old version is recognized by their text.
TEST(Migrations, NeverChange) {
  const char* const digests[] = {
      "5e1e2f644d182b616687d66cd0cb96543e33a3750fb4166b73a36a9017fd3a4a",
      "a8d77e914a9e4b9f839c5df4ae55a8273a0eec837df61969ddeb2947e59f15f5",
      "a74513753891292ac89b521cf8b1d442af01dd134e007f7772dd9086c4a62a91",
      "df8e6efec9ee950fec72330f9bd925cb4138209e5da1dce748039463d2ae3887",
      "9df4e74ea739e9b4a41ea0a8269f89e19d5872c0a974c84be4e62c632a853a8f",
      "d83866a7ae41015e54250c65dd822cce3ca0b1eb74bd6bf4716c2f7ea23fcd71",
      "7fa7d2812638f4356707e9ffbb3ebbef21c6e251770637363476ce6fe8a2d91d",
      "77d99503e9919c584d0bdcd663bd7acfb66e2095a83dfa449a773fb550aa5663",
      "4d9521504ca2cf8bdc5ef30f7f5fa813095e4629515296a1958f48be5078e51f",
      "d95713f5056661a89fe74601342de20d006f422a01f186c123a1f2dc724b2c72"};
  ASSERT_EQ(std::size(digests), migrations().size());
  for (std::size_t i = 0; i < migrations().size(); ++i) {
    EXPECT_EQ(sha256(migrations()[i].sql), digests[i]);
  }
}

TEST(Migrations, AreNumberedFromOneWithoutGaps) {
  std::int32_t expected = 1;
  for (const Migration& migration : migrations()) EXPECT_EQ(migration.version, expected++);
}

TEST(NetworkFileSystem, IsTriedForLocks) {
  EXPECT_EQ(why_locks_fail(std::filesystem::temp_directory_path()), std::nullopt);
  EXPECT_THAT(why_locks_fail("/proc").value_or(""), testing::HasSubstr("a file cannot be created"));
}

TEST(NetworkFileSystem, IsTheRemoteKind) {
  EXPECT_EQ(network_file_system(0x6969), "NFS");
  EXPECT_EQ(network_file_system(0x0BD00BD0), "Lustre");
  // The kernel's f_type is signed where long has 32 bits.
  EXPECT_EQ(network_file_system(static_cast<std::int32_t>(0xFF534D42)), "CIFS");
  EXPECT_EQ(network_file_system(0xEF53), std::nullopt);      // ext4
  EXPECT_EQ(network_file_system(0x01021994), std::nullopt);  // tmpfs
}

}  // namespace
}  // namespace smemtune::db
