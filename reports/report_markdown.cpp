#include "reports/report_markdown.h"

#include "reports/devices_side_by_side.h"
#include "reports/findings.h"
#include "reports/result_texts.h"
#include "reports/table.h"

namespace smemtune {
namespace {

std::string best_table(const ReportSource& source, const db::ProblemResults& section) {
  Table table({"kernel", "best configuration", ">time", ">over its default", ">rate"});
  for (const db::StoredResult& one : section.best) {
    const double ms = one.result.measurement.median_ms;
    const db::StoredResult* standard = default_of(source, section, one.result.kernel);
    table.add_row({one.result.kernel, key(one.result.configuration), format_time(ms),
                   standard == nullptr ? "" : times(standard->result.measurement.median_ms / ms),
                   rates(one.result)});
  }
  return table.markdown();
}

/// Returns a heading like `of, problem`, or only `of` if the problem's key is empty.
std::string heading(const std::string& of, const Problem& problem) {
  return "\n## " + for_markdown(of + (problem.empty() ? "" : ", " + key(problem))) + "\n\n";
}

std::string devices_text(const db::Comparison& devices) {
  std::string text;
  for (const db::Comparison::Row& row : devices.rows) {
    if (row.gpus.size() < 2) continue;
    text += heading("Devices side by side", row.problem);
    for (const std::string& sentence : devices_sentences(devices, row)) {
      text += "- " + for_markdown(sentence) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string report_markdown(const ReportSource& source) {
  std::string text = "# " + for_markdown(source.space) + "\n";
  if (source.devices) text += devices_text(*source.devices);
  for (const db::ProblemResults& section : source.sections) {
    text += heading(device_label(section.device), section.problem);
    for (const std::string& sentence : findings(source, section)) {
      text += "- " + for_markdown(sentence) + "\n";
    }
    if (!section.best.empty()) text += "\n" + best_table(source, section);
  }
  return text;
}

}  // namespace smemtune
