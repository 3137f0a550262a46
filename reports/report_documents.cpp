#include "reports/report_documents.h"

#include "db/json_forms.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace smemtune {
namespace {

using db::Json;
using db::StoredResult;
using db::StoredSection;

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

void count(StoredSection& section) {
  section.configurations = section.results.size();
  for (const StoredResult& one : section.results) {
    if (one.result.timed()) ++section.timed;
    if (one.result.failed()) {
      ++section.failures[{one.result.kernel, to_text(one.result.status), one.result.reason}];
    }
  }
}

/// The fastest of each kernel; where it has finals, of those.
std::vector<StoredResult> best_of_each_kernel(const StoredSection& section) {
  std::vector<StoredResult> best;
  std::set<std::string> kernels;
  const std::vector<const StoredResult*> timed = by_time(section);
  for (const bool in_finals : {true, false}) {
    for (const StoredResult* one : timed) {
      if (in_finals && one->result.stage != Stage::final) continue;
      if (kernels.insert(one->result.kernel).second) best.push_back(*one);
    }
  }
  std::ranges::stable_sort(best, {}, [](const StoredResult& one) {
    return std::pair(!one.result.chosen, one.result.measurement.median_ms);
  });
  return best;
}

ReportSource run_from(const std::string& name, const Json& document) {
  ReportSource source;
  source.space = read_at(name, [&] { return document.at("space").get<std::string>(); });
  const Device device =
      read_at(name + ": device", [&] { return db::device_from(document.at("device")); });
  const Json& problems = read_at(name, [&]() -> const Json& { return document.at("problems"); });
  std::set<std::string> kernels;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const std::string place = name + ": problems[" + std::to_string(i) + "]";
    StoredSection section;
    section.device = device;
    section.problem = read_at(place, [&] { return db::bindings_from(problems[i].at("problem")); });
    const Json results = read_at(place, [&] { return problems[i].at("results"); });
    for (std::size_t j = 0; j < results.size(); ++j) {
      StoredResult stored;
      stored.space = source.space;
      stored.device = device;
      stored.result = read_at(place + ".results[" + std::to_string(j) + "]",
                              [&] { return db::result_from(results[j]); });
      if (stored.result.is_default && kernels.insert(stored.result.kernel).second) {
        source.defaults.push_back({.space = source.space,
                                   .kernel = stored.result.kernel,
                                   .configuration = stored.result.configuration});
      }
      section.results.push_back(std::move(stored));
    }
    count(section);
    section.best = best_of_each_kernel(section);
    if (!section.results.empty()) source.sections.push_back(std::move(section));
  }
  if (source.sections.empty()) throw InputError(name + ": holds no result");
  return source;
}

}  // namespace

std::variant<ReportSource, VersionDiff> read_document(const std::string& name,
                                                      std::string_view text) {
  const Json document = read_at(name, [&] { return Json::parse(text); });
  const auto format = read_at(name, [&] { return document.at("format").get<std::string>(); });
  if (format == "smemtune-run") return run_from(name, document);
  if (format == "smemtune-diff") {
    return read_at(name, [&] { return version_diff_from(document); });
  }
  throw InputError(name + ": is a document of format " + quote(format) +
                   "; a report is made of those of a run or a dry run (--json) and of diff --json");
}

}  // namespace smemtune
