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

/// A position that simdjson reads on demand: each value once, in the order of the text.
using JsonText = simdjson::ondemand::value;

/// The result of reading a JSON object from an untrusted and possibly long text. Each entry of its
/// member `cache`, `results`, `best`, `candidates` or `Results` is passed to a callback as it is read;
/// everything else is kept in `head`, which has an empty object or array for each of these.
struct JsonEntries {
  /// Takes an entry. `head`: all other members, wherever they stand. `list`: the member that
  /// contains the entry.
  using Take = std::function<void(const Json& head, std::string_view list, JsonText entry)>;
  /// Returns true if the head has all that `Take` needs. If it has not when the list begins, the
  /// rest of the text is read first.
  using IsEnough = std::function<bool(const Json& head, std::string_view list)>;

  Json head;
  /// True if the text is truncated; the complete entries before the cut were read.
  bool cut_off = false;
};

/// Runs `read`, which reads an entry, and returns what is wrong with the entry; nullopt if nothing
/// is. Reading continues after an entry even if `read` stopped in the middle of it. Throws
/// WholeFileFault, and what simdjson throws if the text itself is not JSON.
std::optional<std::string> fault_of_entry(const std::function<void()>& read);

/// A fault of one entry that makes the whole file invalid.
class WholeFileFault : public InputError {
 public:
  using InputError::InputError;
};

/// Reads the text. `what`: the file, for error messages, including those of errors that `take`
/// throws. Throws InputError naming it.
JsonEntries read_json_entries(const std::string& what, std::string text,
                              const JsonEntries::IsEnough& is_enough,
                              const JsonEntries::Take& take);

/// Returns the whole value. Throws InputError if it is nested deeper than 32, holds more than a
/// million values, or has a name twice in one object.
Json whole_json(JsonText value);

/// Returns a number, including what Python writes and JSON lacks (NaN, Infinity); NaN for anything
/// else.
double number_of(JsonText value);

/// Returns a string, empty for anything else. Valid as long as the text is being read.
std::string_view string_of(JsonText value);

}  // namespace smemtune::db
