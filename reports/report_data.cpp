#include "reports/report_data.h"

#include "db/device_model.h"
#include "db/json_forms.h"
#include "reports/problem_results.h"
#include "reports/table.h"
#include "tuner/core/roofline.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

namespace smemtune {
namespace {

using db::Json;
using db::StoredResult;

double median_ms(const StoredResult& stored) { return stored.result.measurement.median_ms; }

/// Whether `later`, of the same configuration, takes the place of `earlier`.
bool supersedes(const StoredResult& later, const StoredResult& earlier) {
  if (is_transient(later.result)) return is_transient(earlier.result);
  return later.result.failed() || later.result.timed() || !earlier.result.timed();
}

void find_ties(ReportSection& section) {
  if (section.best.empty() || section.best.front()->result.stage != Stage::final) return;
  const Measurement& best = section.best.front()->result.measurement;
  for (const StoredResult* one : section.results) {
    if (one->result.configuration == section.best.front()->result.configuration &&
        one->result.kernel == section.best.front()->result.kernel) {
      continue;
    }
    if (one->result.stage != Stage::final || !one->result.timed() ||
        one->run_id != section.best.front()->run_id) {
      continue;
    }
    const Measurement& other = one->result.measurement;
    if (other.median_low_ms <= best.median_high_ms && best.median_low_ms <= other.median_high_ms) {
      section.ties.push_back(one);
    }
  }
}

std::string named(const StoredResult& stored) {
  const std::string configuration = key(stored.result.configuration);
  return stored.result.kernel + (configuration.empty() ? "" : " with " + configuration);
}

const StoredResult* default_of(const ReportSource& source, const ReportSection& section,
                               const std::string& kernel) {
  for (const db::KernelDefaults& defaults : source.defaults) {
    if (defaults.space != source.space || defaults.kernel != kernel) continue;
    for (const StoredResult* one : section.results) {
      if (one->result.kernel == kernel && one->result.timed() &&
          one->result.configuration == defaults.configuration) {
        return one;
      }
    }
  }
  return nullptr;
}

std::string over_default(const ReportSource& source, const ReportSection& section,
                         const StoredResult& best) {
  const StoredResult* standard = default_of(source, section, best.result.kernel);
  if (standard == nullptr) return "Its default configuration was not timed here.";
  if (standard->result.configuration == best.result.configuration) {
    return "It is the kernel's default configuration.";
  }
  return "That is " + times(median_ms(*standard) / median_ms(best)) +
         " the speed of its default (" + key(standard->result.configuration) + ", " +
         format_time(median_ms(*standard)) + ").";
}

std::string verification(ComparedWith with) {
  switch (with) {
    case ComparedWith::definition:
      return "Its results were held against the space's definition.";
    case ComparedWith::expected_file:
      return "Its results were held against a file of expected ones.";
    case ComparedWith::another_kernel:
      return "Its results were held against another kernel's.";
    case ComparedWith::only_itself:
      return "Nothing says that its results are right: they were compared only with those of its "
             "own default configuration.";
    case ComparedWith::unknown:
      break;
  }
  return "What its results were compared with was not stored.";
}

std::string ties_text(const ReportSection& section) {
  std::string text = "Statistically tied with it: ";
  const std::size_t shown = std::min<std::size_t>(section.ties.size(), 3);
  for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? "; " : "") + named(*section.ties[i]);
  if (section.ties.size() > shown) {
    text += "; and " + std::to_string(section.ties.size() - shown) + " more";
  }
  return text + ".";
}

/// Of the statuses that failures have, how many: `310 constraints, 12 compile`.
std::string failures_text(const ReportSection& section) {
  std::map<std::string, std::uint64_t> failures;
  for (const StoredResult* one : section.results) {
    if (one->result.failed()) ++failures[to_text(one->result.status)];
  }
  std::string text;
  for (const auto& [status, count] : failures) {
    text += (text.empty() ? "" : ", ") + format_count(count) + " " + status;
  }
  return text;
}

std::string tried_text(const ReportSection& section) {
  const auto timed = static_cast<std::uint64_t>(
      std::count_if(section.results.begin(), section.results.end(),
                    [](const StoredResult* one) { return one->result.timed(); }));
  const std::string failures = failures_text(section);
  return counted(section.results.size(), "configuration") + " tried, " + format_count(timed) +
         " timed" + (failures.empty() ? "" : "; failed: " + failures) + ".";
}

/// Words, each once.
class Words {
 public:
  std::size_t number(const std::string& word) {
    const auto [place, added] = numbers_.try_emplace(word, words_.size());
    if (added) words_.push_back(word);
    return place->second;
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> words_;
};

bool is_kept_always(const StoredResult& stored) {
  return stored.result.stage == Stage::final || stored.result.chosen || stored.result.is_default;
}

std::vector<const StoredResult*> sampled(const std::vector<const StoredResult*>& results,
                                         std::size_t max_rows) {
  if (results.size() <= max_rows) return results;
  std::vector<const StoredResult*> kept;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool due = (i + 1) * max_rows / results.size() > taken;
    taken += due ? 1 : 0;
    if (due || is_kept_always(*results[i])) kept.push_back(results[i]);
  }
  return kept;
}

/// The best time after so many evaluations and seconds, wherever it became better: over all runs,
/// the time between them left out.
Json convergence(const ReportSource& source, const ReportSection& section) {
  std::map<std::string, double> began;
  for (const db::StoredRun& run : source.runs) began[run.id] = run.started_unix;
  const std::string model = db::device_model_key(*section.device);
  Json steps = Json::array();
  std::string run;
  double before = 0;
  double within = 0;
  std::size_t evaluations = 0;
  double best = 0;
  for (const StoredResult& stored : source.results) {
    if (stored.stale || stored.result.problem != section.problem) continue;
    if (stored.run_id != run) {
      before += within;
      run = stored.run_id;
    }
    const auto start = began.find(run);
    within = start == began.end() ? 0 : std::max(0.0, stored.at_unix - start->second);
    if (stored.result.stage == Stage::final) continue;  // Timed again, not found.
    if (db::device_model_key(stored.device) != model) continue;
    ++evaluations;
    if (!stored.result.timed() || (best > 0 && median_ms(stored) >= best)) continue;
    best = median_ms(stored);
    steps.push_back({evaluations, before + within, best});
  }
  if (!steps.empty()) steps.push_back({evaluations, before + within, best});
  return steps;
}

/// Columns of one section's results; kernels, statuses, runs and details are numbers of words.
Json columns(const std::vector<const StoredResult*>& rows, Words& kernels, Words& statuses,
             Words& details, Words& runs, const std::vector<std::string>& parameters,
             std::map<std::string, Words>& values) {
  Json json = Json::object();
  for (const char* name :
       {"kernel", "status", "detail", "run", "stage", "flags", "ms", "low", "high", "q1", "q3",
        "registers", "shared", "occupancy", "spills", "threads", "flops", "bytes"}) {
    json[name] = Json::array();
  }
  json["values"] = Json::array();
  for (std::size_t i = 0; i < parameters.size(); ++i) json["values"].push_back(Json::array());
  for (const StoredResult* stored : rows) {
    const Result& result = stored->result;
    const bool timed = result.timed();
    const Measurement& times = result.measurement;
    const auto or_null = [&](double value) { return timed ? db::number_json(value) : Json(); };
    json["kernel"].push_back(kernels.number(result.kernel));
    json["status"].push_back(statuses.number(to_text(result.status) +
                                             (result.reason.empty() ? "" : "/" + result.reason)));
    json["detail"].push_back(details.number(result.failed() ? printable(result.detail, 200) : ""));
    json["run"].push_back(runs.number(stored->run_id));
    json["stage"].push_back(static_cast<int>(result.stage));
    json["flags"].push_back((result.is_default ? 1 : 0) | (result.chosen ? 2 : 0));
    json["ms"].push_back(or_null(times.median_ms));
    const bool final = result.stage == Stage::final;
    json["low"].push_back(final ? or_null(times.median_low_ms) : Json());
    json["high"].push_back(final ? or_null(times.median_high_ms) : Json());
    json["q1"].push_back(final ? or_null(times.q1_ms) : Json());
    json["q3"].push_back(final ? or_null(times.q3_ms) : Json());
    const LaunchResult* launch = tightest_launch(result);
    const auto of_launch = [&](double value) {
      return launch == nullptr ? Json() : db::number_json(value);
    };
    json["registers"].push_back(
        of_launch(launch == nullptr ? 0 : launch->resources.registers_per_thread));
    json["shared"].push_back(
        of_launch(launch == nullptr ? 0 : static_cast<double>(launch->shared_bytes())));
    json["occupancy"].push_back(of_launch(launch == nullptr ? 0 : launch->occupancy.percent));
    json["spills"].push_back(
        of_launch(launch == nullptr ? 0
                                    : static_cast<double>(launch->resources.spill_store_bytes +
                                                          launch->resources.spill_load_bytes)));
    json["threads"].push_back(of_launch(
        launch == nullptr ? 0
                          : static_cast<double>(launch->shape.block[0] * launch->shape.block[1] *
                                                launch->shape.block[2])));
    json["flops"].push_back(metric(result, "flops"));
    json["bytes"].push_back(metric(result, "bytes"));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto value = result.configuration.find(parameters[i]);
      json["values"][i].push_back(value == result.configuration.end()
                                      ? Json(-1)
                                      : Json(values[parameters[i]].number(to_text(value->second))));
    }
  }
  return json;
}

