#include "db/json_entries.h"
#include "db/recording.h"
#include "tuner/core/error.h"
#include "tuner/core/names.h"
#include "tuner/core/text.h"

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

/// Number of evaluations that are passed on together.
constexpr std::size_t kPart = 512;

/// Longer times are not real: it is 30 years, and old cache files contain 1e20 for failures.
constexpr double kNoTime_ms = 1e12;

// Converts a value as tuners in Python write it.
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
  std::ranges::replace(text, ',', ' ');  // A comma would end the value in a configuration's key.
  return text;
}

Value value_of(JsonText text) {
  std::int64_t number = 0;
  if (text.get_int64().get(number) == simdjson::SUCCESS) return number;
  return value_of(whole_json(text));
}

/// Returns the seconds since 1970 for text like `2023-12-22 09:54:05.502007+00:00`; -1 for other
/// text.
double moment_of(const std::string& text) {
  std::tm parts{};
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

/// Returns a number, even if it was written as a string; NaN for anything else.
double any_number(JsonText value) {
  const double number = number_of(value);
  return std::isnan(number) ? number_in<double>(string_of(value)).value_or(number) : number;
}

/// Returns a time; 0 for anything that is not a number.
double time_of(JsonText value) {
  const double ms = any_number(value);
  return std::isfinite(ms) ? ms : 0;
}

std::vector<double> positive_numbers(JsonText list) {
  constexpr std::size_t kMost = 1'000'000;
  constexpr std::size_t kUsual = 32;
  std::vector<double> numbers;
  simdjson::ondemand::array all;
  if (list.get_array().get(all) != simdjson::SUCCESS) return numbers;
  numbers.reserve(kUsual);
  for (auto one : all) {
    const double number = any_number(one.value());
    if (number > 0 && std::isfinite(number)) numbers.push_back(number);
    if (numbers.size() > kMost) throw InputError("more than a million values in one result");
  }
  return numbers;
}

void set_time(Evaluation& evaluation, double time_ms, const std::vector<double>& samples_ms) {
  evaluation.time_ms = time_ms;
  evaluation.result.stage = Stage::screen;
  Measurement& measured = evaluation.result.measurement;
  measured = samples_ms.empty() ? told_time(time_ms) : summarize(samples_ms);
  // The time that its tuner ranked it by, usually the mean of these samples.
  measured.mean_ms = time_ms;
}

void set_failure(Evaluation& evaluation, Status status, const std::string& word) {
  evaluation.result.status = status;
  evaluation.result.reason = "recorded";
  evaluation.result.detail = word;
}

/// Translates Kernel Tuner's words for failures; any other word is an error at run time.
Status status_of(std::string_view word) {
  if (word == "InvalidConfig") return Status::constraints;
  if (word == "CompilationFailedConfig") return Status::compile;
  return Status::runtime;
}

/// Collects a configuration from its members, in any order.
class ConfigurationReader {
 public:
  explicit ConfigurationReader(const Recording& recording) : parameters_(recording.parameters) {}

  /// Returns true if the name is that of a parameter, and takes its value.
  bool take(std::string_view name, JsonText value) {
    // The members are usually in the order of the parameters.
    if (next_ == parameters_.size() || parameters_[next_].name != name) {
      const auto found = std::ranges::find(parameters_, name, &Parameter::name);
      if (found == parameters_.end()) return false;
      next_ = static_cast<std::size_t>(found - parameters_.begin());
    }
    const bool is_new = configuration_.emplace(parameters_[next_++].name, value_of(value)).second;
    if (!is_new) throw InputError("the name " + quote(std::string(name)) + " occurs twice");
    return true;
  }

  /// Returns the configuration. REQUIRES: called once, at the end.
  Configuration whole() {
    for (const Parameter& parameter : parameters_) {
      if (configuration_.size() == parameters_.size()) break;
      if (!configuration_.contains(parameter.name)) {
        throw InputError("a result has no \"" + parameter.name + "\"");
      }
    }
    return std::move(configuration_);
  }

 private:
  const std::vector<Parameter>& parameters_;
  std::size_t next_ = 0;
  Configuration configuration_;
};

/// Adds to `parameters` the values that occur in evaluations but are not listed in the file's
/// header.
void note_values(const std::vector<Evaluation>& evaluations, std::vector<Parameter>& parameters) {
  std::map<std::string, std::set<Value>> known;  // Sorted by name, like a configuration.
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

/// A time or a word for a failure: either the time is 0 or the word is empty.
struct TimeOrWord {
  double time_ms = 0;
  std::string word;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Reads a time or a word; a list of times gives their mean.
TimeOrWord time_or_word(JsonText value) {
  double ms = number_of(value);
  std::string_view text;
  if (std::isnan(ms)) {
    text = string_of(value);
    ms = text.empty() ? mean(positive_numbers(value)) : number_in<double>(text).value_or(0);
  }
  if (ms > 0 && ms < kNoTime_ms) return {.time_ms = ms, .word = ""};
  return {.time_ms = 0, .word = std::string(text)};
}

Evaluation cached(const Recording& recording, simdjson::ondemand::object entry) {
  Evaluation evaluation;
  evaluation.result.kernel = recording.kernel;
  ConfigurationReader configuration(recording);
  std::optional<TimeOrWord> time;
  std::optional<std::string> error;
  std::vector<double> samples_ms;
  for (auto member : entry) {
    const std::string_view name = member.unescaped_key();
    JsonText value = member.value();
    if (configuration.take(name, value)) continue;
    if (name == "time") time = time_or_word(value);
    if (name == "__error__") error = string_of(value);
    if (name == "times") samples_ms = positive_numbers(value);
    if (name == "compile_time") evaluation.result.compile_ms = time_of(value);
    if (name == "verification_time") evaluation.result.verify_ms = time_of(value);
    if (name == "benchmark_time") evaluation.device_ms = time_of(value);
    if (name == "timestamp") evaluation.at_unix = moment_of(std::string(string_of(value)));
  }
  evaluation.result.configuration = configuration.whole();
  evaluation.device_ms += evaluation.result.verify_ms;
  if (!time && !error) {
    throw InputError(
        "a result has neither \"time\" nor \"__error__\": only what was tuned for "
        "time can be read");
  }
  // Some programs write null if there was no error.
  if (error && error->empty() && time) error.reset();
  if (!error && time->time_ms > 0) {
    set_time(evaluation, time->time_ms, samples_ms);
  } else {
    const std::string& word = error ? *error : time->word;
    set_failure(evaluation, status_of(word), word);
  }
  return evaluation;
}

std::string problem_of(const Json& size) {
  if (!size.is_array()) return size.is_string() ? size.get<std::string>() : size.dump();
  return joined(size, "x", [](const Json& one) {
    return one.is_string() ? one.get<std::string>() : one.dump();
  });
}

/// Returns a member that is a string; empty for anything else, such as null.
std::string word_of(const Json& head, const char* name) {
  const auto found = head.find(name);
  return found != head.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Reads the names and values of the parameters, and what was tuned.
void read_cache_head(const Json& head, Recording& recording) {
  recording.format = "kernel-tuner";
  recording.tool = "Kernel Tuner";
  const std::string version = word_of(head, "kernel_tuner_version");
  if (!version.empty()) recording.tool += " " + version;
  recording.device = word_of(head, "device_name");
  recording.kernel = word_of(head, "kernel_name");
  if (head.contains("problem_size")) recording.problem = problem_of(head["problem_size"]);
  const auto keys = head.find("tune_params_keys");
  if (keys == head.end() || !keys->is_array()) {
    throw InputError("a Kernel Tuner cache without \"tune_params_keys\"");
  }
  const Json values = head.value("tune_params", Json::object());
  for (const Json& name : *keys) {
    Parameter parameter = {.name = name.is_string() ? name.get<std::string>() : "", .values = {}};
    const auto list = values.find(parameter.name);
    if (list != values.end() && list->is_array()) {
      for (const Json& value : *list) parameter.values.push_back(value_of(value));
    }
    recording.parameters.push_back(std::move(parameter));
  }
}

/// Returns the milliseconds in a unit of time; nullopt for other words. KTT capitalizes units, and
/// Kernel Tuner misspells one.
std::optional<double> unit_ms(std::string unit) {
  if (!unit.empty()) unit[0] = lower_case(unit[0]);
  if (unit == "ms" || unit == "milliseconds" || unit == "miliseconds") return 1;
  if (unit == "us" || unit == "microseconds") return 1e-3;
  if (unit == "ns" || unit == "nanoseconds") return 1e-6;
  if (unit == "s" || unit == "seconds") return 1e3;
  return std::nullopt;
}

InputError unknown_unit(const std::string& member, const std::string& word) {
  return InputError("\"" + member + "\" is " + quote(word) +
                    "; milliseconds are known, and so are seconds, microseconds and nanoseconds");
}

/// Returns the milliseconds in the unit of time that a T4 file declares for the whole file; nullopt
/// if it declares none.
std::optional<double> named_unit_ms(const Json& root) {
  const auto metadata = root.find("metadata");
  if (metadata == root.end()) return std::nullopt;
  const std::string word = word_of(*metadata, "timeunit");
  if (word.empty()) return std::nullopt;
  const std::optional<double> unit = unit_ms(word);
  if (unit) return unit;
  throw unknown_unit("timeunit", word);
}

/// The time in T4's list of measurements: the one that Kernel Tuner or KTT names as the time,
/// otherwise the first number with a unit of time.
struct MeasuredTime {
  std::optional<double> time;
  std::optional<double> unit_ms;  ///< nullopt if the measurement has no unit.
};

MeasuredTime measured_time(JsonText list) {
  MeasuredTime measured;
  bool is_named = false;  // True if the time has a tuner's own name for it.
  simdjson::ondemand::array measurements;
  if (list.get_array().get(measurements) != simdjson::SUCCESS) return measured;
  for (auto one : measurements) {
    std::string name;
    std::string unit;
    double value = 0;
    for (auto member : one.get_object()) {
      const std::string_view key = member.unescaped_key();
      if (key == "name") name = string_of(member.value());
      if (key == "unit") unit = string_of(member.value());
      if (key == "value") value = time_or_word(member.value()).time_ms;
    }
    if (value <= 0) continue;
    const bool is_time = name == "time" || name == "TotalDuration";
    const std::optional<double> its_unit_ms = unit_ms(unit);
    if (is_time ? !is_named : !measured.time && its_unit_ms) {
      is_named = is_time;
      measured = {.time = value, .unit_ms = its_unit_ms};
    }
  }
  return measured;
}

/// The contents of T4's `times`, in the file's unit of time.
struct T4Times {
  double compile = 0;
  double validation = 0;
  double benchmark = 0;
  std::vector<double> runtimes;
};

T4Times t4_times(JsonText json) {
  T4Times times;
  for (auto member : json.get_object()) {
    const std::string_view name = member.unescaped_key();
    JsonText value = member.value();
    if (name == "compilation" || name == "compilation_time") times.compile += time_of(value);
    if (name == "validation") times.validation = time_of(value);
    if (name == "benchmark") times.benchmark = time_of(value);
    if (name == "runtimes") times.runtimes = positive_numbers(value);
  }
  return times;
}

/// Reads a configuration of T4, which lists no parameters: those of the first configuration are
/// used.
Configuration t4_configuration(JsonText json, Recording& recording) {
  if (recording.parameters.empty()) {
    const Json first = whole_json(json);
    if (!first.is_object()) throw InputError("a \"configuration\" is not an object");
    Configuration configuration;
    for (const auto& [name, value] : first.items()) {
      recording.parameters.push_back({.name = name, .values = {}});
      configuration.emplace(name, value_of(value));
    }
    return configuration;
  }
  ConfigurationReader reader(recording);
  for (auto member : json.get_object()) {
    const std::string_view name = member.unescaped_key();
    reader.take(name, member.value());
  }
  return reader.whole();
}

/// Translates T4's words, which are the same as ours, and Kernel Tuner's.
Status t4_status(const std::string& word) {
  if (word.ends_with("Config")) return status_of(word);
  try {
    return parse_status(word);
  } catch (const InputError& error) {
    throw InputError(std::string("\"invalidity\": ") + error.what());
  }
}

/// `unit_ms`: the unit of the whole file.
Evaluation t4_evaluation(simdjson::ondemand::object entry, std::optional<double> unit_ms,
                         Recording& recording) {
  Evaluation evaluation;
  std::optional<Configuration> configuration;
  std::string word = "correct";
  T4Times times;
  MeasuredTime measured;
  for (auto member : entry) {
    const std::string_view name = member.unescaped_key();
    JsonText value = member.value();
    if (name == "configuration") configuration = t4_configuration(value, recording);
    if (name == "invalidity") word = string_of(value);
    if (name == "times") times = t4_times(value);
    if (name == "measurements") measured = measured_time(value);
    if (name == "timestamp") evaluation.at_unix = moment_of(std::string(string_of(value)));
  }
  if (!configuration) {
    throw InputError("\"results\" holds something without a \"configuration\"");
  }
  evaluation.result.configuration = std::move(*configuration);
  const double measured_unit_ms = measured.unit_ms.value_or(unit_ms.value_or(1));
  const double times_unit_ms = unit_ms.value_or(measured_unit_ms);
  for (double& runtime : times.runtimes) runtime *= times_unit_ms;
  evaluation.result.compile_ms = times.compile * times_unit_ms;
  evaluation.result.verify_ms = times.validation * times_unit_ms;
  const double sum = std::accumulate(times.runtimes.begin(), times.runtimes.end(), 0.0);
  evaluation.device_ms =
      evaluation.result.verify_ms + std::max(times.benchmark * times_unit_ms, sum);
  std::optional<double> time;
  if (measured.time) {
    time = *measured.time * measured_unit_ms;
  } else if (sum > 0) {
    time = mean(times.runtimes);
  }
  if (word == "correct" && time && *time > 0 && *time < kNoTime_ms) {
    set_time(evaluation, *time, times.runtimes);
    return evaluation;
  }
  const Status status = t4_status(word);
  set_failure(evaluation, status == Status::correct ? Status::runtime : status, word);
  return evaluation;
}

/// Translates KTT's words.
Status ktt_status(const std::string& word) {
  if (word == "Ok") return Status::correct;
  if (word == "DeviceLimitsExceeded") return Status::constraints;
  if (word == "CompilationFailed") return Status::compile;
  if (word == "ComputationFailed") return Status::runtime;
  if (word == "ValidationFailed") return Status::correctness;
  throw InputError("\"Status\" is " + quote(word) +
                   "; Ok, DeviceLimitsExceeded, CompilationFailed, ComputationFailed and "
                   "ValidationFailed are known");
}

/// Reads a list of objects with a name and a value. The parameters of the first configuration are
/// used.
Configuration ktt_configuration(JsonText json, std::vector<Parameter>& parameters) {
  const bool is_first = parameters.empty();
  Configuration configuration;
  for (auto pair : json.get_array()) {
    std::string name;
    std::optional<Value> value;
    for (auto member : pair.get_object()) {
      const std::string_view key = member.unescaped_key();
      if (key == "Name") name = string_of(member.value());
      if (key == "Value") value = value_of(member.value());
    }
    if (name.empty() || !value) {
      throw InputError("\"Configuration\" holds something without a \"Name\" and a \"Value\"");
    }
    if (is_first) parameters.push_back({.name = name, .values = {}});
    if (!configuration.emplace(name, std::move(*value)).second) {
      throw InputError("the name " + quote(name) + " occurs twice");
    }
  }
  for (const Parameter& parameter : parameters) {
    if (!configuration.contains(parameter.name)) {
      throw InputError("a result has no \"" + parameter.name + "\"");
    }
  }
  if (configuration.size() != parameters.size()) {
    throw InputError("a result has " + std::to_string(configuration.size()) +
                     " parameters and the first one " + std::to_string(parameters.size()));
  }
  return configuration;
}

/// Reads an entry of KTT, which lists each run of a kernel separately. `unit_ms`: the unit of the
/// whole file.
Evaluation ktt_evaluation(simdjson::ondemand::object entry, double unit_ms, Recording& recording) {
  Evaluation evaluation;
  std::optional<Configuration> configuration;
  std::string word;
  std::string kernel;
  double time_ms = 0;
  for (auto member : entry) {
    const std::string_view name = member.unescaped_key();
    JsonText value = member.value();
    const auto ms = [&] { return time_of(value) * unit_ms; };
    if (name == "KernelName") kernel = string_of(value);
    if (name == "Status") word = string_of(value);
    if (name == "Configuration") configuration = ktt_configuration(value, recording.parameters);
    if (name == "TotalDuration") time_ms = ms();
    if (name == "CompilationOverhead") evaluation.result.compile_ms = ms();
    if (name == "ValidationOverhead") evaluation.result.verify_ms = ms();
  }
  if (!configuration) {
    throw InputError("\"Results\" holds something without a \"Configuration\"");
  }
  if (recording.kernel.empty()) recording.kernel = kernel;
  if (recording.kernel != kernel) {
    throw WholeFileFault("results of the kernels " + quote(recording.kernel) + " and " +
                         quote(kernel) + "; each kernel's are imported from a file of their own");
  }
  evaluation.result.configuration = std::move(*configuration);
  const Status status = ktt_status(word);
  if (status == Status::correct && time_ms > 0 && time_ms < kNoTime_ms) {
    set_time(evaluation, time_ms, {time_ms});  // The single run is the only sample.
    evaluation.device_ms = evaluation.result.verify_ms + time_ms;
  } else {
    set_failure(evaluation, status == Status::correct ? Status::runtime : status, word);
  }
  return evaluation;
}

/// Returns true if a document's head has all that is needed to read its entries.
bool is_enough(const Json& head, std::string_view list) {
  if (list == "Results") return head.contains("Metadata");
  if (list == "results") return head.contains("metadata");
  constexpr std::array kNeeded = {"device_name", "kernel_name", "problem_size", "tune_params_keys",
                                  "tune_params"};
  return list == "cache" &&
         std::ranges::all_of(kNeeded, [&](const char* name) { return head.contains(name); });
}

/// Reads a recording entry by entry.
class RecordingReader {
 public:
  RecordingReader(const std::filesystem::path& file, bool cut_off) {
    recording_.file = file;
    recording_.cut_off = cut_off;
  }

  void add(const Json& head, std::string_view list, JsonText entry) {
    if (recording_.format.empty()) begin(head);
    ++entries_;
    const auto fault = fault_of_entry([&] {
      simdjson::ondemand::object object;
      if (entry.get_object().get(object) != simdjson::SUCCESS) {
        throw InputError("is not a result");
      }
      recording_.evaluations.push_back(evaluation(object));
    });
    if (fault) {
      recording_.odd.add("entry " + std::to_string(entries_) + " of \"" + std::string(list) +
                         "\": " + *fault);
    }
  }

  void hand_over(const TakePart& take) {
    take(recording_);
    recording_.evaluations.clear();
  }

  std::size_t size() const { return recording_.evaluations.size(); }

  Recording finish(const JsonEntries& read) {
    if (recording_.format.empty()) begin(read.head);  // There was no entry.
    recording_.cut_off = recording_.cut_off || read.cut_off;
    const OddEntries& odd = recording_.odd;
    if (odd.count > 0 && odd.count == entries_) {
      throw InputError(odd.faults.front() + odd.others_text());
    }
    return std::move(recording_);
  }

 private:
  Evaluation evaluation(simdjson::ondemand::object entry) {
    if (recording_.format == "t4") return t4_evaluation(entry, unit_ms_, recording_);
    if (recording_.format == "kernel-tuner") return cached(recording_, entry);
    Evaluation one = ktt_evaluation(entry, unit_ms_.value_or(1), recording_);
    one.at_unix = written_unix_;
    return one;
  }

  void begin(const Json& head) {
    if (head.contains("cache") || head.contains("tune_params_keys")) {
      read_cache_head(head, recording_);
    } else if (head.contains("results")) {
      recording_.format = "t4";
      recording_.tool = "T4";
      unit_ms_ = named_unit_ms(head);
    } else if (head.contains("Results")) {
      read_ktt_head(head);
    } else {
      throw InputError(
          "neither a Kernel Tuner cache file (\"cache\"), nor T4 (\"results\"), nor KTT's output "
          "(\"Results\"), nor a database or export of smemtune");
    }
  }

  void read_ktt_head(const Json& head) {
    const auto metadata = head.find("Metadata");
    if (metadata == head.end() || !metadata->is_object()) {
      throw InputError("KTT's output without \"Metadata\"");
    }
    recording_.format = "ktt";
    recording_.tool = "KTT";
    const std::string version = word_of(*metadata, "KttVersion");
    if (!version.empty()) recording_.tool += " " + version;
    recording_.device = word_of(*metadata, "Device");
    const std::string unit = word_of(*metadata, "TimeUnit");
    unit_ms_ = unit_ms(unit);
    if (!unit_ms_) throw unknown_unit("TimeUnit", unit);
    written_unix_ = moment_of(word_of(*metadata, "Timestamp"));
  }

  Recording recording_;
  std::uint64_t entries_ = 0;
  std::optional<double> unit_ms_;  ///< Unit of the whole file: of T4 if declared, and of KTT.
  double written_unix_ = -1;       ///< Time at which KTT wrote the file, the only time in it.
};

}  // namespace

Recording read_recording_json(const std::filesystem::path& file, std::string text, bool cut_off,
                              const TakePart& take_part) {
  RecordingReader reader(file, cut_off);
  const auto add = [&](const Json& head, std::string_view list, JsonText entry) {
    reader.add(head, list, entry);
    if (take_part && reader.size() == kPart) reader.hand_over(take_part);
  };
  const JsonEntries read = read_json_entries(file.string(), std::move(text), is_enough, add);
  Recording recording;
  try {
    recording = reader.finish(read);
  } catch (const InputError& error) {
    throw InputError(file.string() + ": " + error.what());
  } catch (const Json::exception& error) {
    throw InputError(file.string() + ": " + error.what());
  }
  if (take_part) return recording;
  note_values(recording.evaluations, recording.parameters);
  for (Parameter& parameter : recording.parameters) {
    // T4 lists no values, so there is no order of the file to keep.
    if (recording.format == "t4") std::ranges::sort(parameter.values);
  }
  return recording;
}

}  // namespace smemtune::db
