#include "db/export_formats.h"
#include "db/json_forms.h"
#include "db/rows.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Takes from a result what those of a kernel have in common that were measured in one run.
Json take_common(Json& result) {
  Json group = Json::object();
  for (const char* name : {"space", "kernel", "unit", "device", "provenance"}) {
    group[name] = std::exchange(result[name], nullptr);
    result.erase(name);
  }
  result["measured_utc"] = group["provenance"]["measured_utc"];
  group["provenance"].erase("measured_utc");
  return group;
}

/// Returns the candidates by what they have in common (take_common()): each group has that once, and its `results` what differs. A member of these that says nothing, as
/// in a result of which nothing is known, is left out, except for status, time and metrics.
std::vector<Json> candidate_groups(const std::vector<const StoredResult*>& candidates) {
  Json untold = stored_json({});
  for (const char* always : {"status", "time", "metrics"}) untold.erase(always);
  std::vector<Json> groups;
  std::map<std::string, std::size_t> numbers;
  for (const StoredResult* candidate : candidates) {
    Json result = stored_json(*candidate);
    Json group = take_common(result);
    for (const auto& [name, value] : untold.items()) {
      const auto its = result.find(name);
      if (its != result.end() && *its == value) result.erase(name);
    }
    for (const char* name : {"launches", "compared", "throughput", "cubin_sha256", "compile_ms",
                             "verify_ms", "first_launch_ms"}) {
      result.erase(name);
    }
    const auto [number, is_new] = numbers.try_emplace(group.dump(), groups.size());
    if (is_new) groups.push_back(std::move(group));
    groups[number->second]["results"].push_back(std::move(result));
  }
  return groups;
}

Json defaults_json(const KernelDefaults& one) {
  return {{"space", one.space},
          {"kernel", one.kernel},
          {"configuration", bindings_json(one.configuration)},
          {"parameters", bindings_json(one.configuration)},
          {"constraints", one.constraints},
          {"promising", one.promising},
          {"blocks", one.launches.blocks},
          {"threads", one.launches.threads},
          {"metrics", one.launches.metrics}};
}

/// A group with a table of times.
struct TimesTable {
  Json group;
  std::vector<std::pair<std::size_t, std::size_t>> places = {};  ///< Configuration and problem.
  std::vector<Json> times = {};
  std::map<std::string, std::map<std::string, std::size_t>> places_of =
      {};  ///< Keyed by list and value.

  /// Returns the place of a value in the group's list of this name, in which it may be new.
  std::size_t place(const char* list, const Json& value) {
    const auto [its, is_new] = places_of[list].try_emplace(value.dump(), group[list].size());
    if (is_new) group[list].push_back(value);
    return its->second;
  }

  Json json() && {
    const std::vector<Json> untimed(group["problems"].size(), nullptr);
    std::vector<std::vector<Json>> rows(group["configurations"].size(), untimed);
    for (std::size_t i = 0; i < times.size(); ++i) {
      rows[places[i].first][places[i].second] = times[i];
    }
    group["mean_ms"] = rows;
    return std::move(group);
  }
};

}  // namespace

std::string export_times(const std::vector<StoredResult>& best,
                         const std::vector<KernelDefaults>& defaults,
                         const std::vector<StoredResult>& candidates) {
  std::vector<StoredResult> all = best;
  all.insert(all.end(), candidates.begin(), candidates.end());
  std::vector<TimesTable> tables;
  std::map<std::string, std::size_t> numbers;
  for (const StoredResult* stored : in_export_order(all)) {
    Json result = stored_json(*stored);
    Json group = take_common(result);
    group["compared_with"] = result["compared_with"];
    const auto [number, is_new] = numbers.try_emplace(group.dump(), tables.size());
    if (is_new) tables.push_back({.group = std::move(group)});
    TimesTable& table = tables[number->second];
    table.group["measured_utc"] = result["measured_utc"];
    table.places.emplace_back(table.place("configurations", result["configuration"]),
                              table.place("problems", result["problem"]));
    const Json& time = result["time"];
    table.times.push_back(time[time["median_ms"].is_null() ? "mean_ms" : "median_ms"]);
  }
  Json members = {{"defaults", Json::array()}, {"candidates", Json::array()}};
  for (const KernelDefaults& one : in_export_order(defaults)) {
    members["defaults"].push_back(defaults_json(one));
  }
  for (TimesTable& table : tables) members["candidates"].push_back(std::move(table).json());
  return document_text("smemtune-times", 1, members);
}

std::string export_json(const std::vector<StoredResult>& best,
                        const std::vector<KernelDefaults>& defaults,
                        const std::vector<StoredResult>& candidates) {
  std::string text;
  export_json(best, defaults, candidates, Json::array(),
              [&text](std::string_view part) { text += part; });
  return text;
}

void export_json(const std::vector<StoredResult>& best, const std::vector<KernelDefaults>& defaults,
                 const std::vector<StoredResult>& candidates, const Json& portfolios,
                 const TextSink& out) {
  // Each entry becomes text by itself: a tree of all takes ten times as much memory as the text.
  constexpr std::string_view kEnd = "\n}\n";
  bool is_first = true;
  const auto add_list = [&](const char* name, const auto& entries, const auto& json_of) {
    ListDocument list;
    const std::string begin = list.begin("smemtune-best", 1, name);
    out(std::exchange(is_first, false) ? begin : "," + begin.substr(begin.rfind('\n')));
    for (const auto& entry : entries) out(list.next(json_of(entry)));
    const std::string end = list.end();
    out(std::string_view(end).substr(0, end.size() - kEnd.size()));
  };
  add_list("best", in_export_order(best), [](const StoredResult* stored) {
    Json entry = stored_json(*stored);
    // Another tuner does not say what it was verified against.
    add_former_names(entry, is_of_another_tuner(*stored) ? Json(nullptr) : Json(true));
    return entry;
  });
  add_list("defaults", in_export_order(defaults), defaults_json);
  const auto others = in_export_order(candidates, Failures::included);
  if (!others.empty()) {
    add_list("candidates", candidate_groups(others),
             [](const Json& one) -> const Json& { return one; });
  }
  if (!portfolios.empty()) {
    add_list("portfolios", portfolios, [](const Json& one) -> const Json& { return one; });
  }
  out(kEnd);
}

}  // namespace smemtune::db
