#include "db/recording_json.h"

#include "tuner/core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace smemtune::db {

namespace {

using Json = nlohmann::ordered_json;
using Evaluation = Recording::Evaluation;

[[noreturn]] void fail(const Recording& recording, const std::string& what) {
  throw InputError(recording.file.string() + ": " + what);
}

// As tuners in Python write them.
Value value_of(const Json& json) {
  if (json.is_boolean()) return std::int64_t{json.get<bool>() ? 1 : 0};
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) {
    const auto number = json.get<double>();
    if (std::trunc(number) == number && std::abs(number) < 1e15) {
      return static_cast<std::int64_t>(number);
    }
  }
  return json.is_string() ? json.get<std::string>() : json.dump();
}

double number_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::vector<double> positive_numbers(const Json& list, double scale) {
  std::vector<double> numbers;
  if (!list.is_array()) return numbers;
  for (const Json& one : list) {
    const double number = one.is_number() ? one.get<double>() * scale : 0;
    if (number > 0 && std::isfinite(number)) numbers.push_back(number);
  }
  return numbers;
}

void set_time(Evaluation& evaluation, double time_ms, const std::vector<double>& samples_ms) {
  evaluation.time_ms = time_ms;
  evaluation.result.stage = Stage::screen;
  if (samples_ms.empty()) {
    evaluation.result.measurement = summarize(std::array{time_ms});
  } else {
    evaluation.result.measurement = summarize(samples_ms);
  }
}

void set_failure(Evaluation& evaluation, Status status, const std::string& word) {
  evaluation.result.status = status;
  evaluation.result.reason = "recorded";
  evaluation.result.detail = word;
}

/// Kernel Tuner's words for what failed; anything else that is no time is an error at run time.
Status status_of(std::string_view word) {
  if (word == "InvalidConfig") return Status::constraints;
  if (word == "CompilationFailedConfig") return Status::compile;
  return Status::runtime;
}

Configuration configuration_of(const Recording& recording, const Json& object) {
  Configuration configuration;
  for (const Parameter& parameter : recording.parameters) {
    const auto value = object.find(parameter.name);
    if (value == object.end()) fail(recording, "a result has no \"" + parameter.name + "\"");
    configuration.emplace(parameter.name, value_of(*value));
  }
  return configuration;
}

/// A value that the file's header does not list is one all the same.
void note_values(const Configuration& configuration, std::vector<Parameter>& parameters) {
  for (Parameter& parameter : parameters) {
    const Value& value = configuration.at(parameter.name);
    if (std::ranges::find(parameter.values, value) == parameter.values.end()) {
      parameter.values.push_back(value);
    }
  }
}

Evaluation cached(const Recording& recording, const Json& entry) {
  Evaluation evaluation;
  evaluation.result.kernel = recording.kernel;
  evaluation.result.configuration = configuration_of(recording, entry);
  evaluation.result.compile_ms = number_of(entry, "compile_time");
  evaluation.result.verify_ms = number_of(entry, "verification_time");
  evaluation.device_ms = number_of(entry, "benchmark_time") + evaluation.result.verify_ms;
  const auto time = entry.find("time");
  const auto error = entry.find("__error__");
  const Json& said = error != entry.end() ? *error : time != entry.end() ? *time : entry;
  // Old files have 1e20 for what failed.
  constexpr double kNoTime_ms = 1e19;
  if (said.is_number() && said.get<double>() > 0 && said.get<double>() < kNoTime_ms) {
    const auto times = entry.find("times");
    const std::vector<double> samples_ms =
        times != entry.end() ? positive_numbers(*times, 1) : std::vector<double>{};
    set_time(evaluation, said.get<double>(), samples_ms);
  } else {
    const std::string word = said.is_string() ? said.get<std::string>() : "";
    set_failure(evaluation, status_of(word), word);
  }
  return evaluation;
}

std::string problem_of(const Json& size) {
  if (!size.is_array()) return size.is_string() ? size.get<std::string>() : size.dump();
  std::string text;
  for (const Json& one : size) {
    text += (text.empty() ? "" : "x") + (one.is_string() ? one.get<std::string>() : one.dump());
  }
  return text;
}

void read_cache(const Json& root, Recording& recording) {
  recording.device = root.value("device_name", "");
  recording.kernel = root.value("kernel_name", "");
  if (root.contains("problem_size")) recording.problem = problem_of(root["problem_size"]);
  const auto keys = root.find("tune_params_keys");
  const auto values = root.find("tune_params");
  if (keys == root.end() || !keys->is_array() || values == root.end() || !values->is_object()) {
    fail(recording, "a Kernel Tuner cache without \"tune_params_keys\" and \"tune_params\"");
  }
  for (const Json& name : *keys) {
    Parameter parameter = {.name = name.is_string() ? name.get<std::string>() : "", .values = {}};
    const auto list = values->find(parameter.name);
    if (list != values->end() && list->is_array()) {
      for (const Json& value : *list) parameter.values.push_back(value_of(value));
    }
    recording.parameters.push_back(std::move(parameter));
  }
  for (const auto& [name, entry] : root["cache"].items()) {
    if (!entry.is_object())
      fail(recording, "\"cache\" holds something that is not a result at \"" + name + "\"");
    recording.evaluations.push_back(cached(recording, entry));
    note_values(recording.evaluations.back().result.configuration, recording.parameters);
  }
}

