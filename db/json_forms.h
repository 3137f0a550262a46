#pragma once

#include "db/rows.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace simdjson::dom {
class element;
}

// The JSON form of all that smemtune stores and prints: used in the documents that commands write
// (db/EXPORT.md) and in the database's JSON columns.

namespace smemtune::db {

/// JSON whose members keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// A value of a parsed text, valid until its parser parses another one. What every stored result
/// has is read from it, because building a `Json` takes longer than all else that a result takes.
using JsonElement = simdjson::dom::element;

/// Returns the number, or null for NaN and infinity, which mean unknown and do not exist in JSON.
Json number_json(double value);

/// Returns the value, or null if there is none.
template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
/// Returns the text, or null if it is empty.
inline Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Returns a list of the forms of all elements.
template <typename Range, typename Form>
Json list_json(const Range& elements, const Form& form) {
  Json list = Json::array();
  for (const auto& element : elements) list.push_back(std::invoke(form, element));
  return list;
}

/// Returns an object with a member for each name: an integer, or a string for a word.
Json bindings_json(const Bindings& bindings);

Json device_json(const Device& device);
Json launch_json(const LaunchResult& launch);
Json occupancy_json(const Occupancy& occupancy);

/// Returns everything that a result holds: what it is about, its status, launches, times and rates.
/// `time` is null if it was not timed.
Json result_json(const Result& result);

/// Returns a result with its space, device and provenance.
Json stored_json(const StoredResult& stored);

// Inverses of the above. Throw nlohmann::json::exception or simdjson::simdjson_error, or InputError
// for an unknown word, if the JSON was not written by the functions above.
Bindings bindings_from(const Json& json);
Bindings read_bindings(JsonElement element);
LaunchResult launch_from(const Json& json);
LaunchResult read_launch(JsonElement element);
Device device_from(const Json& json);
Result result_from(const Json& json);
StoredResult stored_from(const Json& json);

/// Parses the word of an enumeration. Throws InputError.
DeviceKind parse_word(const std::string& word, DeviceKind);
Status parse_word(const std::string& word, Status);
Stage parse_word(const std::string& word, Stage);
/// Parses the first part of a text like `definition (sampled)`; the other part follows from what
/// was compared.
ComparedWith parse_word(const std::string& word, ComparedWith);

/// Calls `take` with each time in a group's table (EXPORT.md), and the numbers of its configuration and
/// its problem in the group's lists. Throws InputError naming a place behind `where` for a table that
/// has not a time or null for each of them.
void for_each_time(const Json& group, const std::string& where,
                   const std::function<void(std::size_t configuration, std::size_t problem,
                                            double mean_ms)>& take);

/// Returns the stored results that an entry of an export's lists is: itself, or each of the `results`
/// or times of a group with what they have in common.
std::vector<Json> entries_of(Json entry);

/// Returns `percent` and the ends of its interval; null where nothing is known, and so an end that
/// is not finite.
Json slowdown_json(const std::optional<Slowdown>& slower);

/// Returns what finals knew, as a result has it; null where there is nothing.
Json finals_json(const FinalsFacts& facts);
/// Reads it. Throws a JSON exception, or InputError for an unknown word.
FinalsFacts finals_from(const Json& json);

/// Returns a whole document: `format` and `version`, then the members, and a newline at the end.
/// Invalid UTF-8 is replaced by U+FFFD, and control characters are escaped.
std::string document_text(const char* format, int version, const Json& members);

/// Writes such a document with one member, a list of objects, in pieces, so that the list need not
/// fit in memory.
class ListDocument {
 public:
  /// Returns the text before the first element of the list called `name`.
  std::string begin(const char* format, int version, const std::string& name);
  std::string next(const Json& element);
  std::string end() const;

 private:
  bool is_empty_ = true;
};

}  // namespace smemtune::db
