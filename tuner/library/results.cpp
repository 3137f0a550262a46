#include "db/import.h"
#include "db/json_forms.h"
#include "db/layered_store.h"
#include "db/recording.h"
#include "db/result_store.h"
#include "smemtune/smemtune.h"
#include "tuner/config/json_reader.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/outcome.h"
#include "tuner/core/selection_table.h"
#include "tuner/core/size_model.h"
#include "tuner/core/stored_expressions.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace smemtune {

namespace {

/// An entry for select_measured().
struct Record {
  std::string shared_from;
  std::string space;
  std::string kernel;
  std::string device;
  int compute_capability = 0;  ///< 0 for the CPU device.
  Problem problem;
  Configuration parameters;
  int configuration = -1;
  bool is_best = false;
  double time_ms = 0;  ///< 0 if it does not run.
  double to_best = 1;
  double to_kernel_best = 1;
  Bindings limits;  ///< The device_names() of the device; empty for default values.
  std::string kernel_hash;
  bool stale = false;
  std::string compared_with = to_text(ComparedWith::unknown);
  /// Conditions of the kernel, with its default values only.
  std::vector<std::string> constraints;
  std::vector<std::string> promising;
  LaunchTexts launches;  ///< The kernel's, with its default values only.
};

/// Reads members of the documented format and reports those that deviate from it.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }

  const Json& member(const Json& object, const std::string& at, const char* name) const {
    if (!object.is_object() || !object.contains(name)) fail(at + "/" + name, "is missing");
    return object.at(name);
  }

  const Json& array(const Json& object, const std::string& at, const char* name) const {
    const Json& value = member(object, at, name);
    if (!value.is_array()) fail(at + "/" + name, "is not an array");
    return value;
  }

  std::string text(const Json& object, const std::string& at, const char* name) const {
    const Json& value = member(object, at, name);
    if (!value.is_string()) fail(at + "/" + name, "is not a string");
    return value.get<std::string>();
  }

  /// Returns a list of strings; an empty one for files of earlier versions, which lack it.
  std::vector<std::string> texts(const Json& object, const std::string& at,
                                 const char* name) const {
    std::vector<std::string> texts;
    if (!object.contains(name)) return texts;
    for (const Json& one : array(object, at, name)) {
      if (!one.is_string()) fail(at + "/" + name, "has an element that is no string");
      texts.push_back(one.get<std::string>());
    }
    return texts;
  }

  /// Returns the work of a kernel's launches; nothing for files of earlier versions, which lack it.
  LaunchTexts launches(const Json& object, const std::string& at) const {
    LaunchTexts launches = {.blocks = texts(object, at, "blocks"),
                            .threads = texts(object, at, "threads"),
                            .metrics = {}};
    if (!object.contains("metrics")) return launches;
    for (const auto& [name, text] : object.at("metrics").items()) {
      if (!text.is_string()) fail(at + "/metrics/" + name, "is not a string");
      launches.metrics[name] = text.get<std::string>();
    }
    return launches;
  }

  double number(const Json& object, const std::string& at, const char* name) const {
    const Json& value = member(object, at, name);
    if (!value.is_number()) fail(at + "/" + name, "is not a number");
    return value.get<double>();
  }

  /// Files of earlier versions of smemtune have `parameters` only.
  Bindings configuration(const Json& object, const std::string& at) const {
    const bool has_it = object.is_object() && object.contains("configuration");
    return bindings(object, at, has_it ? "configuration" : "parameters");
  }

  Bindings bindings(const Json& object, const std::string& at, const char* name) const {
    return bindings(member(object, at, name), at + "/" + name);
  }

  Bindings bindings(const Json& values, const std::string& at) const {
    if (!values.is_object()) fail(at, "is not an object");
    Bindings bindings;
    for (const auto& [key, value] : values.items()) {
      if (value.is_string()) {
        bindings[key] = value.get<std::string>();
      } else if (value.is_number_integer() &&
                 !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
        bindings[key] = value.get<std::int64_t>();
      } else {
        fail(at + "/" + key, "is neither an integer nor a word");
      }
    }
    return bindings;
  }

