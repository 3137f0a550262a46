#include "db/json_forms.h"

#include "db/rows.h"
#include "tuner/core/error.h"
#include "tuner/core/fields.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <iterator>
#include <limits>
#include <optional>
#include <simdjson.h>
#include <string_view>
#include <type_traits>
#include <variant>

namespace smemtune::db {

namespace {

Json value_json(double value) { return number_json(value); }
template <typename T>
Json value_json(const T& value) requires std::is_enum_v<T> {
  return to_text(value);
}
Json value_json(const std::vector<ComparedOutput>& compared) {
  Json array = Json::array();
  for (const ComparedOutput& one : compared) {
    array.push_back({{"problem", bindings_json(one.problem)},
                     {"output", one.output},
                     {"with", to_text(one.with)},
                     {"compared", one.compared},
                     {"of", one.elements_total}});
    if (one.only_sum) array.back()["only_sum"] = true;
  }
  return array;
}
Json value_json(const FinalsFacts& facts) { return finals_json(facts); }
template <typename T>
Json value_json(const std::optional<T>& value) {
  return or_null(value);
}
template <typename T>
Json value_json(const T& value) {
  return value;
}

/// Returns true if a field is unknown although number_json() alone cannot tell. Unknown text fields
/// are empty.
template <typename Member>
bool is_unknown(const Device& device, std::string_view name, const Member& member) {
  if constexpr (std::is_same_v<Member, std::string> || std::is_enum_v<Member>) return false;
  // If another tuner named the device, only its name is known.
  if (device.kind == DeviceKind::gpu && device.sm_count == 0) return true;
  return (name.ends_with("_khz") || name == "memory_bus_bits") && member == Member();
}
template <typename Member>
bool is_unknown(const Resources& resources, std::string_view name, const Member& member) {
  if (!resources.known()) return name != "static_shared_bytes";
  return name == "max_threads_per_block" && member == Member();
}
template <typename Member>
bool is_unknown(const Measurement& measured, std::string_view name, const Member& member) {
  if (name == "median_ms") return !measured.has_median();
  return (name == "sm_clock_mhz" || name == "sample_count") && member == Member();
}
template <typename Member>
bool is_unknown(const Result& result, std::string_view name, const Member& member) {
  if (name.starts_with("max_")) return !result.timed();
  return name.ends_with("_ms") && member == Member();
}
template <typename T, typename Member>
bool is_unknown(const T&, std::string_view, const Member&) {
  return false;
}

/// Returns an object with a member for each field.
template <typename T>
Json fields_json(const T& value) {
  Json object = Json::object();
  visit_fields(value, [&](const char* name, const auto& member) {
    object[name] = is_unknown(value, name, member) ? Json(nullptr) : value_json(member);
  });
  return object;
}

/// Returns the object with every member null.
Json unknown_json(Json object) {
  for (auto& member : object) member = nullptr;
  return object;
}

Json cpu_check_json(const CpuCheck& check) {
  Json json = {{"kernel", check.kernel},
               {"configuration", bindings_json(check.configuration)},
               {"problem", bindings_json(check.problem)}};
  if (!check.not_run.empty()) {
    json["not_run"] = check.not_run;
  } else if (check.found) {
    json["found"] = {{"status", to_text(check.found->status)},
                     {"reason", check.found->reason},
                     {"detail", check.found->detail}};
  } else {
    json["blocks"] = check.blocks;
    json["of_blocks"] = check.blocks_total;
  }
  return json;
}

CpuCheck cpu_check_from(const Json& json) {
  CpuCheck check;
  check.kernel = json.at("kernel").get<std::string>();
  check.configuration = bindings_from(json.at("configuration"));
  check.problem = bindings_from(json.at("problem"));
  check.not_run = json.value("not_run", "");
  check.blocks = json.value("blocks", std::uint64_t{0});
  check.blocks_total = json.value("of_blocks", std::uint64_t{0});
  if (const auto found = json.find("found"); found != json.end()) {
    check.found = Failure{.status = parse_status(found->at("status").get<std::string>()),
                          .reason = found->at("reason").get<std::string>(),
                          .detail = found->at("detail").get<std::string>()};
  }
  return check;
}

std::vector<ComparedOutput> compared_from(const Json& array) {
  std::vector<ComparedOutput> compared;
  for (const Json& one : array) {
    compared.push_back({.problem = bindings_from(one.at("problem")),
                        .output = one.at("output").get<std::string>(),
                        .with = parse_compared_with(one.at("with").get<std::string>()),
                        .compared = one.at("compared").get<std::uint64_t>(),
                        .elements_total = one.at("of").get<std::uint64_t>(),
                        .only_sum = one.value("only_sum", false)});
    if (compared.back().compared > compared.back().elements_total) {
      throw InputError("more elements of " + compared.back().output + " were compared than it has");
    }
  }
  return compared;
}

// These functions read both kinds of parsed JSON in the same way.

const Json& required_member(const Json& object, const char* name) { return object.at(name); }
JsonElement required_member(JsonElement object, const char* name) { return object.at_key(name); }

/// Returns something like a pointer, null if the object has no such member.
const Json* find_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}
std::optional<JsonElement> find_member(JsonElement object, const char* name) {
  simdjson::simdjson_result<JsonElement> found = object.at_key(name);
  if (found.error() == simdjson::NO_SUCH_FIELD) return std::nullopt;
  return found.value();
}

template <typename T>
void assign(const Json& json, T& value) {
  json.get_to(value);
}
template <typename T>
void assign(JsonElement element, T& value) {
  value = static_cast<T>(
      element.get<std::conditional_t<std::is_same_v<T, int>, std::int64_t, T>>().value());
}
void assign(JsonElement element, std::string& text) { text = std::string_view(element); }
void assign(JsonElement element, std::vector<std::string>& words) {
  for (const JsonElement word : simdjson::dom::array(element)) {
    words.emplace_back(std::string_view(word));
  }
}
void assign(JsonElement element, Dim3& size) {
  const simdjson::dom::array array = element;
  for (std::size_t i = 0; i < size.size(); ++i) size[i] = array.at(i);
}
void assign(JsonElement element, Facts& facts) {
  for (const auto& [name, value] : simdjson::dom::object(element)) facts.emplace(name, value);
}

/// Reads the fields that the object has. A missing field was added to the format after the object
/// was written.
template <typename Object, typename T>
void read_fields(const Object& object, T& value) {
  visit_fields(value, [&](const char* name, auto& member) {
    using Member = std::remove_reference_t<decltype(member)>;
    const auto found = find_member(object, name);
    if (!found) return;
    if (found->is_null()) {
      // Fields that are 0 when unknown stay 0.
      const bool has_zero = is_unknown(value, name, Member());
      if constexpr (std::is_same_v<Member, double>) {
        if (!has_zero) member = std::numeric_limits<double>::quiet_NaN();
      }
      return;
    }
    if constexpr (std::is_same_v<Member, std::optional<std::int64_t>>) {
      assign(*found, member.emplace());
    } else if constexpr (std::is_enum_v<Member>) {
      member = parse_word(found->template get<std::string>(), Member());
    } else if constexpr (std::is_same_v<Member, std::vector<ComparedOutput>>) {
      member = compared_from(*found);
    } else if constexpr (std::is_same_v<Member, FinalsFacts>) {
      member = finals_from(*found);
    } else {
      assign(*found, member);
    }
  });
}

template <typename Object>
LaunchResult any_launch_from(const Object& object) {
  LaunchResult launch;
  required_member(object, "entry");  // Throws if this is not a launch at all.
  read_fields(object, launch.shape);
  read_fields(required_member(object, "resources"), launch.resources);
  read_fields(required_member(object, "occupancy"), launch.occupancy);
  if (const auto time = find_member(object, "time_ms")) assign(*time, launch.time_ms);
  if (const auto facts = find_member(object, "facts")) assign(*facts, launch.facts);
  return launch;
}

Json time_json(const Result& result) {
  if (!result.timed()) return nullptr;
  Measurement measured = result.measurement;
  measured.sample_count = std::max(measured.sample_count, std::ssize(measured.samples_ms));
  Json time = fields_json(measured);
  time["samples"] = std::move(time["sample_count"]);
  time.erase("sample_count");
  return time;
}

Measurement time_from(const Json& time) {
  Measurement measured;
  read_fields(time, measured);
  if (!time.contains("median_ms") || time["median_ms"].is_null()) {
    measured = told_time(time.at("mean_ms").get<double>());
  }
  const auto samples = time.find("samples");
  if (samples != time.end() && samples->is_number_integer()) {
    measured.sample_count = samples->get<std::int64_t>();
  }
  return measured;
}

Json metrics_json(const Result& result) {
  Json object = Json::object();
  for (const auto& [name, work] : result.metrics) object[name] = number_json(work);
  return object;
}

/// Returns work per time for the metrics that have a usual unit.
Json throughput_json(const Result& result) {
  Json object = Json::object();
  if (!result.timed()) return object;
  const auto add = [&](const char* metric, const char* name) {
    if (result.metrics.contains(metric)) object[name] = number_json(giga_per_s(result, metric));
  };
  add("flops", "gflop_per_s");
  add("bytes", "gb_per_s");
  return object;
}

/// Parses text like `9.0`.
void read_capability(const Json& json, Device& device) {
  const auto found = json.find("compute_capability");
  if (found == json.end() || found->is_null()) return;
  const auto text = found->get<std::string>();
  const char* const end = text.data() + text.size();
  const char* const point = std::from_chars(text.data(), end, device.compute_major).ptr;
  if (point != end) std::from_chars(point + 1, end, device.compute_minor);
}

/// Parses the format of utc_text(); -1 for anything else.
double unix_from(const std::string& text) {
  std::tm parts{};
  const char* const rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return rest != nullptr && *rest == '\0' ? static_cast<double>(timegm(&parts)) : -1;
}

Json origin_json(const std::optional<Origin>& origin) {
  if (!origin) return nullptr;
  return {{"format", origin->format},
          {"file", origin->file},
          {"sha256", origin->file_sha256},
          {"tool", origin->tool}};
}

/// Reads what origin_json() writes; nullopt for results that were not imported.
std::optional<Origin> origin_from(const Json& provenance, const Device& device) {
  const auto found = provenance.find("imported_from");
  if (found == provenance.end() || found->is_null()) return std::nullopt;
  return Origin{.format = found->value("format", ""),
                .file = found->value("file", ""),
                .file_sha256 = found->value("sha256", ""),
                .tool = found->value("tool", ""),
                .device = device.name};
}

/// Returns the text of a member; empty if it is missing or null.
std::string word_or_empty(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? std::string() : found->get<std::string>();
}

std::string on_one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Writes a line for each member. Below the first level, an object or array goes on one line if it
/// fits and has no nested members.
void lay_out(const Json& json, std::size_t indent, std::string& text) {
  constexpr std::size_t kColumns = 100;
  const bool is_flat = indent > 0 && std::ranges::none_of(json, [](const Json& member) {
                         return member.is_structured() && !member.empty();
                       });
  if (!json.is_structured() || is_flat) {
    const std::string line = on_one_line(json);
    if (!json.is_structured() || line.size() + indent < kColumns) {
      text += line;
      return;
    }
  }
  const std::string pad(indent + 2, ' ');
  const char* separator = "\n";
  text += json.is_object() ? "{" : "[";
  for (const auto& [key, member] : json.items()) {
    text += separator + pad;
    if (json.is_object()) text += on_one_line(key) + ": ";
    lay_out(member, indent + 2, text);
    separator = ",\n";
  }
  text += "\n" + std::string(indent, ' ') + (json.is_object() ? "}" : "]");
}

}  // namespace

