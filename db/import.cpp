#include "db/import.h"

#include "db/contradictions.h"
#include "db/json_entries.h"
#include "db/recording.h"
#include "db/result_store.h"
#include "db/run_log.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/input_file.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <future>
#include <map>
#include <utility>

namespace smemtune::db {

namespace {

std::string sha256_of(const std::filesystem::path& file, std::uintmax_t max_bytes) {
  InputFile input(file, max_bytes);
  return sha256(input);
}

/// Returns `4096x512` as problem_size_x and problem_size_y, and text that does not consist of sizes
/// as a word.
Problem problem_of(const std::string& text) {
  static constexpr const char* kAxes[] = {"problem_size_x", "problem_size_y", "problem_size_z"};
  Problem sizes;
  std::string_view rest = text;
  for (const char* axis : kAxes) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (error != std::errc()) break;
    sizes[axis] = size;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return sizes;
    if (rest.front() != 'x') break;
    rest.remove_prefix(1);
  }
  if (text.empty()) return {};
  return {{"problem_size", text}};
}

/// Throws InputError if another tuner's names cannot be part of a key.
void check_names(const std::string& file, const Bindings& bindings) {
  for (const auto& [name, value] : bindings) {
    if (!name.empty() && name.find_first_of("=,") == std::string::npos) continue;
    throw InputError(file + ": " + quote(name) + " is " + quote(to_text(value)) +
                     ": a name with '=' or ',' cannot be stored");
  }
}

/// Returns an id for imported results, which have no run of their own: a hash of what was measured
/// and of the file.
std::string run_id(const Origin& origin, const Run& run, const std::string& kernel) {
  return sha256(origin.file_sha256 + "\n" + run.device.name + "\n" + run.space + "\n" + kernel)
      .substr(0, 32);
}

/// Takes the evaluations out of `recording`.
RunRecord record_of(Recording& recording, const ImportNames& names, Origin& origin) {
  const std::string file = recording.file.string();
  if (recording.device.empty()) recording.device = names.device;
  if (recording.device.empty()) {
    throw InputError(file + ": names no device: --device-name NAME says on which it was measured");
  }
  std::string kernel = names.kernel.empty() ? recording.kernel : names.kernel;
  if (kernel.empty()) {
    throw InputError(file + ": names no kernel: --kernel NAME says which was measured");
  }
  origin.format = recording.format;
  origin.tool = recording.tool;
  origin.device = recording.device;

  RunRecord record;
  Run& run = record.run;
  run.space = names.space.empty() ? kernel : names.space;
  run.space_json = "{}";
  run.device.name = recording.device;
  run.tool_version = recording.tool;
  run.id = run_id(origin, run, kernel);
  record.outcome = recording.cut_off ? "" : "complete";
  const Problem problem = problem_of(recording.problem);
  check_names(file, problem);
  double first_unix = -1;
  record.entries.reserve(recording.evaluations.size());
  if (!recording.evaluations.empty()) {  // All evaluations have the same names.
    check_names(file, recording.evaluations.front().result.configuration);
  }
  for (Recording::Evaluation& one : recording.evaluations) {
    Result& result = one.result;
    result.kernel = kernel;
    result.problem = problem;
    if (first_unix < 0 || (one.at_unix >= 0 && one.at_unix < first_unix)) first_unix = one.at_unix;
    record.entries.push_back({.at_unix = one.at_unix, .result = std::move(result)});
  }
  run.started_unix = first_unix;
  record.origin = origin;
  return record;
}

/// Collects the results of an export into the runs that measured them.
class ExportReader {
 public:
  ExportReader(std::string file, const Origin& origin, Runs runs)
      : file_(std::move(file)), origin_(origin), runs_(runs) {}

  /// Throws InputError if the JSON is not a result, or contradicts itself.
  void add(const Json& json) {
    StoredResult stored = stored_from(json);
    check_names(file_, stored.result.problem);
    check_names(file_, stored.result.configuration);
    if (stored.run_id.empty() || stored.space.empty() || stored.device.name.empty()) {
      throw InputError("a result without its run, space or device");
    }
    auto fault = contradiction(stored.result, stored.origin.has_value());
    if (!fault) fault = contradiction_of_export(json, stored);
    if (fault) throw InputError(*fault);
    // A run had one environment per board.
    RunRecord& record = records_[{stored.run_id, stored.space, stored.device.uuid}];
    Run& run = record.run;
    if (record.entries.empty()) {
      run = {.id = stored.run_id,
             .space = stored.space,
             .space_sha256 = "",
             .space_json = "{}",
             .device = stored.device,
             .compiler = stored.compiler,
             .compiler_sha256 = "",
             .tool_version = stored.tool_version,
             .host = stored.host,
             .strategy = "",
             .command_line = {},
             .started_unix = stored.at_unix};
      record.outcome = "complete";
      record.origin = stored.origin;  // Imported results stay imported.
      if (record.origin) {
        record.origin->imported_unix = origin_.imported_unix;
      } else if (runs_ == Runs::imported) {
        record.origin = origin_;
        record.origin->device = stored.device.name;
      }
    }
    run.started_unix = std::min(run.started_unix, stored.at_unix);
    record.entries.push_back({.kernel_hash = stored.kernel_hash,
                              .stale = stored.stale,
                              .at_unix = stored.at_unix,
                              .result = std::move(stored.result)});
  }