  /// Returns 90 for `9.0`; 0 when unknown.
  int capability(const Json& device, const std::string& at) const {
    if (text(device, at, "kind") != "gpu") return 0;
    if (member(device, at, "compute_capability").is_null()) return 0;
    const std::string version = text(device, at, "compute_capability");
    int major = 0;
    int minor = 0;
    char rest = 0;
    if (std::sscanf(version.c_str(), "%3d.%1d%c", &major, &minor, &rest) != 2) {
      fail(at + "/compute_capability", "is not a version");
    }
    return 10 * major + minor;
  }

  /// Returns the device_names(); none for files of earlier versions, which lack some limits.
  Bindings limits(const Json& device) const {
    try {
      return device_names(db::device_from(device));
    } catch (const nlohmann::json::exception&) {
      return {};
    }
  }

  /// Returns the median, or the only time that another tuner reported.
  double time_ms(const Json& entry, const std::string& at) const {
    const Json& time = member(entry, at, "time");
    const bool has_median = !member(time, at + "/time", "median_ms").is_null();
    return number(time, at + "/time", has_median ? "median_ms" : "mean_ms");
  }

  [[noreturn]] void fail(const std::string& at, const std::string& what) const {
    throw InputError(file_ + ": " + at + " " + what);
  }

 private:
  std::string file_;
};

struct Conditions {
  StoredExpressions constraints;
  StoredExpressions promising;
};

/// The results of a space in several files. The first file that has a problem and device decides
/// about them, and so for each kernel's default values.
struct Table {
  std::vector<Record> measured;
  std::vector<Record> defaults;  ///< The kernel that is the best most often comes first.
  /// Conditions of the kernels whose default values are known.
  std::map<std::string, Conditions> conditions;
  std::map<std::string, LaunchFeatures> launches;  ///< The same kernels'.
};

/// Returns the same text for records of the same device and problem.
std::string measured_text(const Record& record) {
  return record.device + "\n" + key(record.problem);
}

/// Sorts defaults by how often their kernel is the fastest for a problem and device.
void order_by_wins(std::vector<Record>& defaults, const std::vector<Record>& measured) {
  std::map<std::string, const Record*> fastest;
  for (const Record& record : measured) {
    if (!record.is_best) continue;
    const Record*& best = fastest[measured_text(record)];
    if (best == nullptr || record.time_ms < best->time_ms) best = &record;
  }
  std::map<std::string, int> wins;
  for (const auto& [contest, record] : fastest) ++wins[record->kernel];
  std::ranges::stable_sort(defaults, [&wins](const Record& one, const Record& other) {
    return wins[one.kernel] > wins[other.kernel];
  });
}

/// Reads what the results of a group have in common; an entry without `results` is its only one.
Record read_common(const Reader& reader, const Json& group, const std::string& at, bool is_best) {
  const Json& device = reader.member(group, at, "device");
  Record record;
  record.is_best = is_best;
  record.space = reader.text(group, at, "space");
  record.kernel = reader.text(group, at, "kernel");
  record.device = reader.text(device, at + "/device", "name");
  record.compute_capability = reader.capability(device, at + "/device");
  record.limits = reader.limits(device);
  const Json& provenance = reader.member(group, at, "provenance");
  record.kernel_hash = reader.text(provenance, at + "/provenance", "kernel_hash");
  record.stale = provenance.contains("stale") && provenance.at("stale") == true;
  return record;
}

Record read_record(const Reader& reader, const Json& entry, const std::string& at, Record common) {
  Record record = std::move(common);
  record.problem = reader.bindings(entry, at, "problem");
  record.parameters = reader.configuration(entry, at);
  const bool runs = record.is_best || !reader.member(entry, at, "time").is_null();
  if (runs) record.time_ms = reader.time_ms(entry, at);
  if (entry.contains("compared_with")) {
    record.compared_with = reader.text(entry, at, "compared_with");
  }
  return record;
}

