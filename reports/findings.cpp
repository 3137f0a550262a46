#include "reports/findings.h"

#include "reports/comparison.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "reports/why.h"
#include "tuner/core/text.h"
#include "tuner/search/strategy.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace smemtune {
namespace {

using db::ProblemResults;
using db::StoredResult;

constexpr std::size_t kNamedTies = 3;

double time_ms(const StoredResult& stored) { return stored.result.measurement.median_ms; }

std::string named(const StoredResult& stored) {
  const std::string configuration = key(stored.result.configuration);
  return stored.result.kernel + (configuration.empty() ? "" : " with " + configuration);
}

std::string over_default(const ReportSource& source, const ProblemResults& section,
                         const StoredResult& best) {
  const StoredResult* standard = default_of(source, section, best.result.kernel);
  if (standard == nullptr) return "Its default configuration was not timed here.";
  if (standard->result.configuration == best.result.configuration) {
    return "It is the kernel's default configuration.";
  }
  return "That is " + times(time_ms(*standard) / time_ms(best)) + " the speed of its default (" +
         key(standard->result.configuration) + ", " + format_time(time_ms(*standard)) + ").";
}

/// Returns where a result comes from; empty if a run of this database measured it.
std::string source_text(const StoredResult& stored) {
  if (!stored.shared_from.empty()) {
    return "It comes from " + stored.shared_from + ", which is shared: it was not measured here.";
  }
  if (!stored.origin) return "";
  const std::string& tool = stored.origin->tool;
  return "It was imported from " + stored.origin->file +
         (tool.empty() ? "" : ", which " + tool + " wrote") + ": it was not measured here.";
}

/// Returns the source of the correct outputs; empty if there is none besides the kernel itself.
std::string truth(ComparedWith with) {
  if (with == ComparedWith::definition) return "the space's definition";
  if (with == ComparedWith::expected_file) return "a file of expected outputs";
  return with == ComparedWith::another_kernel ? "another kernel's" : "";
}

std::string verification(const Coverage& coverage) {
  if (coverage.with == ComparedWith::unknown) {
    return "What its results were compared with was not stored.";
  }
  if (coverage.with == ComparedWith::only_itself) {
    return "Nothing says that its results are right: they were compared only with those of its "
           "own default configuration.";
  }
  std::string text = "Its results were compared with " + truth(coverage.with);
  if (coverage.by_old_rule) {
    return text + ", by the old rule: an earlier release took that from the space file.";
  }
  text += extent_text(coverage);
  if (!coverage.is_everywhere()) text += ", but not " + gaps_text(coverage);
  return text + ".";
}

std::string ties_text(const std::vector<const StoredResult*>& ties) {
  std::string text = "Statistically tied with it: ";
  const std::size_t shown = std::min(ties.size(), kNamedTies);
  for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? "; " : "") + named(*ties[i]);
  if (ties.size() > shown) text += "; and " + std::to_string(ties.size() - shown) + " more";
  return text + ".";
}

/// Returns the number of failures by status: `310 constraints, 12 compile`.
std::string failures_text(const ProblemResults& section) {
  std::map<std::string, std::uint64_t> by_status;
  for (const auto& [failure, count] : section.failures) by_status[failure.status] += count;
  return joined(by_status, ", ", [](const auto& failed) {
    return format_count(failed.second) + " " + failed.first;
  });
}

std::string tried_text(const ProblemResults& section) {
  const std::string failures = failures_text(section);
  // A shared file may contain only the bests.
  const bool is_shared = !section.best.empty() && !section.best.front().shared_from.empty();
  return counted(section.configurations, "configuration") + (is_shared ? " known, " : " tried, ") +
         format_count(section.timed) + " timed" +
         (failures.empty() ? "" : "; failed: " + failures) + ".";
}

