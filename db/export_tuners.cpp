#include "db/code_names.h"
#include "db/export_formats.h"
#include "db/json_forms.h"
#include "db/rows.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

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

namespace {

[[noreturn]] void refuse(const std::string& why, const std::vector<const StoredResult*>& results) {
  const std::vector<std::string> subjects = texts_of(results, &StoredResult::subject);
  throw InputError(why + ": --space, --kernel, --device and --problem narrow down what matches:" +
                   subject_lines(subjects));
}

/// Returns the results in the order of exports. Throws InputError unless all are of one kernel.
std::vector<const StoredResult*> of_one_kernel(const std::vector<StoredResult>& best) {
  std::vector<const StoredResult*> results = in_export_order(best);
  std::set<std::string> kernels;
  for (const StoredResult* stored : results)
    kernels.insert(stored->space + "/" + stored->result.kernel);
  if (kernels.size() != 1) {
    refuse("such a file is of one kernel, and " + counted(kernels.size(), "kernel") + " match",
           results);
  }
  return results;
}

/// Returns the sizes that tell these problems apart; of a single problem all of them.
std::set<std::string> telling_sizes(const std::vector<const StoredResult*>& results) {
  std::set<std::string> names;
  const Problem& first = results.front()->result.problem;
  for (const StoredResult* stored : results) {
    for (const auto& [name, value] : stored->result.problem) {
      const auto other = first.find(name);
      const bool is_alike = other != first.end() && other->second == value;
      if (results.size() == 1 ? std::holds_alternative<std::int64_t>(value) : !is_alike) {
        names.insert(name);
      }
    }
  }
  if (results.size() == 1 && names.size() > 1 && names.contains("M")) names = {"M"};
  return names;
}

std::string batch_size_name(const std::vector<const StoredResult*>& results) {
  const std::set<std::string> names = telling_sizes(results);
  const std::vector<std::string> listed(names.begin(), names.end());
  if (names.empty()) {
    refuse(results.size() == 1
               ? "such a file has a size as its key, and the problem has none"
               : "such a file has one result of each size, and here are several of the same",
           results);
  }
  if (names.size() != 1) {
    refuse(
        "such a file has one size as its key, and here it might be any of " + joined(listed, ", "),
        results);
  }
  const auto value = results.front()->result.problem.find(*names.begin());
  if (value == results.front()->result.problem.end() ||
      !std::holds_alternative<std::int64_t>(value->second)) {
    refuse("such a file has a size as its key, and " + printable(*names.begin()) + " is none",
           results);
  }
  return *names.begin();
}

/// Returns a member of a policy. Throws InputError for a name or a word that C++ does not have.
std::string policy_member(const StoredResult& stored, const std::string& name, const Value& value) {
  const std::string what = "space " + stored.space + ": the parameter";
  need_name(what, name);
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    const bool is_int = *number >= INT32_MIN && *number <= INT32_MAX;
    return std::string("static constexpr ") + (is_int ? "int " : "long long ") + name + " = " +
           integer_literal(*number) + ";";
  }
  const std::string word = need_word(what + " " + name, std::get<std::string>(value));
  return is_type(word) ? "using " + name + " = " + word + ";"
                       : "static constexpr auto " + name + " = " + word + ";";
}

std::string policy(const StoredResult& stored, int capability, int previous) {
  const std::string name = "Policy" + std::to_string(capability);
  std::string text = "  // " +
                     for_comment(key(stored.result.problem) + " on " + stored.device.name + ": " +
                                 significant(stored.result.measurement.median_ms, 4) +
                                 " ms, compared with " + to_text(stored.result.coverage())) +
                     (stored.stale ? "; stale" : "") + "\n  struct " + name +
                     " : cub::ChainedPolicy<" + std::to_string(capability) + ", " + name +
                     ", Policy" + std::to_string(previous) + "> {\n";
  for (const auto& [parameter, value] : stored.result.configuration) {
    text += "    " + policy_member(stored, parameter, value) + "\n";
  }
  return text + "  };\n";
}

}  // namespace

std::string export_vllm(const std::vector<StoredResult>& best) {
  const std::vector<const StoredResult*> results = of_one_kernel(best);
  const std::string size = batch_size_name(results);
  std::map<std::int64_t, const StoredResult*> by_size;
  for (const StoredResult* stored : results) {
    const Value& value = stored->result.problem.at(size);
    if (!by_size.emplace(std::get<std::int64_t>(value), stored).second) {
      refuse("such a file is of one device, and several have " + size + "=" + to_text(value),
             results);
    }
  }
  Json json = Json::object();
  for (const auto& [number, stored] : by_size) {
    json[std::to_string(number)] = bindings_json(stored->result.configuration);
  }
  return with_controls_escaped(json.dump(4, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string export_cub(const std::vector<StoredResult>& best) {
  const std::vector<const StoredResult*> results = of_one_kernel(best);
  std::map<int, const StoredResult*> by_capability;
  for (const StoredResult* stored : results) {
    const Device& device = stored->device;
    // CUB writes 9.0 as 900.
    const int capability = 100 * device.compute_major + 10 * device.compute_minor;
    if (device.kind == DeviceKind::cpu) refuse("CUB's policies are for GPUs", results);
    if (!by_capability.emplace(capability, stored).second) {
      refuse("CUB has one policy for each compute capability, and " + std::to_string(capability) +
                 " has several",
             results);
    }
    if (stored->result.problem != results.front()->result.problem) {
      refuse("a chain of policies is of one problem", results);
    }
  }
  const StoredResult& first = *results.front();
  need_name("the space", first.space);
  need_name("the kernel", first.result.kernel);
  std::string text =
      "// Policies for CUB, written by `smemtune export --format cub`: do not edit.\n"
      "//   using Policy = smemtune_policies::SPACE::KERNEL::MaxPolicy::ActivePolicy;\n"
      "// in device code; MaxPolicy::Invoke(ptx_version, functor) on the host.\n"
      "#pragma once\n\n#include <cub/util_device.cuh>\n\nnamespace smemtune_policies "
      "{\nnamespace " +
      first.space + " {\n\nstruct " + first.result.kernel + " {\n";
  int previous = by_capability.begin()->first;
  for (const auto& [capability, stored] : by_capability) {
    text += policy(*stored, capability, previous);
    previous = capability;
  }
  return text + "  using MaxPolicy = Policy" + std::to_string(previous) +
         ";\n};\n\n}  // namespace " + first.space + "\n}  // namespace smemtune_policies\n";
}

}  // namespace smemtune::db
