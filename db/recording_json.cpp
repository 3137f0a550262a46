#include "db/recording_json.h"

#include "db/json_entries.h"
#include "tuner/core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune::db {

namespace {

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
  if (json.is_string()) return json.get<std::string>();
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::ranges::replace(text, ',', ' ');  // A comma ends a value in a configuration's key.
  return text;
}

/// Seconds since 1970 of `2023-12-22 09:54:05.502007+00:00`; -1 where it is something else.
double moment_of(const Json& object) {
  const auto found = object.find("timestamp");
  if (found == object.end() || !found->is_string()) return -1;
  std::tm parts{};
  const std::string text = found->get<std::string>();
  const char* rest = strptime(text.c_str(), "%Y-%m-%d", &parts);
  if (rest != nullptr && (*rest == ' ' || *rest == 'T')) {
    rest = strptime(rest + 1, "%H:%M:%S", &parts);
  }
  if (rest == nullptr) return -1;
  auto seconds = static_cast<double>(timegm(&parts));
  if (*rest == '.') {
    char* end = nullptr;
    seconds += std::strtod(rest, &end);
    rest = end;
  }
  int hours = 0;
  int minutes = 0;
  if (std::sscanf(rest, "%3d:%2d", &hours, &minutes) == 2) {
    seconds -= 3600.0 * hours + (hours < 0 ? -60.0 : 60.0) * minutes;
  }
  return seconds;
}

double number_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::vector<double> positive_numbers(const Json& list) {
  std::vector<double> numbers;
  if (!list.is_array()) return numbers;
  for (const Json& one : list) {
    const double number = one.is_number() ? one.get<double>() : 0;
    if (number > 0 && std::isfinite(number)) numbers.push_back(number);
  }
  return numbers;
}