/// The contents of one file.
struct File {
  std::filesystem::path path;
  std::string shared_from;
  /// It adds times to what the files before it have for a device and problem.
  bool is_of_times = false;
  db::ExportText text;           ///< Results of an export.
  std::vector<Record> measured;  ///< Results of a database.
  std::vector<Record> defaults;
};

void read_json(File& file) {
  const Reader reader(file.path.string());
  file.text = db::read_export_text(file.path);
  const Json& head = file.text.head;
  const std::string format = reader.text(head, "", "format");
  file.is_of_times = format == "smemtune-times";
  if (!file.is_of_times && format != "smemtune-best") {
    reader.fail("/format", "is not smemtune-best: this is not a file of `smemtune export`");
  }
  if (reader.number(head, "", "version") != 1) reader.fail("/version", "is not 1");
  if (!file.is_of_times) reader.array(head, "", "best");
  if (head.contains("candidates")) reader.array(head, "", "candidates");
  if (file.text.cut_off) reader.fail("/", "is not complete");
  if (!file.text.fault.empty()) throw InputError(file.path.string() + ": " + file.text.fault);
  if (!head.contains("defaults")) return;
  std::size_t number = 0;
  for (const Json& entry : reader.array(head, "", "defaults")) {
    const std::string at = "/defaults/" + std::to_string(number++);
    Record record;
    record.space = reader.text(entry, at, "space");
    record.kernel = reader.text(entry, at, "kernel");
    record.parameters = reader.configuration(entry, at);
    record.constraints = reader.texts(entry, at, "constraints");
    record.promising = reader.texts(entry, at, "promising");
    record.launches = reader.launches(entry, at);
    file.defaults.push_back(std::move(record));
  }
}

/// Adds the results of a group that has a table of their times: for each configuration those for each
/// problem, null where there is none.
void read_table(const Reader& reader, const Json& group, const std::string& at, Record common,
                std::vector<Record>& measured) {
  common.compared_with = reader.text(group, at, "compared_with");
  std::vector<Problem> problems;
  for (const Json& one : reader.array(group, at, "problems")) {
    problems.push_back(reader.bindings(one, at + "/problems"));
  }
  std::vector<Configuration> configurations;
  for (const Json& one : reader.array(group, at, "configurations")) {
    configurations.push_back(reader.bindings(one, at + "/configurations"));
  }
  const auto add = [&](std::size_t configuration, std::size_t problem, double mean_ms) {
    Record& record = measured.emplace_back(common);
    record.parameters = configurations[configuration];
    record.problem = problems[problem];
    record.time_ms = mean_ms;
  };
  db::for_each_time(group, reader.file() + ": " + at, add);
}

/// Adds the results of an entry of an export: itself, or those of a group.
void read_entry(const File& file, const db::ExportText::Entry& entry,
                std::vector<Record>& measured) {
  const Reader reader(file.path.string());
  const Json group = parse_json(entry.text, file.path.string() + ": " + entry.at);
  const Record common = read_common(reader, group, entry.at, entry.is_best);
  if (group.contains("mean_ms")) return read_table(reader, group, entry.at, common, measured);
  if (!group.contains("results")) {
    measured.push_back(read_record(reader, group, entry.at, common));
    return;
  }
  std::size_t number = 0;
  for (const Json& one : reader.array(group, entry.at, "results")) {
    const std::string at = entry.at + "/results/" + std::to_string(number++);
    measured.push_back(read_record(reader, one, at, common));
  }
}

