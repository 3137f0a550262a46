#pragma once

#include "db/sqlite.h"
#include "tuner/core/result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

// What the database's columns hold. Reading throws StoreError for text that was not written here;
// numbers that JSON lacks (NaN, infinity) are left out.

namespace smemtune::db {

/// A row to be, column by column.
class NewRow {
 public:
  NewRow& set(const std::string& column, DeviceKind kind) { return set(column, to_text(kind)); }
  NewRow& set(const std::string& column, const Dim3& size);  ///< `COLUMN_x`, `_y` and `_z`.
  template <typename T>
  NewRow& set(const std::string& column, const T& value) {
    columns_.push_back(column);
    binders_.push_back(
        [name = ":" + column, value](Statement& insert) { insert.bind(name.c_str(), value); });
    return *this;
  }

  /// `otherwise`: an ON CONFLICT clause, or nothing.
  void insert_into(const Connection& connection, const std::string& table,
                   const std::string& otherwise = "") const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::function<void(Statement&)>> binders_;
};

void read_column(const Statement& row, const std::string& column, bool& value);
void read_column(const Statement& row, const std::string& column, int& value);
void read_column(const Statement& row, const std::string& column, std::int64_t& value);
void read_column(const Statement& row, const std::string& column, double& value);
void read_column(const Statement& row, const std::string& column, std::string& value);
void read_column(const Statement& row, const std::string& column, Dim3& value);
void read_column(const Statement& row, const std::string& column, DeviceKind& value);
void read_column(const Statement& row, const std::string& column, Status& value);
void read_column(const Statement& row, const std::string& column, Stage& value);
void read_column(const Statement& row, const std::string& column, ComparedWith& value);
void read_column(const Statement& row, const std::string& column,
                 std::vector<ComparedOutput>& value);

/// `{"M":4096,"T":"float"}`: unlike key(), tells the word `1` from the number 1.
std::string to_json(const Bindings& bindings);
Bindings bindings_from_json(const Statement& row, const char* column);

std::string to_json(const std::vector<LaunchResult>& launches);
std::vector<LaunchResult> launches_from_json(const Statement& row, const char* column);

/// `[[{"N":4096},"out","definition",4096,4096]]`; empty for an empty list.
std::string to_json(const std::vector<ComparedOutput>& compared);

std::string to_json(const std::map<std::string, double>& metrics);
std::map<std::string, double> metrics_from_json(const Statement& row, const char* column);

std::string to_json(const std::vector<std::string>& words);
std::vector<std::string> words_from_json(const Statement& row, const char* column);

std::vector<std::uint8_t> to_blob(std::span<const double> samples_ms);
std::vector<double> samples_from_blob(std::span<const std::uint8_t> blob);

/// At most `limit` bytes, cut between two characters of UTF-8, with a note of what was left out.
std::string truncated(const std::string& text, std::size_t limit);

}  // namespace smemtune::db