/// Milliseconds in T4's unit of time, which Kernel Tuner misspells.
double unit_ms(const Recording& recording, const Json& root) {
  const std::string unit = root.contains("metadata")
                               ? root["metadata"].value("timeunit", "milliseconds")
                               : "milliseconds";
  if (unit.starts_with("mil")) return 1;
  if (unit == "microseconds") return 1e-3;
  if (unit == "nanoseconds") return 1e-6;
  if (unit == "seconds") return 1e3;
  fail(recording, "\"timeunit\" is \"" + unit +
                      "\"; milliseconds are known, and so are seconds, "
                      "microseconds and nanoseconds");
}

std::optional<double> measured_time(const Json& result) {
  const auto measurements = result.find("measurements");
  if (measurements == result.end() || !measurements->is_array()) return std::nullopt;
  for (const Json& one : *measurements) {
    if (one.value("name", "") != "time" || !one.contains("value")) continue;
    if (one["value"].is_number()) return one["value"].get<double>();
  }
  return std::nullopt;
}

Evaluation t4_evaluation(const Recording& recording, const Json& json, double scale) {
  Evaluation evaluation;
  evaluation.result.configuration = configuration_of(recording, json["configuration"]);
  const std::string word = json.value("invalidity", "correct");
  const Json times = json.value("times", Json::object());
  const std::vector<double> samples_ms =
      positive_numbers(times.value("runtimes", Json::array()), scale);
  evaluation.result.compile_ms =
      scale * (number_of(times, "compilation") + number_of(times, "compilation_time"));
  evaluation.result.verify_ms = scale * number_of(times, "validation");
  const double samples_sum_ms = std::accumulate(samples_ms.begin(), samples_ms.end(), 0.0);
  evaluation.device_ms =
      evaluation.result.verify_ms + std::max(scale * number_of(times, "benchmark"), samples_sum_ms);
  std::optional<double> time = measured_time(json);
  if (time) *time *= scale;
  if (!time && !samples_ms.empty()) time = samples_sum_ms / static_cast<double>(samples_ms.size());
  if (word == "correct" && time && *time > 0) {
    set_time(evaluation, *time, samples_ms);
    return evaluation;
  }
  Status status = Status::runtime;
  try {
    status = parse_status(word);
  } catch (const InputError& error) {
    fail(recording, std::string("\"invalidity\": ") + error.what());
  }
  set_failure(evaluation, status == Status::correct ? Status::runtime : status, word);
  return evaluation;
}

void read_t4(const Json& root, Recording& recording) {
  const double scale = unit_ms(recording, root);
  for (const Json& json : root["results"]) {
    if (!json.is_object() || !json.contains("configuration") ||
        !json["configuration"].is_object()) {
      fail(recording, "\"results\" holds something without a \"configuration\"");
    }
    if (recording.parameters.empty()) {
      for (const auto& [name, value] : json["configuration"].items()) {
        recording.parameters.push_back({.name = name, .values = {}});
      }
    }
    recording.evaluations.push_back(t4_evaluation(recording, json, scale));
    note_values(recording.evaluations.back().result.configuration, recording.parameters);
  }
  // In no file's order, so in that of their size.
  for (Parameter& parameter : recording.parameters) std::ranges::sort(parameter.values);
}

/// What a process that died while it appended to a cache file left, closed after its last whole
/// entry. Entries stand on lines of their own. Empty: there is none.
std::string mended(const std::string& text) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t line = text.rfind('\n', end - 1);
    const std::size_t begin = line == std::string::npos ? 0 : line + 1;
    std::string_view last = std::string_view(text).substr(begin, end - begin);
    while (!last.empty() && (last.back() == ',' || last.back() == ' ' || last.back() == '\r')) {
      last.remove_suffix(1);
    }
    if (Json::accept("{" + std::string(last) + "}") && !last.empty()) {
      return text.substr(0, begin) + std::string(last) + "}}";
    }
    if (last.ends_with("\"cache\": {")) return text.substr(0, begin) + std::string(last) + "}}";
    if (line == std::string::npos) break;
    end = line;
  }
  return "";
}

}  // namespace

Recording read_recording_json(const std::filesystem::path& file, const std::string& text,
                              bool cut_off) {
  Recording recording;
  recording.file = file;
  recording.cut_off = cut_off;
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::string whole = mended(text);
    root = Json::parse(whole, nullptr, /*allow_exceptions=*/false);
    if (root.is_discarded()) fail(recording, error.what());
    recording.cut_off = true;
  }
  try {
    if (root.is_object() && root.contains("cache") && root["cache"].is_object()) {
      read_cache(root, recording);
    } else if (root.is_object() && root.contains("results") && root["results"].is_array()) {
      read_t4(root, recording);
    } else {
      fail(recording,
           "neither a Kernel Tuner cache file (\"cache\"), nor T4 (\"results\"), nor a database of "
           "smemtune");
    }
  } catch (const Json::exception& error) {
    fail(recording, error.what());
  }
  return recording;
}

}  // namespace smemtune::db
