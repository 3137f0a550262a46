#include "db/export_json.h"

#include "db/export_order.h"
#include "db/json_forms.h"

#include <nlohmann/json.hpp>

#include <utility>

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
  Json entries = Json::array();
  for (const StoredResult* stored : in_export_order(best)) {
    entries.push_back(stored_json(*stored));
    // Another tuner does not say what it was verified against.
    const bool is_told = is_of_another_tuner(*stored);
    add_former_names(entries.back(), is_told ? Json(nullptr) : Json(true));
  }
  Json default_entries = Json::array();
  for (const KernelDefaults& one : in_export_order(defaults)) {
    default_entries.push_back({{"space", one.space},
                               {"kernel", one.kernel},
                               {"configuration", bindings_json(one.configuration)},
                               {"parameters", bindings_json(one.configuration)}});
  }
  Json members = {{"best", std::move(entries)}, {"defaults", std::move(default_entries)}};
  for (const StoredResult* stored : in_export_order(candidates, Failures::included)) {
    members["candidates"].push_back(candidate_json(*stored));
  }
  if (!portfolios.empty()) members["portfolios"] = portfolios;
  return document_text("smemtune-best", 1, members);
}

}  // namespace smemtune::db
