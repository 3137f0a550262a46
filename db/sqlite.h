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

/// A call of SQLite's failed. The message is one line: the file, what is wrong, what to do.
class SqliteError : public StoreError {
 public:
  SqliteError(int code, const std::string& message) : StoreError(message), code_(code) {}

  int code() const { return code_; }  ///< SQLite's extended result code.

 private:
  int code_;
};

class Connection;

/// A prepared statement. Columns are of the row that step() reached, by their names.
class Statement {
 public:
  Statement(const Connection& connection, std::string_view sql);

  Statement& bind(const char* name, std::int64_t value) { return bind(parameter(name), value); }
  Statement& bind(const char* name, int value) { return bind(name, std::int64_t{value}); }
  Statement& bind(const char* name, bool value) { return bind(name, std::int64_t{value}); }
  /// NaN is stored as NULL.
  Statement& bind(const char* name, double value) { return bind(parameter(name), value); }
  Statement& bind(const char* name, std::string_view text) { return bind(parameter(name), text); }
  Statement& bind(const char* name, const std::string& text) {
    return bind(name, std::string_view(text));
  }
  Statement& bind(const char* name, const char* text) { return bind(name, std::string_view(text)); }
  Statement& bind(const char* name, std::span<const std::uint8_t> blob) {
    return bind(parameter(name), blob);
  }
  template <typename T>
  Statement& bind(const char* name, const std::optional<T>& value) {
    return bind(parameter(name), value);
  }
  /// By its place, from 1: for statements that run for very many rows.
  Statement& bind(int place, std::int64_t value);
  Statement& bind(int place, int value) { return bind(place, std::int64_t{value}); }
  Statement& bind(int place, bool value) { return bind(place, std::int64_t{value}); }
  Statement& bind(int place, double value);
  Statement& bind(int place, std::string_view text);
  Statement& bind(int place, const std::string& text) {
    return bind(place, std::string_view(text));
  }
  Statement& bind(int place, std::span<const std::uint8_t> blob);
  template <typename T>
  Statement& bind(int place, const std::optional<T>& value) {
    return value ? bind(place, *value) : bind_null(place);
  }

  /// False when there is no further row; the statement is then ready to run again.
  bool step();
  /// For statements without rows. Keeps the bindings.
  void run();
  void reset();

  bool is_null(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<std::uint8_t> blob(std::string_view name) const;
  /// The error that the row's column holds what smemtune never wrote, and `why`.
  StoreError damaged(std::string_view name, const std::string& why) const;

  /// Instructions of SQLite's virtual machine since the last call: work, without a clock.
  std::int64_t take_vm_steps();

 private:
  friend class Connection;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  /// A text that is bound: SQLite reads it here, and what is bound again as it was costs nothing.
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
  std::vector<BoundText> texts_;  ///< By place, from 0. Its size stays, and so do the addresses.
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  std::map<std::string, int, std::less<>> columns_;
};

/// An open database file, or ":memory:". Nothing in the file is run: triggers, views, extensions
/// and double-quoted strings are off. A statement that does more than a database of its size can
/// ask for (pages that refer to each other without end) is ended.
class Connection {
 public:
  enum class Mode { read_write, read_only };

  /// The file must exist. Throws SqliteError.
  Connection(const std::filesystem::path& file, Mode mode, int busy_timeout_ms);

  const std::filesystem::path& file() const { return work_->file; }

  /// Errors speak of `file` from now on: of the one that this is a copy of.
  void speak_of(const std::filesystem::path& file) { work_->file = file; }
  bool in_memory() const;

  /// Up to `size` bytes of the file from `offset` on, whatever SQLite knows of it; no lock is taken
  /// and none is lost, as it would be by a file descriptor of one's own. Fewer at the file's end.
  std::vector<std::uint8_t> read_file(std::int64_t offset, int size) const;

  /// From now on a Transaction fails where PRAGMA user_version is no longer `version`: another
  /// program has changed what the tables are.
  void require_version(std::int64_t version) { version_ = version; }
  const std::optional<std::int64_t>& required_version() const { return version_; }

  /// One or several statements without bindings.
  void execute(const char* sql) const;
  /// First column of the first row. REQUIRES: there is one.
  std::int64_t integer(const char* sql) const;
  std::string text(const char* sql) const;

  bool can_write() const;
  bool in_transaction() const;
  std::int64_t last_insert_id() const;
  /// Rows that the last INSERT, UPDATE or DELETE touched.
  std::int64_t changes() const;

  /// Copies the whole database, as it is now, over what `target` holds.
  void back_up_to(const Connection& target) const;

  /// Throws SqliteError for anything but SQLITE_OK, SQLITE_ROW and SQLITE_DONE.
  void check(int code) const;

 private:
  friend class Statement;
  struct Closer {
    void operator()(sqlite3* handle) const noexcept;
  };
  /// How much one statement may do: SQLite calls back into it, so that it stays where it is.
  struct Work {
    std::filesystem::path file;
    std::int64_t steps = 0;
  };
  static int count_work(void* work) noexcept;

  std::unique_ptr<Work> work_;
  int busy_timeout_ms_;
  std::optional<std::int64_t> version_;
  std::unique_ptr<sqlite3, Closer> handle_;
};

/// SQLite counts the memory that it takes, under a lock that costs a tenth of storing many rows;
/// from now on it does not. Of the whole process, and without effect where a database was opened
/// already.
void leave_memory_uncounted();

/// BEGIN IMMEDIATE: takes the write lock at once, so that two writers wait for each other instead
/// of failing half-way. Rolled back unless committed. Throws StoreError where the connection
/// requires a version that the database no longer has.
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
  Transaction(const Connection& connection, Begun);  ///< So that the other's throwing rolls back.

  const Connection& connection_;
  bool open_ = true;
};

}  // namespace smemtune::db
