#include "db/sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <sys/stat.h>
#include <utility>

namespace smemtune::db {

namespace {

/// Limits far above what smemtune stores and queries; they keep a hostile file from exhausting the
/// memory.
constexpr std::pair<int, int> kLimits[] = {
    {SQLITE_LIMIT_LENGTH, 8 << 20},      {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
    {SQLITE_LIMIT_COLUMN, 256},          {SQLITE_LIMIT_EXPR_DEPTH, 100},
    {SQLITE_LIMIT_COMPOUND_SELECT, 8},   {SQLITE_LIMIT_FUNCTION_ARG, 16},
    {SQLITE_LIMIT_ATTACHED, 0},          {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 256}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1}};

/// Limits for the instructions of SQLite's virtual machine in one statement. A stored result has a
/// few hundred bytes and takes a few hundred instructions to be joined with the rows that it refers
/// to and sorted.
constexpr std::int64_t kStepsOfAnyStatement = 100'000'000;
constexpr std::int64_t kStepsPerByte = 50;
constexpr int kStepsBetweenLooks = 1'000'000;

std::string in_seconds(int ms) {
  const std::string tenths = std::to_string((ms + 50) / 100);
  const std::string padded = tenths.size() < 2 ? "0" + tenths : tenths;
  return padded.substr(0, padded.size() - 1) + "." + padded.back() + " s";
}

std::string explain(int code, const std::string& message, int busy_timeout_ms) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "locked by another process for longer than " + in_seconds(busy_timeout_ms) +
             "; wait for it to end, or use another database";
    case SQLITE_CORRUPT:
      return "the database is damaged (" + message +
             "); restore a backup, or save what can be read with `sqlite3 FILE .recover`";
    case SQLITE_NOTADB:
      return "not a database";
    case SQLITE_FULL:
      return "no space left for the database; nothing of the last result was stored";
    case SQLITE_INTERRUPT:
      return "the database is damaged (reading it does not end); restore a backup, or save what "
             "can "
             "be read with `sqlite3 FILE .recover`";
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_ROLLBACK) {
        return "another process was killed while it wrote; run the same command again to read what "
               "was there before";
      }
      if (code == SQLITE_READONLY_DBMOVED) {
        return "the database was moved or replaced while it was in use; nothing of the last result "
               "was stored";
      }
      return "the database cannot be written (" + message + ")";
    case SQLITE_CANTOPEN:
      return "the database cannot be opened (" + message + ")";
    case SQLITE_IOERR:
      return "reading or writing the database failed (" + message + ")";
    default:
      // The statements are fixed, and the tables existed when the database was opened.
      if (message.starts_with("no such ")) return "the database is damaged (" + message + ")";
      return "the database: " + message;
  }
}

void configure(sqlite3* handle, int option, int wanted, const char* name, const Connection& owner) {
  int is = -1;
  owner.check(sqlite3_db_config(handle, option, wanted, &is));
  if (is != wanted) {
    throw StoreError(owner.file().string() + ": SQLite does not let " + name + " be " +
                     std::to_string(wanted));
  }
}

}  // namespace