  /// `defaults`: the member of that name, from which what space files say of kernels is kept.
  void hand_over(const Json& defaults, const std::function<void(RunRecord&&)>& take) {
    std::map<std::string, Json> spaces;
    for (const Json& one : defaults) {
      if (!one.is_object() || !one.contains("constraints")) continue;
      Json& space = spaces[one.value("space", "")];
      Json launches = Json::array();
      const Json threads = one.value("threads", Json::array());
      for (const Json& blocks : one.value("blocks", Json::array())) {
        Json& launch = launches.emplace_back(Json{{"grid", Json::array({blocks})}});
        const std::size_t number = launches.size() - 1;
        if (!threads.is_array() || number >= threads.size()) continue;
        launch["block"] = Json::array({threads[number]});
      }
      space["metrics"] = one.value("metrics", Json::object());
      space["kernels"].push_back({{"name", one.value("kernel", "")},
                                  {"constraints", one["constraints"]},
                                  {"promising", one.value("promising", Json::array())},
                                  {"launches", std::move(launches)}});
    }
    std::vector<RunRecord*> order;
    for (auto& [key, record] : records_) {
      order.push_back(&record);
      const auto space = spaces.find(record.run.space);
      if (space != spaces.end()) record.run.space_json = space->second.dump();
    }
    std::ranges::stable_sort(order, {},
                             [](const RunRecord* record) { return record->run.started_unix; });
    for (RunRecord* record : order) take(std::move(*record));
  }

 private:
  std::string file_;
  const Origin& origin_;
  Runs runs_;
  std::map<std::tuple<std::string, std::string, std::string>, RunRecord> records_;
};

/// Returns true if the text begins as our own documents do, in any order of their members.
bool is_export(std::string_view text) {
  const std::string_view start = text.substr(0, 200);
  return start.find("\"format\"") != std::string_view::npos &&
         start.find("\"smemtune-") != std::string_view::npos;
}

void refuse_all_odd(const std::filesystem::path& file, const OddEntries& odd,
                    std::uint64_t entries) {
  if (odd.count == 0 || odd.count < entries) return;
  throw InputError(file.string() + ": " + odd.faults.front() + odd.others_text());
}

/// Returns the space of an entry, which can be read from its beginning afterwards; nullopt if it has
/// none.
std::optional<std::string> space_of(simdjson::ondemand::object& entry) {
  std::string_view space;
  const bool has_space =
      entry.find_field_unordered("space").get_string().get(space) == simdjson::SUCCESS;
  std::optional<std::string> its = has_space ? std::optional<std::string>(space) : std::nullopt;
  (void)entry.reset();
  return its;
}

/// Returns whether the entry is of the space, or reading it will say why not.
bool may_be_of(const std::string& space, JsonText entry) {
  simdjson::ondemand::object object;
  if (entry.get_object().get(object) != simdjson::SUCCESS) return true;
  return space_of(object).value_or(space) == space;
}

ImportedFile read_export(const std::filesystem::path& file, FileText&& read, Origin origin,
                         Runs runs, const std::string& only_space,
                         const std::function<void(RunRecord&&)>& take) {
  ImportedFile imported = {.origin = std::move(origin), .odd = {}};
  ExportReader reader(file.string(), imported.origin, runs);
  std::uint64_t entries = 0;
  const auto add = [&](const Json& head, std::string_view list, JsonText entry) {
    if (imported.origin.format.empty()) {
      imported.origin.format = head.value("format", "");
      imported.origin.tool = "smemtune";
    }
    const bool is_of_bests = list == "best" || list == "candidates";
    const bool known = (imported.origin.format == "smemtune-best" && is_of_bests) ||
                       (imported.origin.format == "smemtune-times" && list == "candidates") ||
                       (imported.origin.format == "smemtune-results" && list == "results");
    if (!known) {
      throw InputError("a document of the format " + quote(imported.origin.format) +
                       "; smemtune-best and smemtune-results are read");
    }
    ++entries;
    const auto fault = fault_of_entry([&] {
      if (!only_space.empty() && !may_be_of(only_space, entry)) return;
      for (const Json& one : entries_of(whole_json(entry))) reader.add(one);
    });
    if (!fault) return;
    imported.odd.add("entry " + std::to_string(entries) + " of \"" + std::string(list) +
                     "\": " + *fault);
  };
  const JsonEntries all = read_json_entries(
      file.string(), std::move(read.text),
      [](const Json& head, std::string_view) { return head.contains("format"); }, add);
  imported.cut_off = all.cut_off || read.cut_off;
  refuse_all_odd(file, imported.odd, entries);
  reader.hand_over(all.head.value("defaults", Json::array()), take);
  return imported;
}

ImportedFile read_database(const std::filesystem::path& file, Origin origin, Runs runs,
                           const std::function<void(RunRecord&&)>& take) {
  const ResultStore store(file, ResultStore::Mode::read_only);
  // No size limit, because it is a database of ours.
  origin.file_sha256 = sha256_of(file, UINTMAX_MAX);
  origin.format = "smemtune-database";
  origin.tool = "smemtune";
  ImportedFile imported;
  for (const StoredRun& run : store.runs({.source = "all"})) {
    RunRecord record = store.record_of(run.id);
    std::erase_if(record.entries, [&](const RunRecord::Entry& entry) {
      const auto fault = contradiction(entry.result, record.origin.has_value());
      if (!fault) return false;
      imported.odd.add("result " + std::to_string(entry.number) + " of run " + run.id + ": " +
                       *fault);
      return true;
    });
    if (!record.origin && runs == Runs::imported) {
      origin.device = record.run.device.name;
      record.origin = origin;
    }
    take(std::move(record));
  }
  imported.origin = std::move(origin);
  return imported;
}

}  // namespace

