#include "reports/report_source.h"

#include "db/json_forms.h"
#include "db/rows.h"
#include "tuner/core/error.h"
#include "tuner/core/names.h"
#include "tuner/core/ranking.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace smemtune {

using db::ProblemResults;
using db::StoredResult;

namespace {

bool means(const db::Query& query, const ProblemResults& section) {
  if (!query.device.empty() && section.device.name != query.device) return false;
  const Problem wanted = query.problem.empty() ? Problem() : parse_key(query.problem);
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    const auto value = section.problem.find(entry.first);
    return value != section.problem.end() && to_text(value->second) == to_text(entry.second);
  });
}

void leave_kernel(ProblemResults& section, const std::string& kernel) {
  const auto is_other = [&](const StoredResult& one) { return one.result.kernel != kernel; };
  std::erase_if(section.results, is_other);
  std::erase_if(section.best, is_other);
  std::erase_if(section.failures, [&](const auto& entry) { return entry.first.kernel != kernel; });
  section.configurations = section.results.size();
  section.timed = static_cast<std::uint64_t>(std::ranges::count_if(
      section.results, [](const StoredResult& one) { return one.result.timed(); }));
}

/// Where only some results were read, the fastest of a kernel need not be among them.
void show_the_best(ProblemResults& section) {
  for (const StoredResult& best : section.best) {
    const bool is_there = std::ranges::any_of(section.results, [&](const StoredResult& one) {
      return one.result.kernel == best.result.kernel &&
             one.result.configuration == best.result.configuration;
    });
    if (!is_there) section.results.push_back(best);
  }
}

}  // namespace

void narrow(ReportSource& source, const db::Query& asked) {
  db::Query query = asked;
  std::vector<std::string> devices;
  std::vector<std::string> kernels;
  for (const ProblemResults& section : source.sections) {
    devices.push_back(section.device.name);
    for (const StoredResult& one : section.results) kernels.push_back(one.result.kernel);
  }
  if (!query.device.empty()) query.device = meant_name("device", query.device, devices);
  if (!query.kernel.empty()) query.kernel = meant_name("kernel", query.kernel, kernels);
  std::erase_if(source.sections,
                [&](const ProblemResults& section) { return !means(query, section); });
  if (query.kernel.empty()) return;
  for (ProblemResults& section : source.sections) leave_kernel(section, query.kernel);
  std::erase_if(source.sections,
                [](const ProblemResults& section) { return section.results.empty(); });
}

ReportSource stored_source(const db::ResultReader& store, const db::Query& query,
                           std::size_t most) {
  ReportSource source{.space = query.space,
                      .sections = store.sections(query, most),
                      .defaults = store.defaults(query),
                      .runs = store.runs(query)};
  std::ranges::for_each(source.sections, show_the_best);
  if (source.sections.size() > 1) source.devices = store.compare(query);
  return source;
}

const StoredResult* default_of(const ReportSource& source, const ProblemResults& section,
                               const std::string& kernel) {
  for (const db::KernelDefaults& defaults : source.defaults) {
    if (defaults.space != source.space || defaults.kernel != kernel) continue;
    for (const StoredResult& one : section.results) {
      if (one.result.kernel == kernel && one.result.timed() &&
          one.result.configuration == defaults.configuration) {
        return &one;
      }
    }
  }
  return nullptr;
}

std::vector<const StoredResult*> ties(const ProblemResults& section) {
  std::vector<const StoredResult*> ties;
  if (section.best.empty() || !section.best.front().result.chosen) return ties;
  for (const StoredResult& one : section.results) {
    const bool is_tied = one.result.tied && one.result.timed();
    if (is_tied && one.run_id == section.best.front().run_id) ties.push_back(&one);
  }
  return ties;
}

std::vector<const StoredResult*> by_time(const ProblemResults& section) {
  std::vector<const StoredResult*> timed;
  for (const StoredResult& one : section.results) {
    if (one.result.timed()) timed.push_back(&one);
  }
  std::ranges::stable_sort(
      timed, {}, [](const StoredResult* one) { return one->result.measurement.median_ms; });
  return timed;
}

bool is_dry(const ProblemResults& section) {
  return section.timed == 0 && std::ranges::any_of(section.results, [](const StoredResult& one) {
           return one.result.status == Status::fits;
         });
}

namespace {

using db::Json;
using db::ProblemResults;
using db::StoredResult;

/// Reads a part of a document; what is wrong with it is said with its place.
template <typename Read>
auto read_at(const std::string& place, const Read& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.out_of_range.403] key 'time' not found"
    const std::string text = error.what();
    throw InputError(place + ": " +
                     printable(text.substr(std::min(text.find("] ") + 2, text.size()))));
  } catch (const InputError& error) {
    throw InputError(place + ": " + error.what());
  }
}

void count(ProblemResults& section) {
  section.configurations = section.results.size();
  for (const StoredResult& one : section.results) {
    if (one.result.timed()) ++section.timed;
    if (one.result.failed()) {
      ++section.failures[{one.result.kernel, to_text(one.result.status), one.result.reason}];
    }
  }
}

