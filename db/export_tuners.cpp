#include "db/export_tuners.h"

#include "db/export_order.h"
#include "db/json_forms.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace smemtune::db {

namespace {

/// Returns the sizes of a problem that consists only of sizes with the names that `import` gives
/// them; otherwise a text.
Json problem_size(const Problem& problem) {
  Json sizes = Json::array();
  for (const char* axis : {"problem_size_x", "problem_size_y", "problem_size_z"}) {
    const auto found = problem.find(axis);
    if (found == problem.end()) break;
    if (const auto* size = std::get_if<std::int64_t>(&found->second)) sizes.push_back(*size);
  }
  if (!sizes.empty() && sizes.size() == problem.size()) return sizes;
  std::string text = key(problem);
  std::ranges::replace(text, ',', ' ');
  return text;
}

std::string word_of(Status status) {
  if (status == Status::constraints) return "InvalidConfig";
  return status == Status::compile ? "CompilationFailedConfig" : "RuntimeFailedConfig";
}

/// Returns the time that the result was ranked by, which for another tuner's result is its own
/// time.
double ranked_ms(const StoredResult& stored) {
  const Measurement& measured = stored.result.measurement;
  return is_of_another_tuner(stored) ? measured.mean_ms : measured.median_ms;
}

double benchmark_ms(const Measurement& measured) {
  double sum_ms = 0;
  for (const double sample : measured.samples_ms) sum_ms += sample;
  return sum_ms * measured.launches_per_sample;
}

std::string timestamp(const StoredResult& stored) {
  const std::string utc = utc_text(std::max(stored.at_unix, 0.0));
  return utc.substr(0, utc.size() - 1) + "+00:00";
}

Json cache_entry(const StoredResult& stored) {
  const Result& result = stored.result;
  Json entry = bindings_json(result.configuration);
  if (result.timed()) {
    entry["time"] = ranked_ms(stored);
    const std::vector<double>& samples_ms = result.measurement.samples_ms;
    if (!samples_ms.empty()) entry["times"] = samples_ms;
  } else {
    entry["time"] = word_of(result.status);
  }
  entry["compile_time"] = result.compile_ms;
  entry["verification_time"] = result.verify_ms;
  entry["benchmark_time"] = benchmark_ms(result.measurement);
  entry["strategy_time"] = 0;
  entry["framework_time"] = 0;
  entry["timestamp"] = timestamp(stored);
  return entry;
}

/// Returns the JSON as text. Imported strings may not be valid UTF-8.
std::string text_of(const Json& json) {
  return with_controls_escaped(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void export_kernel_tuner(const EachResult& each, const TextSink& out) {
  std::map<std::string, std::set<Value>> values;
  std::optional<StoredResult> first;
  each([&](StoredResult&& stored) {
    for (const auto& [name, value] : stored.result.configuration) values[name].insert(value);
    if (!first) first = std::move(stored);
  });
  Json names = Json::array();
  Json lists = Json::object();
  for (const auto& [name, its] : values) {
    names.push_back(name);
    lists[name] = Json::array();
    for (const Value& value : its) {
      std::visit([&, &list = lists[name]](const auto& held) { list.push_back(held); }, value);
    }
  }
  const Json head = {{"schema_version", "1.1.0"},
                     {"device_name", first->device.name},
                     {"kernel_name", first->result.kernel},
                     {"problem_size", problem_size(first->result.problem)},
                     {"tune_params_keys", std::move(names)},
                     {"tune_params", std::move(lists)},
                     {"objective", "time"}};
  // The same layout as Kernel Tuner's, one line per entry, so that Kernel Tuner can append to it.
  std::string text = text_of(head);
  text.back() = ',';
  out(text + "\n\"cache\": {");
  const char* separator = "\n";
  each([&](const StoredResult& stored) {
    std::vector<std::string> words;
    for (const auto& [name, its] : values) {
      const auto value = stored.result.configuration.find(name);
      words.push_back(value == stored.result.configuration.end() ? "" : to_text(value->second));
    }
    out(separator + text_of(Json(joined(words, ","))) + ": " + text_of(cache_entry(stored)));
    separator = ",\n";
  });
  out("\n}\n}");
}

void export_t4(const EachResult& each, const TextSink& out) {
  const std::string text = text_of({{"schema_version", "1.0.0"},
                                    {"metadata", {{"timeunit", "milliseconds"}}},
                                    {"results", Json::array()}});
  const std::string end = "]}";
  out(text.substr(0, text.size() - end.size()));
  const char* separator = "";
  each([&](const StoredResult& stored) {
    const Result& result = stored.result;
    Json times = {{"compilation_time", result.compile_ms},
                  {"benchmark", benchmark_ms(result.measurement)},
                  {"framework", 0},
                  {"search_algorithm", 0},
                  {"validation", result.verify_ms}};
    if (!result.measurement.samples_ms.empty()) times["runtimes"] = result.measurement.samples_ms;
    const Json time = result.timed() ? Json(ranked_ms(stored)) : Json(word_of(result.status));
    out(separator +
        text_of({{"timestamp", timestamp(stored)},
                 {"configuration", bindings_json(result.configuration)},
                 {"objectives", {"time"}},
                 {"times", std::move(times)},
                 {"invalidity", to_text(result.status)},
                 {"correctness", result.timed() ? 1 : 0},
                 {"measurements",
                  Json::array({{{"name", "time"}, {"value", time}, {"unit", "ms"}}})}}));
    separator = ",";
  });
  out(end + "\n");
}

}  // namespace smemtune::db