DeviceKind parse_word(const std::string& word, DeviceKind) { return parse_device_kind(word); }
Status parse_word(const std::string& word, Status) {
  return word == to_text(Status::fits) ? Status::fits : parse_status(word);
}
Stage parse_word(const std::string& word, Stage) { return parse_stage(word); }
ComparedWith parse_word(const std::string& word, ComparedWith) {
  return parse_compared_with(word.substr(0, word.find(" (")));
}

Json slowdown_json(const std::optional<Slowdown>& slower) {
  if (!slower) return nullptr;
  return {{"percent", number_json(slower->percent)},
          {"low_percent", number_json(slower->low_percent)},
          {"high_percent", number_json(slower->high_percent)}};
}

Json finals_json(const FinalsFacts& facts) {
  if (facts == FinalsFacts()) return nullptr;
  Json json = {{"noise_percent", or_null(facts.noise_percent)},
               {"default_slower", slowdown_json(facts.default_slower)},
               {"cpu_checks", list_json(facts.cpu_checks, cpu_check_json)},
               {"searched", nullptr}};
  if (const auto& searched = facts.searched) {
    json["searched"] = {
        {"percent", searched->percent},     {"chance_of_better", searched->chance_of_better},
        {"evaluated", searched->evaluated}, {"valid", searched->valid},
        {"elsewhere", searched->elsewhere}, {"kernels_sha256", searched->kernels_sha256}};
  }
  return json;
}