void read_database(File& file) {
  const db::ResultStore store(file.path, db::ResultStore::Mode::read_only);
  std::vector<db::StoredResult> results = store.best({}, /*per_kernel=*/true);
  const std::size_t bests = results.size();
  std::ranges::move(store.candidates({}), std::back_inserter(results));
  for (const db::StoredResult& stored : results) {
    Record record;
    record.is_best = file.measured.size() < bests;
    record.space = stored.space;
    record.kernel = stored.result.kernel;
    record.device = stored.device.name;
    if (stored.device.kind == DeviceKind::gpu) {
      record.compute_capability = stored.device.compute_capability();
    }
    record.limits = device_names(stored.device);
    record.problem = stored.result.problem;
    record.parameters = stored.result.configuration;
    record.time_ms = stored.result.timed() ? stored.result.measurement.median_ms : 0;
    record.kernel_hash = stored.kernel_hash;
    record.stale = stored.stale;
    record.compared_with = to_text(stored.result.compared_with);
    file.measured.push_back(std::move(record));
  }
  for (const db::KernelDefaults& one : store.defaults({})) {
    Record record;
    record.space = one.space;
    record.kernel = one.kernel;
    record.parameters = one.configuration;
    record.constraints = one.constraints;
    record.promising = one.promising;
    record.launches = one.launches;
    file.defaults.push_back(std::move(record));
  }
}

/// Returns the files that `file` means: itself, or those in the folder that it is and in its folder
/// `times`.
std::vector<db::SharedFile> files_of(const std::filesystem::path& file, const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(file, ignored)) return {{.file = file, .name = name}};
  std::vector<db::SharedFile> files = db::files_in(file, file.string());
  const std::filesystem::path times = file / "times";
  std::ranges::move(db::files_in(times, times.string()), std::back_inserter(files));
  if (name.empty()) {
    for (db::SharedFile& one : files) one.name.clear();
  }
  return files;
}

/// Compares the measured records with each other, and brings equal configurations together.
void compare(Table& table) {
  std::vector<SelectionRow> rows;
  for (const Record& record : table.measured) {
    rows.push_back({.measured = measured_text(record),
                    .kernel = record.kernel,
                    .configuration = key(record.parameters),
                    .time_ms = record.time_ms,
                    .of = rows.size()});
  }
  std::vector<Record> sorted;
  for (const SelectionRow& row : selection_table(std::move(rows))) {
    Record& record = sorted.emplace_back(std::move(table.measured[row.of]));
    record.configuration = row.number;
    record.to_best = row.to_best;
    record.to_kernel_best = row.to_kernel_best;
  }
  table.measured = std::move(sorted);
}

void compile_expressions(Table& table) {
  if (table.measured.empty()) return;
  const Problem& problem = table.measured.front().problem;
  for (const Record& one : table.defaults) {
    const auto compiled = [&](const std::vector<std::string>& texts) {
      return StoredExpressions(texts, one.parameters, problem);
    };
    table.conditions.try_emplace(one.kernel,
                                 Conditions{compiled(one.constraints), compiled(one.promising)});
    table.launches.try_emplace(one.kernel, one.launches, one.parameters, problem);
  }
}

/// Moves what the earlier files do not have. `known`: the texts of what they have.
void add_unknown(std::vector<Record>& to, std::vector<Record>&& from, std::set<std::string>& known,
                 std::string (*text_of)(const Record&)) {
  std::set<std::string> added;
  for (Record& record : from) {
    const std::string text = text_of(record);
    if (known.contains(text)) continue;
    added.insert(text);
    to.push_back(std::move(record));
  }
  known.merge(added);
}

/// Returns what the files know of a space.
Table table_of(const std::vector<File>& files, const std::string& space) {
  const auto is_of_space = [&space](const Record& record) { return record.space == space; };
  Table table;
  std::vector<Record> times;
  std::set<std::string> measured_before;
  std::set<std::string> defaults_before;
  for (const File& file : files) {
    Table its;
    std::ranges::copy_if(file.measured, std::back_inserter(its.measured), is_of_space);
    std::ranges::copy_if(file.defaults, std::back_inserter(its.defaults), is_of_space);
    if (const auto found = file.text.entries.find(space); found != file.text.entries.end()) {
      for (const db::ExportText::Entry& entry : found->second)
        read_entry(file, entry, its.measured);
    }
    for (Record& record : its.measured) record.shared_from = file.shared_from;
    for (Record& record : its.defaults) record.shared_from = file.shared_from;
    if (file.is_of_times) {
      std::ranges::move(its.measured, std::back_inserter(times));
    } else {
      add_unknown(table.measured, std::move(its.measured), measured_before, measured_text);
    }
    add_unknown(table.defaults, std::move(its.defaults), defaults_before,
                [](const Record& record) { return record.kernel; });
  }
  const auto configuration_text = [](const Record& record) {
    return measured_text(record) + "\n" + record.kernel + "\n" + key(record.parameters);
  };
  std::set<std::string> known;
  std::ranges::transform(table.measured, std::inserter(known, known.end()), configuration_text);
  add_unknown(table.measured, std::move(times), known, configuration_text);
  order_by_wins(table.defaults, table.measured);
  compare(table);
  compile_expressions(table);
  return table;
}

