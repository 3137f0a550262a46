#pragma once

#include "db/result_store.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

// The one JSON form of what smemtune knows: in the documents that commands print and write
// (db/EXPORT.md), and in the database's JSON columns.

namespace smemtune::db {

/// Members stay in the order in which they were written.
using Json = nlohmann::ordered_json;

/// The number, or null where it is not known: JSON has no NaN and no infinity.
Json number_json(double value);

/// An object with a member for each name: integers, and strings for words.
Json bindings_json(const Bindings& bindings);

Json device_json(const Device& device);
Json launch_json(const LaunchResult& launch);
Json occupancy_json(const Occupancy& occupancy);

/// Everything of a result: what it is about, what became of it, its launches, times and rates.
/// `time` is null where it was not timed.
Json result_json(const Result& result);

/// A result with its space, device and provenance.
Json stored_json(const StoredResult& stored);

// Throw nlohmann::json::exception, or InputError for a word, where it was not written above.
Bindings bindings_from(const Json& json);
LaunchResult launch_from(const Json& json);
Device device_from(const Json& json);
Result result_from(const Json& json);
StoredResult stored_from(const Json& json);

/// A whole document: `format` and `version`, then the members. Ends with a newline. Text that is
/// not UTF-8 has U+FFFD in place of the wrong bytes, and control characters are escaped.
std::string document_text(const char* format, int version, const Json& members);

/// The text of such a document with one member, a list of objects, in pieces: the list need not be in
/// memory.
class ListDocument {
 public:
  /// What comes before the first of the list called `name`.
  std::string begin(const char* format, int version, const std::string& name);
  std::string next(const Json& element);
  std::string end() const;

 private:
  bool is_empty_ = true;
};

}  // namespace smemtune::db