FinalsFacts finals_from(const Json& json) {
  FinalsFacts facts;
  const auto number = [](const Json& value) {
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  };
  if (!json.at("noise_percent").is_null()) {
    facts.noise_percent = json.at("noise_percent").get<double>();
  }
  if (const Json& slower = json.at("default_slower"); !slower.is_null()) {
    facts.default_slower = {.percent = number(slower.at("percent")),
                            .low_percent = number(slower.at("low_percent")),
                            .high_percent = number(slower.at("high_percent"))};
  }
  for (const Json& check : json.at("cpu_checks")) facts.cpu_checks.push_back(cpu_check_from(check));
  if (const auto searched = json.find("searched"); searched != json.end() && !searched->is_null()) {
    facts.searched = {.percent = searched->at("percent").get<double>(),
                      .chance_of_better = searched->at("chance_of_better").get<double>(),
                      .evaluated = searched->at("evaluated").get<std::uint64_t>(),
                      .valid = searched->at("valid").get<std::uint64_t>(),
                      .elsewhere = searched->at("elsewhere").get<std::uint64_t>(),
                      .kernels_sha256 = searched->at("kernels_sha256").get<std::string>()};
  }
  return facts;
}

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json bindings_json(const Bindings& bindings) {
  Json object = Json::object();
  for (const auto& [name, value] : bindings) {
    std::visit([&, &key = name](const auto& held) { object[key] = held; }, value);
  }
  return object;
}