bool has_same_names(const Problem& one, const Problem& other) {
  return std::ranges::equal(one, other, {}, &Problem::value_type::first,
                            &Problem::value_type::first);
}

/// Returns a model of what was measured on the target's device, or if nothing was there on others of
/// its compute capability, of problems with the names of this one; nullopt if nothing was.
std::optional<SizeModel> model_of(const Table& table, const Target& target,
                                  const Problem& problem) {
  const bool is_known =
      std::ranges::find(table.measured, target.device, &Record::device) != table.measured.end();
  std::vector<SizeModel::Measured> measured;
  const Bindings* limits = nullptr;
  for (const Record& one : table.measured) {
    const bool counts = is_known ? one.device == target.device
                                 : one.compute_capability == target.compute_capability &&
                                       one.compute_capability != 0;
    if (!counts || !has_same_names(one.problem, problem)) continue;
    measured.push_back({{one.kernel, one.parameters, one.problem}, one.to_best});
    limits = &one.limits;
  }
  if (measured.empty()) return std::nullopt;
  return std::optional<SizeModel>(std::in_place, measured, table.launches, *limits);
}

}  // namespace

class Results::Contents {
 public:
  explicit Contents(const std::vector<db::SharedFile>& files) {
    for (const db::SharedFile& one : files) {
      File& file = files_.emplace_back();
      file.path = one.file;
      file.shared_from = one.name;
      db::is_database(one.file) ? read_database(file) : read_json(file);
    }
  }

  /// Returns what is known of a space, which is read when it is asked for first. Threads may share
  /// this.
  const Table& of(const std::string& space) const {
    const std::lock_guard lock(mutex_);
    const auto known = tables_.find(space);
    return known != tables_.end() ? known->second
                                  : tables_.emplace(space, table_of(files_, space)).first->second;
  }

  /// Returns the model of what is known of a space (model_of()), which is made when it is asked for
  /// first; null if nothing is known. Threads may share this.
  const SizeModel* model(const std::string& space, const Table& table, const Target& target,
                         const Problem& problem) const {
    std::string about = space + "\n" + std::string(target.device) + "\n" +
                        std::to_string(target.compute_capability);
    for (const auto& [name, value] : problem) about += "\n" + name;
    const std::lock_guard lock(mutex_);
    auto known = models_.find(about);
    if (known == models_.end()) {
      known = models_.emplace(std::move(about), model_of(table, target, problem)).first;
    }
    return known->second ? &*known->second : nullptr;
  }

 private:
  std::vector<File> files_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Table> tables_;
  mutable std::map<std::string, std::optional<SizeModel>> models_;
};

Results::Results(const std::filesystem::path& file) {
  std::vector<db::SharedFile> files = files_of(file, "");
  const char* list = std::getenv("SMEMTUNE_SHARED_DB");
  std::ranges::move(db::shared_files(list == nullptr ? "" : list), std::back_inserter(files));
  contents_ = std::make_shared<const Contents>(files);
}