Connection::Connection(const std::filesystem::path& file, Mode mode, int busy_timeout_ms)
    : work_(std::make_unique<Work>(Work{.file = file})), busy_timeout_ms_(busy_timeout_ms) {
  sqlite3* opened = nullptr;
  // Each connection is used by one thread: SQLite's own locks would add a tenth to the time of
  // storing.
  const int flags = SQLITE_OPEN_NOMUTEX |
                    (mode == Mode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  // An absolute path is never parsed as one of SQLite's URIs, unlike a relative `file:x`.
  const std::filesystem::path path = file == ":memory:" ? file : std::filesystem::absolute(file);
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  handle_.reset(opened);  // After most errors there is still a handle to close.
  check(code);
  check(sqlite3_extended_result_codes(opened, 1));
  check(sqlite3_busy_timeout(opened, busy_timeout_ms));
  configure(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, "DEFENSIVE", *this);
  configure(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, "ENABLE_TRIGGER", *this);
  configure(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, "ENABLE_VIEW", *this);
  configure(opened, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, "ENABLE_LOAD_EXTENSION", *this);
  configure(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, "TRUSTED_SCHEMA", *this);
  configure(opened, SQLITE_DBCONFIG_DQS_DML, 0, "DQS_DML", *this);
  configure(opened, SQLITE_DBCONFIG_DQS_DDL, 0, "DQS_DDL", *this);
  // Keeps SQLite from preparing a statement again because other values are bound to it.
  configure(opened, SQLITE_DBCONFIG_ENABLE_QPSG, 1, "ENABLE_QPSG", *this);
  // Keeps SQLite from merging somebody else's write-ahead log into their file because we read it.
  configure(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, "NO_CKPT_ON_CLOSE", *this);
  for (const auto& [limit, value] : kLimits) sqlite3_limit(opened, limit, value);
  sqlite3_progress_handler(opened, kStepsBetweenLooks, count_work, work_.get());
}

int Connection::count_work(void* work) noexcept {
  auto* const its = static_cast<Work*>(work);
  its->steps += kStepsBetweenLooks;
  if (its->steps <= kStepsOfAnyStatement) return 0;
  // The allocated size, so that a sparse file does not raise the limit.
  struct stat found {};
  const std::int64_t bytes =
      stat(its->file.c_str(), &found) == 0 ? std::int64_t{found.st_blocks} * 512 : 0;
  return its->steps - kStepsOfAnyStatement > kStepsPerByte * bytes ? 1 : 0;
}

void Connection::Closer::operator()(sqlite3* handle) const noexcept {
  if (sqlite3_close(handle) != SQLITE_OK) {
    std::fprintf(stderr, "smemtune: a database was closed while in use\n");
  }
}

void Connection::execute(const char* sql) const {
  work_->steps = 0;
  check(sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr));
}

std::int64_t Connection::integer(const char* sql) const {
  Statement statement(*this, sql);
  if (!statement.step()) throw StoreError(file().string() + ": no answer to " + sql);
  return sqlite3_column_int64(statement.statement_.get(), 0);
}

std::string Connection::text(const char* sql) const {
  Statement statement(*this, sql);
  if (!statement.step()) throw StoreError(file().string() + ": no answer to " + sql);
  const unsigned char* text = sqlite3_column_text(statement.statement_.get(), 0);
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
}

bool Connection::in_memory() const {
  const char* name = sqlite3_db_filename(handle_.get(), "main");
  return name == nullptr || *name == '\0';
}

std::vector<std::uint8_t> Connection::read_file(std::int64_t offset, int size) const {
  sqlite3_file* opened = nullptr;
  check(sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &opened));
  sqlite3_int64 total = 0;
  check(opened->pMethods->xFileSize(opened, &total));
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(std::clamp<std::int64_t>(total - offset, 0, size)));
  if (!bytes.empty()) {
    check(opened->pMethods->xRead(opened, bytes.data(), static_cast<int>(bytes.size()), offset));
  }
  return bytes;
}

bool Connection::can_write() const { return sqlite3_db_readonly(handle_.get(), "main") == 0; }

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }

std::int64_t Connection::last_insert_id() const { return sqlite3_last_insert_rowid(handle_.get()); }

std::int64_t Connection::changes() const { return sqlite3_changes64(handle_.get()); }

std::vector<std::uint8_t> Connection::file_bytes() const {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      sqlite3_serialize(handle_.get(), "main", &size, 0), sqlite3_free);
  if (!bytes) check(SQLITE_NOMEM);
  return {bytes.get(), bytes.get() + size};
}