Json device_json(const Device& device) {
  Json object = fields_json(device);
  object.erase("compute_major");
  object.erase("compute_minor");
  const bool has_capability = device.kind == DeviceKind::cpu || device.compute_major > 0;
  object["compute_capability"] = has_capability ? Json(capability_text(device)) : Json(nullptr);
  object["model"] = device_model_key(device);
  return object;
}

Json launch_json(const LaunchResult& launch) {
  Json object = fields_json(launch.shape);
  object["resources"] = fields_json(launch.resources);
  const bool has_occupancy = launch.resources.known() || launch.occupancy.percent > 0;
  Json occupancy = occupancy_json(launch.occupancy);
  object["occupancy"] = has_occupancy ? std::move(occupancy) : unknown_json(std::move(occupancy));
  if (launch.time_ms > 0) object["time_ms"] = launch.time_ms;
  if (!launch.facts.empty()) object["facts"] = launch.facts;
  return object;
}

Json occupancy_json(const Occupancy& occupancy) {
  Json object = fields_json(occupancy);
  object["limiters"] = occupancy.limiters();
  return object;
}

Json result_json(const Result& result) {
  Json object = {{"kernel", result.kernel},
                 {"problem", bindings_json(result.problem)},
                 {"configuration", bindings_json(result.configuration)}};
  object.update(fields_json(result));
  object["compared_with"] = to_text(result.coverage());
  object["unit"] = result.unit;
  object["launches"] = list_json(result.launches, launch_json);
  object["time"] = time_json(result);
  object["metrics"] = metrics_json(result);
  object["throughput"] = throughput_json(result);
  return object;
}