std::vector<std::string> parameters_of(const ReportSource& source) {
  std::set<std::string> names;
  for (const StoredResult& stored : source.results) {
    for (const auto& [name, value] : stored.result.configuration) names.insert(name);
  }
  return {names.begin(), names.end()};
}

Json run_json(const db::StoredRun& run) {
  return {{"run", run.id},
          {"started_unix", run.started_unix},
          {"device", run.device},
          {"compiler", run.compiler},
          {"strategy", run.strategy},
          {"seed", std::to_string(run.seed)},
          {"results", run.results},
          {"correct", run.correct},
          {"outcome", run.outcome.empty() ? "cut off" : run.outcome}};
}

std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : printable(text)) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '[' || c == ']' ||
        c == '#' || c == '!') {
      cell += '\\';
    }
    if (c == '<')
      cell += "&lt;";
    else if (c == '>')
      cell += "&gt;";
    else if (c == '&')
      cell += "&amp;";
    else if (c == '@')
      cell += "&#64;";  // Mentions nobody.
    else
      cell += c;
  }
  return cell;
}

}  // namespace

std::vector<ReportSection> report_sections(const ReportSource& source) {
  using Place = std::tuple<bool, std::string, std::string, std::string>;
  const auto place = [](const StoredResult& stored) {
    return Place(stored.device.kind == DeviceKind::cpu, stored.device.name,
                 db::device_model_key(stored.device), key(stored.result.problem));
  };
  std::map<Place, ReportSection> sections;
  std::map<std::tuple<Place, std::string, std::string>, std::size_t> seen;
  for (const StoredResult& stored : source.results) {
    if (stored.stale || stored.result.status == Status::fits) continue;
    const Place where = place(stored);
    ReportSection& section = sections[where];
    section.device = &stored.device;
    section.problem = stored.result.problem;
    const auto [row, added] = seen.try_emplace(
        {where, stored.result.kernel, key(stored.result.configuration)}, section.results.size());
    if (added) {
      section.results.push_back(&stored);
    } else if (supersedes(stored, *section.results[row->second])) {
      section.results[row->second] = &stored;
    }
  }
  for (const StoredResult& stored : source.best) {
    const auto section = sections.find(place(stored));
    if (section != sections.end() && !stored.stale) section->second.best.push_back(&stored);
  }
  std::vector<ReportSection> list;
  for (auto& [where, section] : sections) {
    std::stable_sort(section.best.begin(), section.best.end(),
                     [](const StoredResult* one, const StoredResult* other) {
                       return median_ms(*one) < median_ms(*other);
                     });
    find_ties(section);
    list.push_back(std::move(section));
  }
  return list;
}

