#pragma once

#include "tuner/core/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace smemtune::db {

/// A failed call of SQLite. The message is one line: the file, what is wrong, what to do.
class SqliteError : public StoreError {
 public:
  SqliteError(int code, const std::string& message) : StoreError(message), code_(code) {}

  int code() const { return code_; }  ///< SQLite's extended result code.

 private:
  int code_;
};

class Connection;
class IdleStatements;

/// A prepared statement. Columns are read by name from the row that step() reached.
class Statement {
 public:
  Statement(const Connection& connection, std::string_view sql);

  template <typename T>
  Statement& bind(const char* name, const T& value) {
    return bind(parameter(name), value);
  }
  /// Binds `:column` to what a row has in this column.
  Statement& bind_from(const Statement& row, const std::string& column);
  /// Binds by position, starting at 1; faster for statements that run for very many rows.
  Statement& bind(int place, std::int64_t value);
  Statement& bind(int place, int value) { return bind(place, std::int64_t{value}); }
  Statement& bind(int place, bool value) { return bind(place, std::int64_t{value}); }
  /// NaN is stored as NULL.
  Statement& bind(int place, double value);
  Statement& bind(int place, std::string_view text);
  Statement& bind(int place, const std::string& text) {
    return bind(place, std::string_view(text));
  }
  Statement& bind(int place, const char* text) { return bind(place, std::string_view(text)); }
  Statement& bind(int place, std::span<const std::uint8_t> blob);
  template <typename T>
  Statement& bind(int place, const std::optional<T>& value) {
    return value ? bind(place, *value) : bind_null(place);
  }

  /// Advances to the next row. Returns false if there is none; the statement is then ready to run
  /// again.
  bool step();
  /// Returns whether there is a row. The statement is then ready to run again.
  bool has_row();
  /// Returns the `id` of the first row, 0 if there is no row. The statement is then ready to run
  /// again.
  std::int64_t id();
  /// Runs a statement that returns no rows. Keeps the bindings.
  void run();
  void reset();

  bool is_null(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<std::uint8_t> blob(std::string_view name) const;
  /// Returns the error that the row's column holds something that smemtune never wrote. `why`: the
  /// reason.
  StoreError damaged(std::string_view name, const std::string& why) const;

  /// Returns the number of instructions that SQLite's virtual machine ran since the last call: a
  /// measure of work that needs no clock.
  std::int64_t take_vm_steps();

 private:
  friend class Connection;
  /// Gives a statement back to those that its connection keeps.
  struct Keeper {
    IdleStatements* idle;
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  /// A bound text. SQLite reads it from here, and binding the same text again costs nothing.
  struct BoundText {
    bool is_bound = false;
    std::string text;
  };
  Statement& bind_null(int place);
  void forget_text(int place);
  int parameter(const char* name) const;
  int column(std::string_view name) const;
  void check_bound(int code) const;

  const Connection* connection_;
  /// Bound texts, by position from 0. Never resized: SQLite holds pointers to the texts.
  std::vector<BoundText> texts_;
  std::unique_ptr<sqlite3_stmt, Keeper> statement_;
  using Columns = std::map<std::string, int, std::less<>>;
  Columns columns_;
  /// The column that was read last after each column. It is tried first, because rows are read in
  /// the same way.
  mutable std::vector<const Columns::value_type*> read_next_;
  mutable std::size_t last_read_ = 0;
};

/// Prepared statements that nobody uses at the moment, by their text, because preparing one takes
/// longer than running it.
class IdleStatements {
 public:
  IdleStatements() = default;
  IdleStatements(const IdleStatements&) = delete;
  IdleStatements& operator=(const IdleStatements&) = delete;
  ~IdleStatements();

  /// Returns a statement of this text, without bindings, and forgets it; nullptr if there is none.
  sqlite3_stmt* take(std::string_view sql);
  void keep(sqlite3_stmt* statement);

 private:
  std::map<std::string, std::vector<sqlite3_stmt*>, std::less<>> statements_;
};

/// An open database file, or ":memory:". No code in the file is run: triggers, views, extensions
/// and double-quoted strings are disabled. A statement is aborted if it does more work than a
/// database of this size can require (for example because pages refer to each other in a loop).
class Connection {
 public:
  enum class Mode { read_write, read_only };

  /// Opens the file, which must exist. Throws SqliteError.
  Connection(const std::filesystem::path& file, Mode mode, int busy_timeout_ms);

  const std::filesystem::path& file() const { return work_->file; }

  /// Makes errors name `file`, of which this database is a copy.
  void speak_of(const std::filesystem::path& file) { work_->file = file; }
  bool in_memory() const;

  /// Returns up to `size` bytes of the file from `offset` on, regardless of SQLite's state; fewer
  /// at the file's end. Takes no lock and loses none, unlike reading through another file
  /// descriptor.
  std::vector<std::uint8_t> read_file(std::int64_t offset, int size) const;

  /// Makes every later Transaction fail if PRAGMA user_version is no longer `version`, which means
  /// that another program has changed the tables.
  void require_version(std::int64_t version) { version_ = version; }
  const std::optional<std::int64_t>& required_version() const { return version_; }

  /// Runs one or several statements without bindings.
  void execute(const char* sql) const;
  /// Returns the first column of the first row. REQUIRES: there is one.
  std::int64_t integer(const char* sql) const;
  std::string text(const char* sql) const;

  bool can_write() const;
  bool in_transaction() const;
  std::int64_t last_insert_id() const;
  /// Returns the number of rows that the last INSERT, UPDATE or DELETE changed.
  std::int64_t changes() const;

  /// Returns the bytes that a file of this database has.
  std::vector<std::uint8_t> file_bytes() const;

  /// Replaces the contents of `target` by a copy of the whole database as it is now.
  void back_up_to(const Connection& target) const;

  /// Throws SqliteError for anything but SQLITE_OK, SQLITE_ROW and SQLITE_DONE.
  void check(int code) const;

 private:
  friend class Statement;
  struct Closer {
    void operator()(sqlite3* handle) const noexcept;
  };
  /// How much work the current statement has done. Has a fixed address because SQLite calls back
  /// into it.
  struct Work {
    std::filesystem::path file;
    std::int64_t steps = 0;
  };
  static int count_work(void* work) noexcept;

  std::unique_ptr<Work> work_;
  int busy_timeout_ms_;
  std::optional<std::int64_t> version_;
  std::unique_ptr<sqlite3, Closer> handle_;
  std::unique_ptr<IdleStatements> idle_ = std::make_unique<IdleStatements>();
};

/// Turns off SQLite's memory accounting, whose lock takes a tenth of the time of storing many rows.
/// Applies to the whole process; has no effect after a database has been opened.
void leave_memory_uncounted();

/// A transaction begun with BEGIN IMMEDIATE: it takes the write lock at once, so that two writers
/// wait for each other instead of failing half-way. Rolled back unless committed. The constructor
/// throws StoreError if the connection requires a version that the database no longer has.
class Transaction {
 public:
  explicit Transaction(const Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction(Transaction&&) = delete;
  Transaction& operator=(Transaction&&) = delete;

  void commit();

 private:
  struct Begun {};
  /// Begins, so that the destructor rolls back if the public constructor throws.
  Transaction(const Connection& connection, Begun);

  const Connection& connection_;
  bool open_ = true;
};

}  // namespace smemtune::db