Json stored_json(const StoredResult& stored) {
  Json object = {{"space", stored.space}};
  object.update(result_json(stored.result));
  object["device"] = device_json(stored.device);
  object["provenance"] = {{"kernel_hash", stored.kernel_hash},
                          {"stale", stored.stale},
                          {"stale_because", or_null(stored.stale_because)},
                          {"driver", stored.device.driver_version},
                          {"runtime", stored.device.runtime_version},
                          {"compiler", stored.compiler},
                          {"tool_version", stored.tool_version},
                          {"host", stored.host},
                          {"run", stored.run_id},
                          {"imported_from", origin_json(stored.origin)},
                          {"shared_from", or_null(stored.shared_from)},
                          {"measured_utc", or_null(utc_text(stored.at_unix))}};
  if (is_of_another_tuner(stored)) {
    for (const char* untold : {"is_default", "is_reference"}) object[untold] = nullptr;
    if (!object["time"].is_null()) {
      for (const char* untold : {"discarded", "throttled"}) object["time"][untold] = nullptr;
    }
  }
  return object;
}

Bindings bindings_from(const Json& json) {
  Bindings bindings;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) {
      bindings[name] = value.get<std::string>();
    } else {
      bindings[name] = value.get<std::int64_t>();
    }
  }
  return bindings;
}

Bindings read_bindings(JsonElement element) {
  Bindings bindings;
  for (const auto& [name, value] : simdjson::dom::object(element)) {
    Value& held = bindings[std::string(name)];
    if (value.is_string()) {
      held = std::string(std::string_view(value));
    } else {
      held = std::int64_t(value);
    }
  }
  return bindings;
}

LaunchResult launch_from(const Json& json) { return any_launch_from(json); }

LaunchResult read_launch(JsonElement element) { return any_launch_from(element); }

Device device_from(const Json& json) {
  Device device;
  read_fields(json, device);
  read_capability(json, device);
  return device;
}

Result result_from(const Json& json) {
  Result result;
  result.kernel = json.at("kernel").get<std::string>();
  result.problem = bindings_from(json.at("problem"));
  result.configuration = bindings_from(json.at("configuration"));
  read_fields(json, result);
  const Json& time = json.at("time");
  if (result.timed()) {
    result.measurement = time_from(time);
  } else if (!time.is_null()) {
    throw InputError("a result that is not timed has a time");
  }
  for (const Json& launch : json.at("launches")) result.launches.push_back(launch_from(launch));
  for (const auto& [name, work] : json.at("metrics").items()) {
    if (work.is_number()) result.metrics[name] = work.get<double>();
  }
  result.unit = json.value("unit", "");
  return result;
}