Results::Results(const std::vector<std::filesystem::path>& files) {
  std::vector<db::SharedFile> all;
  for (const std::filesystem::path& file : files) {
    if (file.empty()) continue;
    const bool is_first = &file == &files.front();
    std::ranges::move(files_of(file, is_first ? "" : file.string()), std::back_inserter(all));
  }
  contents_ = std::make_shared<const Contents>(all);
}

Selection Results::select(const Target& target, const std::string& space, const Problem& problem,
                          const std::string& kernel) const {
  const auto wanted = [&kernel](const Record& record) {
    return kernel.empty() || record.kernel == kernel;
  };
  const auto ratio_of = [&](const Record& record) {
    return wanted(record) ? size_ratio(record.problem, problem) : 0;
  };
  const auto to_best_of = [&](const Record& record) {
    return kernel.empty() ? record.to_best : record.to_kernel_best;
  };
  const Table& table = contents_->of(space);
  const auto fitness_on = [&](const Record& record, const Bindings& limits) {
    const auto its = table.conditions.find(record.kernel);
    if (its == table.conditions.end()) return Fitness::promising;  // Nothing says otherwise.
    if (!its->second.constraints.hold(record.parameters, problem, limits)) return Fitness::wrong;
    return its->second.promising.hold(record.parameters, problem, limits) ? Fitness::promising
                                                                          : Fitness::right;
  };
  const auto fitness_of = [&](const Record& record) { return fitness_on(record, record.limits); };
  const auto on_target = std::ranges::find(table.measured, target.device, &Record::device);
  const auto is_right_default = [&](const Record& record) {
    return wanted(record) && (on_target == table.measured.end() ||
                              fitness_on(record, on_target->limits) != Fitness::wrong);
  };
  const auto is_default = [&table](const Record& record) {
    return std::ranges::any_of(table.defaults, [&record](const Record& one) {
      return one.kernel == record.kernel && one.parameters == record.parameters;
    });
  };
  std::optional<const SizeModel*> model;  // Asked for only if the problem was not measured.
  const auto predicted = [&](const Record& record, double by_nearness) {
    if (!model) model = contents_->model(space, table, target, problem);
    if (*model == nullptr) return by_nearness;
    // Trees of few problems know less than how near these are.
    constexpr double kFewProblems = 10;
    const double share = kFewProblems / (kFewProblems + static_cast<double>((*model)->problems()));
    const double by_trees = (*model)->log_to_best({record.kernel, record.parameters, problem});
    const double to_best = std::exp(share * std::log(by_nearness) + (1 - share) * by_trees);
    // Default values are given up only for what is predicted to take less than this share of their
    // time.
    constexpr double kClearlyFaster = 0.97;
    return is_default(record) ? kClearlyFaster * to_best : to_best;
  };
  const Choice<Record> choice =
      or_defaults(select_measured(table.measured.data(), table.measured.size(), target, ratio_of,
                                  to_best_of, fitness_of, predicted),
                  table.defaults.data(), table.defaults.size(), is_right_default);
  Selection selection;
  selection.match = choice.match;
  selection.size_ratio = choice.size_ratio;
  selection.space = space;
  selection.problem = problem;
  if (!choice) return selection;
  selection.shared_from = choice->shared_from;
  selection.kernel = choice->kernel;
  selection.parameters = choice->parameters;
  selection.measured_problem = choice->problem;
  selection.measured_device = choice->device;
  selection.time_ms = choice->time_ms;
  selection.kernel_hash = choice->kernel_hash;
  selection.stale = choice->stale;
  if (choice.match != Match::defaults) selection.compared_with = choice->compared_with;
  return selection;
}

std::string Selection::text() const {
  if (match == Match::none) return "nothing is known of space " + space;
  std::string text = kernel + " " + key(parameters) + " (" + std::string(to_text(match));
  if (match != Match::defaults && match != Match::exact) {
    text += ": " + key(measured_problem) + " on " + measured_device + ", size ratio " +
            significant(size_ratio, 3);
  }
  if (!shared_from.empty()) text += ", from " + shared_from;
  if (stale) text += ", stale: the kernel has been edited since";
  return text + ")";
}

}  // namespace smemtune