void set_time(Evaluation& evaluation, double time_ms, const std::vector<double>& samples_ms) {
  evaluation.time_ms = time_ms;
  evaluation.result.stage = Stage::screen;
  evaluation.result.measurement =
      samples_ms.empty() ? summarize(std::array{time_ms}) : summarize(samples_ms);
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
void note_values(const std::vector<Evaluation>& evaluations, std::vector<Parameter>& parameters) {
  std::map<std::string, std::set<Value>> known;  // In the order of a configuration.
  for (const Parameter& parameter : parameters) {
    known[parameter.name].insert(parameter.values.begin(), parameter.values.end());
  }
  for (const Evaluation& one : evaluations) {
    auto its = known.begin();
    for (const auto& [name, value] : one.result.configuration) {
      if (!(its++)->second.insert(value).second) continue;
      std::ranges::find(parameters, name, &Parameter::name)->values.push_back(value);
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
  evaluation.at_unix = moment_of(entry);
  const auto time = entry.find("time");
  const auto error = entry.find("__error__");
  const Json& said = error != entry.end() ? *error : time != entry.end() ? *time : entry;
  // Old files have 1e20 for what failed.
  constexpr double kNoTime_ms = 1e19;
  if (said.is_number() && said.get<double>() > 0 && said.get<double>() < kNoTime_ms) {
    const auto times = entry.find("times");
    const std::vector<double> samples_ms =
        times != entry.end() ? positive_numbers(*times) : std::vector<double>{};
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

/// The names of the parameters, their values, and what was tuned.
void read_cache_head(const Json& head, Recording& recording) {
  recording.format = "kernel-tuner";
  recording.tool = "Kernel Tuner";
  const std::string version = head.value("kernel_tuner_version", "");
  if (!version.empty()) recording.tool += " " + version;
  recording.device = head.value("device_name", "");
  recording.kernel = head.value("kernel_name", "");
  if (head.contains("problem_size")) recording.problem = problem_of(head["problem_size"]);
  const auto keys = head.find("tune_params_keys");
  const auto values = head.find("tune_params");
  if (keys == head.end() || !keys->is_array() || values == head.end() || !values->is_object()) {
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
}

void add_cached(const Json& entry, Recording& recording) {
  if (!entry.is_object()) fail(recording, "\"cache\" holds something that is not a result");
  recording.evaluations.push_back(cached(recording, entry));
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

/// In the file's unit of time.
Evaluation t4_evaluation(const Recording& recording, const Json& json) {
  Evaluation evaluation;
  evaluation.result.configuration = configuration_of(recording, json["configuration"]);
  const std::string word = json.value("invalidity", "correct");
  const Json times = json.value("times", Json::object());
  const std::vector<double> samples_ms = positive_numbers(times.value("runtimes", Json::array()));
  evaluation.result.compile_ms =
      number_of(times, "compilation") + number_of(times, "compilation_time");
  evaluation.result.verify_ms = number_of(times, "validation");
  evaluation.at_unix = moment_of(json);
  const double samples_sum_ms = std::accumulate(samples_ms.begin(), samples_ms.end(), 0.0);
  evaluation.device_ms =
      evaluation.result.verify_ms + std::max(number_of(times, "benchmark"), samples_sum_ms);
  std::optional<double> time = measured_time(json);
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

void add_t4(const Json& json, Recording& recording) {
  if (!json.is_object() || !json.contains("configuration") || !json["configuration"].is_object()) {
    fail(recording, "\"results\" holds something without a \"configuration\"");
  }
  if (recording.parameters.empty()) {
    for (const auto& [name, value] : json["configuration"].items()) {
      recording.parameters.push_back({.name = name, .values = {}});
    }
  }
  recording.evaluations.push_back(t4_evaluation(recording, json));
}

/// Makes milliseconds of the file's unit of time, which may stand at its end.
void scale_times(double unit_ms, Recording& recording) {
  if (unit_ms == 1) return;
  for (Evaluation& evaluation : recording.evaluations) {
    Result& result = evaluation.result;
    result.compile_ms *= unit_ms;
    result.verify_ms *= unit_ms;
    evaluation.device_ms *= unit_ms;
    if (!result.timed()) continue;
    std::vector<double> samples_ms = result.measurement.samples_ms;
    for (double& sample : samples_ms) sample *= unit_ms;
    set_time(evaluation, evaluation.time_ms * unit_ms, samples_ms);
  }
}

}  // namespace

Recording read_recording_json(const std::filesystem::path& file, std::string_view text,
                              bool cut_off) {
  Recording recording;
  recording.file = file;
  std::vector<Json> early;  // Entries of a cache file whose head comes after them.
  const auto take = [&](const Json& head, std::string_view list, Json&& entry) {
    if (list == "results") {
      add_t4(entry, recording);
    } else if (list == "cache" && head.contains("tune_params_keys") &&
               head.contains("tune_params")) {
      if (recording.format.empty()) read_cache_head(head, recording);
      add_cached(entry, recording);
    } else if (list == "cache") {
      early.push_back(std::move(entry));
    }
  };
  try {
    const JsonEntries read = read_json_entries(file.string(), text, take);
    recording.cut_off = cut_off || read.cut_off;
    if (read.head.contains("cache")) {
      // What stands behind the results counts as well.
      std::vector<Evaluation> evaluations = std::move(recording.evaluations);
      const bool was_cut_off = recording.cut_off;
      recording = Recording();
      recording.file = file;
      recording.cut_off = was_cut_off;
      read_cache_head(read.head, recording);
      recording.evaluations = std::move(evaluations);
      for (const Json& entry : early) add_cached(entry, recording);
      for (Evaluation& one : recording.evaluations) one.result.kernel = recording.kernel;
    } else if (read.head.contains("results")) {
      recording.format = "t4";
      recording.tool = "T4";
      scale_times(unit_ms(recording, read.head), recording);
    } else {
      fail(recording,
           "neither a Kernel Tuner cache file (\"cache\"), nor T4 (\"results\"), nor a database of "
           "smemtune");
    }
    note_values(recording.evaluations, recording.parameters);
    for (Parameter& parameter : recording.parameters) {
      // T4 has no list of values: in no file's order, so in that of their size.
      if (recording.format == "t4") std::ranges::sort(parameter.values);
    }
  } catch (const Json::exception& error) {
    fail(recording, error.what());
  }
  return recording;
}

}  // namespace smemtune::db
