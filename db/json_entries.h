#pragma once

#include "db/json_forms.h"
#include "tuner/core/error.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>

namespace smemtune::db {

/// Where simdjson reads: on demand, each value once and in the text's order.
using JsonText = simdjson::ondemand::value;

/// Reads a JSON object from somewhere, perhaps a long one. Each entry of its member `cache`,
/// `results`, `best` or `Results` is handed over by itself as it comes, and everything else is
/// returned.
struct JsonEntries {
  /// `head`: everything else, wherever it stands. `list`: the member that the entry is of.
  using Take = std::function<void(const Json& head, std::string_view list, JsonText entry)>;
  /// Whether the head has all that `Take` asks of it. Where it has not when the list comes, it is
  /// read to its end first.
  using IsEnough = std::function<bool(const Json& head, std::string_view list)>;

  Json head;
  bool cut_off = false;  ///< The text ends before its end; whole entries before that were read.
};

/// Runs `read`, which reads an entry, and returns what is wrong with the entry; nullopt: nothing.
/// The text goes on behind an entry that is not read to its end. Throws WholeFileFault, and what
/// simdjson throws where the text itself is no JSON.
std::optional<std::string> fault_of_entry(const std::function<void()>& read);

/// What one entry tells of the whole file.
class WholeFileFault : public InputError {
 public:
  using InputError::InputError;
};

/// `what`: the file, for errors, also for those that `take` throws. Throws InputError naming it.
JsonEntries read_json_entries(const std::string& what, std::string text,
                              const JsonEntries::IsEnough& is_enough,
                              const JsonEntries::Take& take);

/// The whole value. Throws InputError where it is nested deeper than 32, holds more than a million
/// values or a name twice in one object.
Json whole_json(JsonText value);

/// A number, also as Python writes what JSON cannot hold (NaN, Infinity); NaN for all else.
double number_of(JsonText value);

/// A string, empty for all else. Valid as long as the text is read.
std::string_view string_of(JsonText value);

}  // namespace smemtune::db
