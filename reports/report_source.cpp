#include "reports/report_source.h"

#include "tuner/core/names.h"

#include <algorithm>
#include <cstdint>

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

std::vector<const StoredResult*> by_time(const ProblemResults& section, const std::string& kernel) {
  std::vector<const StoredResult*> timed;
  for (const StoredResult& one : section.results) {
    if (one.result.timed() && (kernel.empty() || one.result.kernel == kernel)) {
      timed.push_back(&one);
    }
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

}  // namespace smemtune
