#pragma once

#include "db/json_forms.h"
#include "db/sqlite.h"
#include "tuner/core/error.h"
#include "tuner/core/result.h"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Conversions between values and the database's columns. Reading throws StoreError for text that
// smemtune did not write; numbers that JSON lacks (NaN, infinity) are not stored.

namespace smemtune::db {

/// Returns the condition that columns are equal to the parameters `:column`.
std::string all_equal(const std::vector<std::string>& columns);

/// A row to insert, built column by column.
class NewRow {
 public:
  /// Sets a column of the key by which rows are told apart. REQUIRES: nothing was set before but
  /// other columns of it.
  template <typename T>
  NewRow& key(const std::string& column, const T& value) {
    set(column, value);
    key_ = columns_;
    return *this;
  }
  template <typename T>
  NewRow& set(const std::string& column, const T& value) requires std::is_enum_v<T> {
    return set(column, to_text(value));
  }
  /// Sets `COLUMN_x`, `COLUMN_y` and `COLUMN_z`.
  NewRow& set(const std::string& column, const Dim3& size);
  template <typename T>
  NewRow& set(const std::string& column, const T& value) {
    columns_.push_back(column);
    binders_.push_back(
        [name = ":" + column, value](Statement& insert) { insert.bind(name.c_str(), value); });
    return *this;
  }

  /// Inserts the row unless there is one of its key. Returns the id of the row of this key.
  std::int64_t store_in(const Connection& connection, const std::string& table) const;

 private:
  std::vector<std::string> key_;
  std::vector<std::string> columns_;
  std::vector<std::function<void(Statement&)>> binders_;
};

/// The results of a kernel for a problem on a device model, as the ids of these.
struct ResultGroup {
  std::int64_t model_id = 0;
  std::int64_t kernel_id = 0;
  std::int64_t problem_id = 0;

  auto operator<=>(const ResultGroup&) const = default;
};

/// Reads `model_id`, `kernel_id` and `problem_id`.
ResultGroup read_group(const Statement& row);
/// Binds `:model`, `:kernel` and `:problem`. Returns the statement.
Statement& bind_group(Statement& statement, const ResultGroup& group);

void read_column(const Statement& row, std::string_view column, bool& value);
void read_column(const Statement& row, std::string_view column, int& value);
void read_column(const Statement& row, std::string_view column, std::int64_t& value);
void read_column(const Statement& row, std::string_view column, double& value);
void read_column(const Statement& row, std::string_view column, std::string& value);
void read_column(const Statement& row, std::string_view column, Dim3& value);
void read_column(const Statement& row, std::string_view column, std::vector<ComparedOutput>& value);
void read_column(const Statement& row, std::string_view column, FinalsFacts& value);
template <typename T>
void read_column(const Statement& row, std::string_view column,
                 T& value) requires std::is_enum_v<T> {
  try {
    value = parse_word(row.text(column), T());
  } catch (const InputError& error) {
    throw row.damaged(column, error.what());
  }
}

/// Returns text like `{"M":4096,"T":"float"}`. Unlike key(), distinguishes the word `1` from the
/// number 1.
std::string to_json(const Bindings& bindings);
Bindings bindings_from_json(const Statement& row, const char* column);

std::string to_json(const std::vector<LaunchResult>& launches);
std::vector<LaunchResult> launches_from_json(const Statement& row, const char* column);

/// Returns text like `[[{"N":4096},"out","definition",4096,4096]]`; empty for an empty list.
std::string to_json(const std::vector<ComparedOutput>& compared);
std::string to_json(const FinalsFacts& facts);

std::string to_json(const std::map<std::string, double>& metrics);
std::map<std::string, double> metrics_from_json(const Statement& row, const char* column);

std::string to_json(const std::vector<std::string>& words);
std::vector<std::string> words_from_json(const Statement& row, const char* column);

std::vector<std::uint8_t> to_blob(std::span<const double> samples_ms);
std::vector<double> samples_from_blob(std::span<const std::uint8_t> blob);

/// Returns the text cut to at most `limit` bytes, between two UTF-8 characters, including a note of
/// how much was left out.
std::string truncated(const std::string& text, std::size_t limit);

}  // namespace smemtune::db