ExportText read_export_text(const std::filesystem::path& file) {
  ExportText read;
  std::map<std::string, std::size_t> counts;
  const auto take = [&](const Json& /*head*/, std::string_view list, JsonText entry) {
    if (list != "best" && list != "candidates") return;
    const std::string name(list);
    const std::string at = "/" + name + "/" + std::to_string(counts[name]++);
    simdjson::ondemand::object object;
    const bool is_object = entry.get_object().get(object) == simdjson::SUCCESS;
    const auto space = is_object ? space_of(object) : std::nullopt;
    if (space) {
      const std::string_view text = object.raw_json();
      read.entries[*space].push_back(
          {.at = at, .is_best = list == "best", .text = std::string(text)});
    } else if (read.fault.empty()) {
      read.fault = at + (is_object ? "/space is missing, or not a string" : " is not an object");
    }
  };
  JsonEntries all = read_json_entries(
      file.string(), read_compressed(file).text, [](const Json&, std::string_view) { return true; },
      take);
  read.head = std::move(all.head);
  read.cut_off = all.cut_off;
  return read;
}

ImportedFile read_runs(const std::filesystem::path& file, const ImportNames& names, Runs runs,
                       const std::function<void(RunRecord&&)>& take,
                       const std::string& only_space) {
  Origin origin;
  origin.file = file.string();
  origin.imported_unix = unix_now();
  if (is_database(file)) return read_database(file, std::move(origin), runs, take);
  // Hashing takes as long as decompressing, so it runs concurrently.
  auto hash = std::async(std::launch::async, sha256_of, file, kMostFileBytes);
  const auto finish_origin = [&] {
    if (hash.valid()) origin.file_sha256 = hash.get();
  };
  FileText read = read_compressed(file);
  if (read.text.empty() && !read.cut_off) throw InputError(file.string() + ": is empty");
  if (is_export(read.text)) {
    finish_origin();
    return read_export(file, std::move(read), std::move(origin), runs, only_space, take);
  }
  if (runs == Runs::ours) {
    throw InputError(file.string() +
                     ": neither a database nor an export of smemtune; `smemtune import` takes in "
                     "what other tuners wrote");
  }
  const auto take_part = [&](Recording& so_far) {
    finish_origin();
    RunRecord part = record_of(so_far, names, origin);
    part.goes_on = true;
    take(std::move(part));
  };
  Recording last = read_recording_json(file, std::move(read.text), read.cut_off, take_part);
  finish_origin();
  OddEntries odd = std::move(last.odd);
  take(record_of(last, names, origin));
  return {.origin = std::move(origin), .cut_off = last.cut_off, .odd = std::move(odd)};
}

}  // namespace smemtune::db
