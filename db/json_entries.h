#pragma once

#include "db/json_forms.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace smemtune::db {

/// Reads a JSON object from somewhere, perhaps a long one. Each entry of its member `cache`,
/// `results` or `best` is handed over by itself as it comes, and everything else is returned.
/// Nothing may be nested deeper than 32, no entry may hold more than a million values, and no name
/// may stand twice in one of the objects. `what`: the file, for errors. Throws InputError naming
/// it and the place.
struct JsonEntries {
  /// `head`: what came before the entry. `list`: the member that it is of.
  using Take = std::function<void(const Json& head, std::string_view list, Json&& entry)>;

  Json head;
  bool cut_off = false;  ///< The text ends before its end; whole entries before that were read.
};
JsonEntries read_json_entries(const std::string& what, std::string_view text,
                              const JsonEntries::Take& take);

}  // namespace smemtune::db