/// Returns the best of each kernel, the best of all first. `all`: in their order.
std::vector<StoredResult> best_of_each_kernel(const std::vector<StoredResult>& all) {
  std::vector<RunResult> results;
  for (const StoredResult& one : all) results.push_back({&one.result, one.run_id});
  std::vector<StoredResult> bests;
  for (const Result* best : smemtune::best_of_each_kernel(results)) {
    const auto its =
        std::ranges::find(all, best, [](const StoredResult& one) { return &one.result; });
    bests.push_back(*its);
  }
  return bests;
}

/// Place in a section of the result of a kernel's configuration.
using Places = std::map<std::pair<std::string, std::string>, std::size_t>;

/// Adds a result, in the place of what was found of the same configuration before.
void add(ProblemResults& section, Places& places, StoredResult stored) {
  const auto [place, is_new] = places.try_emplace(
      {stored.result.kernel, key(stored.result.configuration)}, section.results.size());
  if (is_new) {
    section.results.push_back(std::move(stored));
  } else if (db::supersedes(stored.result, section.results[place->second].result)) {
    section.results[place->second] = std::move(stored);
  }
}

/// Adds the defaults that results say they are, and the sections' counts.
void complete(ReportSource& source) {
  std::set<std::string> kernels;
  for (ProblemResults& section : source.sections) {
    for (const StoredResult& one : section.results) {
      if (!one.result.is_default || !kernels.insert(one.result.kernel).second) continue;
      source.defaults.push_back({.space = source.space,
                                 .kernel = one.result.kernel,
                                 .configuration = one.result.configuration});
    }
    count(section);
  }
}

/// Reads what `list --results --json` printed of one space.
ReportSource results_from(const std::string& name, const Json& document) {
  ReportSource source;
  const Json& results = read_at(name, [&]() -> const Json& { return document.at("results"); });
  struct Part {
    ProblemResults section;
    Places places;
    std::vector<StoredResult> all;  ///< In their order, of which `section` has those that count.
  };
  std::map<std::pair<std::string, std::string>, Part> parts;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string place = name + ": results[" + std::to_string(i) + "]";
    StoredResult stored = read_at(place, [&] { return db::stored_from(results[i]); });
    if (source.space.empty()) source.space = stored.space;
    if (stored.space != source.space) {
      throw InputError(place + ": is of " + quote(stored.space) + ", those before of " +
                       quote(source.space) + "; a report covers one space");
    }
    if (stored.stale) continue;
    Part& part = parts[{db::device_model_key(stored.device), key(stored.result.problem)}];
    part.section.device = stored.device;
    part.section.problem = stored.result.problem;
    part.all.push_back(stored);
    add(part.section, part.places, std::move(stored));
  }
  for (auto& [where, part] : parts) {
    part.section.best = best_of_each_kernel(part.all);
    source.sections.push_back(std::move(part.section));
  }
  return source;
}

ReportSource run_from(const std::string& name, const Json& document) {
  ReportSource source;
  source.space = read_at(name, [&] { return document.at("space").get<std::string>(); });
  const Device device =
      read_at(name + ": device", [&] { return db::device_from(document.at("device")); });
  const Json& problems = read_at(name, [&]() -> const Json& { return document.at("problems"); });
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const std::string place = name + ": problems[" + std::to_string(i) + "]";
    ProblemResults section;
    section.device = device;
    section.problem = read_at(place, [&] { return db::bindings_from(problems[i].at("problem")); });
    Places places;
    const auto read_results = [&](const char* member, const auto& take) {
      const Json results = read_at(place, [&] { return problems[i].at(member); });
      for (std::size_t j = 0; j < results.size(); ++j) {
        StoredResult stored;
        stored.space = source.space;
        stored.device = device;
        stored.result = read_at(place + "." + member + "[" + std::to_string(j) + "]",
                                [&] { return db::result_from(results[j]); });
        take(std::move(stored));
      }
    };
    read_results("results",
                 [&](StoredResult&& stored) { add(section, places, std::move(stored)); });
    if (problems[i].contains("kernel_bests")) {
      read_results("kernel_bests",
                   [&](StoredResult&& stored) { section.best.push_back(std::move(stored)); });
    } else {  // Written by an earlier release.
      section.best = best_of_each_kernel(section.results);
    }
    if (!section.results.empty()) source.sections.push_back(std::move(section));
  }
  return source;
}

}  // namespace

std::variant<ReportSource, VersionDiff> read_document(const std::string& name,
                                                      std::string_view text) {
  const Json document = read_at(name, [&] { return Json::parse(text); });
  if (document.contains("kernels") && !document.contains("format")) {
    throw InputError(name + ": is a space file; to report on what is stored of it, use " +
                     "--space " + quote(name));
  }
  const auto format = read_at(name, [&] { return document.at("format").get<std::string>(); });
  if (format == "smemtune-run" || format == "smemtune-results") {
    ReportSource source =
        format == "smemtune-run" ? run_from(name, document) : results_from(name, document);
    if (source.sections.empty()) throw InputError(name + ": holds no result");
    complete(source);
    return source;
  }
  if (format == "smemtune-diff") {
    return read_at(name, [&] { return version_diff_from(document); });
  }
  throw InputError(
      name + ": is a document of format " + quote(format) +
      "; reports are made from what a run, a dry run, list --results or diff prints with --json");
}

}  // namespace smemtune
