#pragma once

#include "db/sqlite.h"
#include "tuner/core/result.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

// What the database's JSON and BLOB columns hold. Reading throws StoreError for text that was not
// written here; numbers that JSON lacks (NaN, infinity) are left out.

namespace smemtune::db {

/// `{"M":4096,"T":"float"}`: unlike key(), tells the word `1` from the number 1.
std::string to_json(const Bindings& bindings);
Bindings bindings_from_json(const Statement& row, const char* column);

std::string to_json(const std::vector<LaunchResult>& launches);
std::vector<LaunchResult> launches_from_json(const Statement& row, const char* column);

std::string to_json(const std::map<std::string, double>& metrics);
std::map<std::string, double> metrics_from_json(const Statement& row, const char* column);

std::string to_json(const std::vector<std::string>& words);

std::vector<std::uint8_t> to_blob(std::span<const double> samples_ms);
std::vector<double> samples_from_blob(std::span<const std::uint8_t> blob);

/// At most `limit` bytes, cut between two characters of UTF-8, with a note of what was left out.
std::string truncated(const std::string& text, std::size_t limit);

}  // namespace smemtune::db
