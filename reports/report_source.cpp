#include "reports/report_source.h"

#include "db/layered_store.h"

#include <algorithm>

namespace smemtune {

using db::StoredResult;
using db::StoredSection;

template <typename Store>
ReportSource stored_source(const Store& store, const db::Query& query, std::size_t most) {
  ReportSource source{.space = query.space,
                      .sections = store.sections(query, most),
                      .defaults = store.defaults(query),
                      .runs = store.runs(query)};
  if (source.sections.size() > 1) source.devices = store.compare(query);
  return source;
}

template ReportSource stored_source(const db::ResultStore&, const db::Query&, std::size_t);
template ReportSource stored_source(const db::LayeredStore&, const db::Query&, std::size_t);

const StoredResult* default_of(const ReportSource& source, const StoredSection& section,
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

std::vector<const StoredResult*> ties(const StoredSection& section) {
  std::vector<const StoredResult*> ties;
  if (section.best.empty() || section.best.front().result.stage != Stage::final) return ties;
  const StoredResult& best = section.best.front();
  for (const StoredResult& one : section.results) {
    const bool is_best = one.result.configuration == best.result.configuration &&
                         one.result.kernel == best.result.kernel;
    const bool raced_it =
        one.result.stage == Stage::final && one.result.timed() && one.run_id == best.run_id;
    const Measurement& other = one.result.measurement;
    if (!is_best && raced_it && other.median_low_ms <= best.result.measurement.median_high_ms &&
        best.result.measurement.median_low_ms <= other.median_high_ms) {
      ties.push_back(&one);
    }
  }
  return ties;
}

std::vector<const StoredResult*> by_time(const StoredSection& section, const std::string& kernel) {
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

bool is_dry(const StoredSection& section) {
  return section.timed == 0 && std::ranges::any_of(section.results, [](const StoredResult& one) {
           return one.result.status == Status::fits;
         });
}

}  // namespace smemtune