void Connection::back_up_to(const Connection& target) const {
  sqlite3_backup* backup = sqlite3_backup_init(target.handle_.get(), "main", handle_.get(), "main");
  if (backup == nullptr) target.check(sqlite3_extended_errcode(target.handle_.get()));
  const int stepped = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  target.check(stepped);
  target.check(finished);
}

void Connection::check(int code) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  // sqlite3_errmsg() is more specific, but concerns only the connection's last call.
  const bool last = handle_ && (sqlite3_errcode(handle_.get()) & 0xff) == (code & 0xff);
  const std::string message = last ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  throw SqliteError(code, file().string() + ": " + explain(code, message, busy_timeout_ms_));
}

Statement::Statement(const Connection& connection, std::string_view sql)
    : connection_(&connection), statement_(nullptr, Keeper{connection.idle_.get()}) {
  sqlite3_stmt* prepared = connection.idle_->take(sql);
  if (prepared == nullptr) {
    connection.check(sqlite3_prepare_v3(connection.handle_.get(), sql.data(),
                                        static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                        &prepared, nullptr));
  }
  statement_.reset(prepared);
  texts_.resize(static_cast<std::size_t>(sqlite3_bind_parameter_count(prepared)));
  const int count = sqlite3_column_count(prepared);
  for (int i = 0; i < count; ++i) {
    const char* name = sqlite3_column_name(prepared, i);
    if (name == nullptr) connection.check(SQLITE_NOMEM);
    columns_.emplace(name, i);
  }
  read_next_.resize(static_cast<std::size_t>(count) + 1);
}

void Statement::Keeper::operator()(sqlite3_stmt* statement) const noexcept {
  idle->keep(statement);
}

IdleStatements::~IdleStatements() {
  for (const auto& [sql, statements] : statements_) {
    for (sqlite3_stmt* const statement : statements) sqlite3_finalize(statement);
  }
}

sqlite3_stmt* IdleStatements::take(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found == statements_.end() || found->second.empty()) return nullptr;
  sqlite3_stmt* const statement = found->second.back();
  found->second.pop_back();
  return statement;
}

void IdleStatements::keep(sqlite3_stmt* statement) {
  // Returns the error of the last step again, which has been handled already.
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, /*reset=*/1);
  statements_[sqlite3_sql(statement)].push_back(statement);
}

Statement& Statement::bind(int place, std::int64_t value) {
  forget_text(place);
  check_bound(sqlite3_bind_int64(statement_.get(), place, value));
  return *this;
}

Statement& Statement::bind(int place, double value) {
  forget_text(place);
  check_bound(sqlite3_bind_double(statement_.get(), place, value));
  return *this;
}

Statement& Statement::bind(int place, std::string_view text) {
  BoundText& bound = texts_.at(static_cast<std::size_t>(place - 1));
  if (bound.is_bound && bound.text == text) return *this;
  bound.is_bound = false;
  bound.text = text;
  check_bound(sqlite3_bind_text64(statement_.get(), place, bound.text.data(), bound.text.size(),
                                  SQLITE_STATIC, SQLITE_UTF8));
  bound.is_bound = true;
  return *this;
}