std::vector<std::string> dry_findings(const ProblemResults& section) {
  std::uint64_t fit = section.configurations;
  for (const auto& [failure, count] : section.failures) fit -= count;
  std::vector<std::string> sentences = {
      format_count(fit) + " of " + counted(section.configurations, "configuration") + " fit " +
      device_label(section.device) + ". This is a dry run: nothing was launched or timed."};
  const StoredResult* fullest = nullptr;
  const auto occupancy = [](const StoredResult& one) {
    const LaunchResult* launch = tightest_launch(one.result);
    return launch == nullptr ? 0 : launch->occupancy.percent;
  };
  for (const StoredResult& one : section.results) {
    if (one.result.failed()) continue;
    if (fullest == nullptr || occupancy(one) > occupancy(*fullest)) fullest = &one;
  }
  if (fullest != nullptr && occupancy(*fullest) > 0) {
    sentences.push_back("The highest occupancy is " + decimal(occupancy(*fullest), 0) + " %, of " +
                        named(*fullest) + ".");
  }
  const std::string failures = failures_text(section);
  if (!failures.empty()) sentences.push_back("Rejected or failed: " + failures + ".");
  return sentences;
}

}  // namespace

std::vector<std::string> findings(const ReportSource& source, const ProblemResults& section) {
  if (is_dry(section)) return dry_findings(section);
  if (section.best.empty()) {
    return {"No configuration was verified and timed on " + device_label(section.device) + ".",
            tried_text(section)};
  }
  const StoredResult& best = section.best.front();
  const std::string rate = rates(best.result);
  std::vector<std::string> sentences;
  if (section.device.kind == DeviceKind::cpu) sentences.emplace_back(kCpuTimes);
  sentences.push_back(named(best) + " takes " + format_time(time_ms(best)) +
                      (rate.empty() ? "" : " (" + rate + ")") + " on " +
                      device_label(section.device) + ".");
  const std::string source_of_best = source_text(best);
  if (!source_of_best.empty()) sentences.push_back(source_of_best);
  if (best.result.stage == Stage::screen && !db::is_of_another_tuner(best)) {
    sentences.emplace_back("It was screened only: no finals were held.");
  }
  sentences.push_back(over_default(source, section, best));
  for (const WhyBeats& beats : why_best_beats(source, section)) {
    if (beats.why.sentence.empty()) continue;
    sentences.push_back("Against " + beats.other + " it " + beats.why.sentence + ".");
  }
  const Measurement& time = best.result.measurement;
  if (has_interval(time)) {
    sentences.push_back("Its median lies between " + format_time(time.median_low_ms) + " and " +
                        format_time(time.median_high_ms) +
                        " (95 % of confidence, n = " + std::to_string(time.sample_count) + ").");
  }
  sentences.push_back(verification(best.result.coverage()));
  const std::vector<const StoredResult*> tied = ties(section);
  if (!tied.empty()) sentences.push_back(ties_text(tied));
  sentences.push_back(tried_text(section));
  return sentences;
}

std::vector<std::string> repeating_commands(const ReportSource& source,
                                            const ProblemResults& section) {
  if (section.best.empty() || section.best.front().origin) return {};
  const StoredResult& best = section.best.front();
  const auto run = std::ranges::find(source.runs, best.run_id, &db::StoredRun::id);
  const std::string space =
      " --space " + shell_word(source.space) + " --problem " + shell_word(key(section.problem)) +
      " --device " +
      shell_word(section.device.kind == DeviceKind::cpu ? "cpu" : section.device.name);
  std::vector<std::string> commands = {"smemtune run" + space + " --kernel " +
                                       shell_word(best.result.kernel) + " --config " +
                                       shell_word(key(best.result.configuration))};
  const bool has_strategy =  // Earlier releases had others.
      run != source.runs.end() &&
      std::ranges::find(strategies(), run->strategy, &StrategyInfo::name) != strategies().end();
  if (has_strategy) {
    commands.push_back("smemtune" + space + " --strategy " + shell_word(run->strategy) +
                       " --seed " + std::to_string(run->seed) + " --fresh");
  }
  return commands;
}

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