std::vector<std::string> findings(const ReportSource& source, const ReportSection& section) {
  if (section.best.empty()) {
    return {"No configuration was verified and timed on " + device_label(*section.device) + ".",
            tried_text(section)};
  }
  const StoredResult& best = *section.best.front();
  const std::string rate = rates(best.result);
  std::vector<std::string> sentences = {named(best) + " takes " + format_time(median_ms(best)) +
                                        (rate.empty() ? "" : " (" + rate + ")") + " on " +
                                        device_label(*section.device) + "."};
  if (best.result.stage == Stage::screen) {
    sentences.emplace_back("It was screened only: no finals were held.");
  }
  sentences.push_back(over_default(source, section, best));
  sentences.push_back(verification(best.result.compared_with));
  if (!section.ties.empty()) sentences.push_back(ties_text(section));
  sentences.push_back(tried_text(section));
  return sentences;
}

nlohmann::ordered_json report_json(const ReportSource& source, std::size_t max_rows) {
  Words kernels;
  Words statuses;
  Words details;
  Words runs;
  for (const db::StoredRun& run : source.runs) runs.number(run.id);
  const std::vector<std::string> parameters = parameters_of(source);
  std::map<std::string, Words> values;
  Json sections = Json::array();
  for (const ReportSection& section : report_sections(source)) {
    const std::vector<const StoredResult*> rows = sampled(section.results, max_rows);
    const Roofline roof = roofline(*section.device);
    Json best = Json::array();
    for (const StoredResult* one : section.best) {
      const StoredResult* standard = default_of(source, section, one->result.kernel);
      best.push_back({{"kernel", one->result.kernel},
                      {"configuration", key(one->result.configuration)},
                      {"ms", median_ms(*one)},
                      {"default_ms", standard == nullptr ? Json() : Json(median_ms(*standard))},
                      {"rate", rates(one->result)},
                      {"compared_with", to_text(one->result.compared_with)}});
    }
    sections.push_back(
        {{"device", db::device_json(*section.device)},
         {"device_label", device_label(*section.device)},
         {"problem", key(section.problem)},
         {"findings", findings(source, section)},
         {"best", std::move(best)},
         {"flops_per_s", roof.flops_per_s},
         {"bytes_per_s", roof.bytes_per_s},
         {"total", section.results.size()},
         {"convergence", convergence(source, section)},
         {"rows", columns(rows, kernels, statuses, details, runs, parameters, values)}});
  }
  Json parameter_list = Json::array();
  for (const std::string& name : parameters) {
    parameter_list.push_back({{"name", name}, {"values", values[name].words()}});
  }
  Json run_list = Json::array();
  for (const db::StoredRun& run : source.runs) run_list.push_back(run_json(run));
  return {{"space", source.space},
          {"kernels", kernels.words()},
          {"statuses", statuses.words()},
          {"details", details.words()},
          {"runs", runs.words()},
          {"parameters", std::move(parameter_list)},
          {"run_list", std::move(run_list)},
          {"sections", std::move(sections)}};
}

std::string report_markdown(const ReportSource& source) {
  std::string text = "# " + markdown_cell(source.space) + "\n";
  for (const ReportSection& section : report_sections(source)) {
    text += "\n## " + markdown_cell(device_label(*section.device) + ", " + key(section.problem)) +
            "\n\n";
    for (const std::string& sentence : findings(source, section)) {
      text += "- " + markdown_cell(sentence) + "\n";
    }
    if (section.best.empty()) continue;
    text +=
        "\n| kernel | best configuration | time | over its default | rate "
        "|\n|---|---|--:|--:|--:|\n";
    for (const StoredResult* one : section.best) {
      const StoredResult* standard = default_of(source, section, one->result.kernel);
      text += "| " + markdown_cell(one->result.kernel) + " | " +
              markdown_cell(key(one->result.configuration)) + " | " + format_time(median_ms(*one)) +
              " | " + (standard == nullptr ? "" : times(median_ms(*standard) / median_ms(*one))) +
              " | " + rates(one->result) + " |\n";
    }
  }
  return text;
}

}  // namespace smemtune