StoredResult stored_from(const Json& json) {
  StoredResult stored;
  stored.space = json.at("space").get<std::string>();
  stored.result = result_from(json);
  if (stored.result.status == Status::fits) throw InputError("what a dry run finds is not stored");
  stored.device = device_from(json.at("device"));
  const Json& provenance = json.at("provenance");
  stored.kernel_hash = word_or_empty(provenance, "kernel_hash");
  stored.stale = provenance.value("stale", false);
  stored.device.driver_version = word_or_empty(provenance, "driver");
  stored.device.runtime_version = word_or_empty(provenance, "runtime");
  stored.compiler = word_or_empty(provenance, "compiler");
  stored.tool_version = word_or_empty(provenance, "tool_version");
  stored.host = word_or_empty(provenance, "host");
  stored.run_id = word_or_empty(provenance, "run");
  stored.at_unix = unix_from(word_or_empty(provenance, "measured_utc"));
  stored.origin = origin_from(provenance, stored.device);
  forget_untold(stored);
  return stored;
}

namespace {

/// Returns the results of a group that has a table of their times.
Json results_of_table(const Json& group) {
  Json results = Json::array();
  for_each_time(group, "", [&](std::size_t configuration, std::size_t problem, double mean_ms) {
    results.push_back({{"configuration", group["configurations"][configuration]},
                       {"problem", group["problems"][problem]},
                       {"status", "correct"},
                       {"stage", "race"},
                       {"compared_with", group.at("compared_with")},
                       {"time", {{"median_ms", nullptr}, {"mean_ms", mean_ms}}},
                       {"metrics", Json::object()},
                       {"measured_utc", group.at("measured_utc")}});
  });
  return results;
}

}  // namespace

void for_each_time(const Json& group, const std::string& where,
                   const std::function<void(std::size_t, std::size_t, double)>& take) {
  const auto list = [&](const char* name) -> const Json& {
    const bool is_there = group.contains(name) && group[name].is_array();
    if (!is_there) throw InputError(where + "/" + name + " is not an array");
    return group[name];
  };
  const std::size_t problems = list("problems").size();
  const Json& times = list("mean_ms");
  for (std::size_t i = 0; i < list("configurations").size(); ++i) {
    const std::string at = where + "/mean_ms/" + std::to_string(i);
    if (i >= times.size() || !times[i].is_array() || times[i].size() != problems) {
      throw InputError(at + " has not a time or null for each problem");
    }
    for (std::size_t j = 0; j < problems; ++j) {
      const Json& ms = times[i][j];
      if (ms.is_null()) continue;
      if (!ms.is_number()) throw InputError(at + "/" + std::to_string(j) + " is not a number");
      take(i, j, ms.get<double>());
    }
  }
}

std::vector<Json> entries_of(Json entry) {
  std::vector<Json> entries;
  if (entry.is_object() && entry.contains("mean_ms")) {
    entry["results"] = results_of_table(entry);
    for (const char* its :
         {"configurations", "problems", "mean_ms", "compared_with", "measured_utc"}) {
      entry.erase(its);
    }
  }
  if (!entry.is_object() || !entry.contains("results")) {
    entries.push_back(std::move(entry));
    return entries;
  }
  const Json results = std::move(entry.at("results"));
  entry.erase("results");
  entry["launches"] = Json::array();
  for (const Json& result : results) {
    Json& one = entries.emplace_back(entry);
    one.update(result);
    one["provenance"]["measured_utc"] = result.at("measured_utc");
  }
  return entries;
}

std::string document_text(const char* format, int version, const Json& members) {
  Json document = {{"format", format}, {"version", version}};
  document.update(members);
  std::string text;
  lay_out(document, 0, text);
  return with_controls_escaped(text) + "\n";
}

std::string ListDocument::begin(const char* format, int version, const std::string& name) {
  const std::string whole = document_text(format, version, {{name, Json::array()}});
  return whole.substr(0, whole.rfind(']'));
}

std::string ListDocument::next(const Json& element) {
  std::string text = is_empty_ ? "\n    " : ",\n    ";
  is_empty_ = false;
  lay_out(element, 4, text);
  return with_controls_escaped(text);
}

std::string ListDocument::end() const { return is_empty_ ? "]\n}\n" : "\n  ]\n}\n"; }

}  // namespace smemtune::db
