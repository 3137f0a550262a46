#include "db/export_json.h"

#include "db/export_order.h"
#include "db/json_forms.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace smemtune::db {

namespace {

/// Adds the names that version 1 of the format used where json_forms.h uses others.
void add_former_names(Json& entry, const Json& verified) {
  entry["parameters"] = entry["configuration"];
  entry["time"]["stage"] = entry["stage"];
  entry["verification"] = {{"verified", verified},
                           {"max_absolute_error", entry["max_absolute_error"]},
                           {"max_relative_error", entry["max_relative_error"]}};
  entry["provenance"]["cubin_sha256"] = entry["cubin_sha256"];
  entry["provenance"]["compile_ms"] = entry["compile_ms"];
}

/// Returns what a selection takes of a candidate, and its provenance.
Json candidate_json(const StoredResult& stored) {
  Json entry = stored_json(stored);
  entry["launches"] = Json::array();
  for (const char* name : {"compared", "throughput"}) entry.erase(name);
  return entry;
}

}  // namespace

std::string export_json(const std::vector<StoredResult>& best,
                        const std::vector<KernelDefaults>& defaults,
                        const std::vector<StoredResult>& candidates) {
  return export_json(best, defaults, candidates, Json::array());
}

std::string export_json(const std::vector<StoredResult>& best,
                        const std::vector<KernelDefaults>& defaults,
                        const std::vector<StoredResult>& candidates, const Json& portfolios) {
  // Each entry becomes text by itself: a tree of all takes ten times as much memory as the text.
  std::string text;
  const auto add_list = [&text](const char* name, const auto& entries, const auto& json_of) {
    constexpr std::string_view kEnd = "\n}\n";
    ListDocument list;
    std::string begin = list.begin("smemtune-best", 1, name);
    if (!text.empty()) {
      text.resize(text.size() - kEnd.size());
      begin = "," + begin.substr(begin.rfind('\n'));
    }
    text += begin;
    for (const auto& entry : entries) text += list.next(json_of(entry));
    text += list.end();
  };
  add_list("best", in_export_order(best), [](const StoredResult* stored) {
    Json entry = stored_json(*stored);
    // Another tuner does not say what it was verified against.
    add_former_names(entry, is_of_another_tuner(*stored) ? Json(nullptr) : Json(true));
    return entry;
  });
  add_list("defaults", in_export_order(defaults), [](const KernelDefaults& one) {
    return Json{{"space", one.space},
                {"kernel", one.kernel},
                {"configuration", bindings_json(one.configuration)},
                {"parameters", bindings_json(one.configuration)}};
  });
  const auto others = in_export_order(candidates, Failures::included);
  if (!others.empty()) {
    add_list("candidates", others, [](const StoredResult* one) { return candidate_json(*one); });
  }
  if (!portfolios.empty()) {
    add_list("portfolios", portfolios, [](const Json& one) -> const Json& { return one; });
  }
  return text;
}

}  // namespace smemtune::db