Statement& Statement::bind(int place, std::span<const std::uint8_t> blob) {
  forget_text(place);
  const void* data = blob.empty() ? "" : static_cast<const void*>(blob.data());
  check_bound(sqlite3_bind_blob64(statement_.get(), place, data, blob.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind_from(const Statement& row, const std::string& column) {
  const int place = parameter((":" + column).c_str());
  forget_text(place);
  check_bound(sqlite3_bind_value(statement_.get(), place,
                                 sqlite3_column_value(row.statement_.get(), row.column(column))));
  return *this;
}

Statement& Statement::bind_null(int place) {
  forget_text(place);
  check_bound(sqlite3_bind_null(statement_.get(), place));
  return *this;
}

void Statement::forget_text(int place) {
  texts_.at(static_cast<std::size_t>(place - 1)).is_bound = false;
}

bool Statement::step() {
  if (sqlite3_stmt_busy(statement_.get()) == 0) connection_->work_->steps = 0;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  // Reset before throwing: a failed statement that is not reset keeps its locks.
  const std::string message =
      code == SQLITE_DONE ? std::string() : sqlite3_errmsg(connection_->handle_.get());
  sqlite3_reset(statement_.get());
  if (code != SQLITE_DONE) {
    throw SqliteError(code, connection_->file().string() + ": " +
                                explain(code, message, connection_->busy_timeout_ms_));
  }
  return false;
}

bool Statement::has_row() {
  const bool any = step();
  reset();
  return any;
}

std::int64_t Statement::id() {
  const std::int64_t found = step() ? integer("id") : 0;
  reset();
  return found;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() {
  // Returns the error of the last step again, which has been handled already.
  sqlite3_reset(statement_.get());
}

bool Statement::is_null(std::string_view name) const {
  return sqlite3_column_type(statement_.get(), column(name)) == SQLITE_NULL;
}

std::int64_t Statement::integer(std::string_view name) const {
  return sqlite3_column_int64(statement_.get(), column(name));
}

double Statement::real(std::string_view name) const {
  const int i = column(name);
  if (sqlite3_column_type(statement_.get(), i) == SQLITE_NULL) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return sqlite3_column_double(statement_.get(), i);
}

std::string Statement::text(std::string_view name) const {
  const int i = column(name);
  const unsigned char* text = sqlite3_column_text(statement_.get(), i);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), i))};
}

std::vector<std::uint8_t> Statement::blob(std::string_view name) const {
  const int i = column(name);
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), i));
  if (bytes == nullptr) return {};
  return {bytes, bytes + sqlite3_column_bytes(statement_.get(), i)};
}

StoreError Statement::damaged(std::string_view name, const std::string& why) const {
  return StoreError(connection_->file().string() + ": the database is damaged (column " +
                    std::string(name) + ": " + why + ")");
}

std::int64_t Statement::take_vm_steps() {
  return sqlite3_stmt_status(statement_.get(), SQLITE_STMTSTATUS_VM_STEP, 1);
}

int Statement::parameter(const char* name) const {
  const int i = sqlite3_bind_parameter_index(statement_.get(), name);
  if (i == 0) throw std::logic_error(std::string("no parameter ") + name + " in the statement");
  return i;
}

int Statement::column(std::string_view name) const {
  const Columns::value_type*& next = read_next_[last_read_];
  if (next == nullptr || next->first != name) {
    const auto found = columns_.find(name);
    if (found == columns_.end()) {
      throw std::logic_error("no column " + std::string(name) + " in the statement");
    }
    next = &*found;
  }
  last_read_ = static_cast<std::size_t>(next->second);
  return next->second;
}

void Statement::check_bound(int code) const { connection_->check(code); }

void leave_memory_uncounted() { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

Transaction::Transaction(const Connection& connection) : Transaction(connection, Begun()) {
  const auto& required = connection_.required_version();
  if (!required) return;
  const std::int64_t version = connection_.integer("PRAGMA user_version");
  if (version < *required) {
    throw StoreError(
        connection_.file().string() +
        ": the database was emptied or replaced while it was in use; nothing of the last "
        "result was stored");
  }
  if (version > *required) {
    throw StoreError(connection_.file().string() +
                     ": a newer smemtune has changed the database meanwhile; what was stored until "
                     "then is kept");
  }
}

Transaction::Transaction(const Connection& connection, Begun) : connection_(connection) {
  connection_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  // After a full disk or an I/O error, SQLite may have rolled back by itself.
  if (!open_ || !connection_.in_transaction()) return;
  try {
    connection_.execute("ROLLBACK");
  } catch (const StoreError& error) {
    std::fprintf(stderr, "smemtune: %s\n", error.what());
  }
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace smemtune::db
