#include "reports/report_json.h"

#include "db/json_forms.h"
#include "reports/devices_side_by_side.h"
#include "reports/findings.h"
#include "reports/problem_results.h"
#include "tuner/core/roofline.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace smemtune {
namespace {

using db::Json;
using db::StoredResult;
using db::StoredSection;

/// Of so many finalists the single samples are shown, and of each so many.
constexpr std::size_t kFinalists = 20;
constexpr std::size_t kSamples = 200;

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

std::string status_text(const std::string& status, const std::string& reason) {
  return status + (reason.empty() ? "" : "/" + reason);
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
          {"outcome", run.outcome.empty() ? "not ended" : run.outcome},
          {"imported_from", run.imported_from}};
}

/// What a column of numbers holds of a launch.
struct LaunchColumn {
  const char* name;
  double (*value)(const LaunchResult&);
};

constexpr LaunchColumn kLaunchColumns[] = {
    {"registers",
     [](const LaunchResult& one) -> double { return one.resources.registers_per_thread; }},
    {"shared", [](const LaunchResult& one) { return static_cast<double>(one.shared_bytes()); }},
    {"occupancy", [](const LaunchResult& one) { return one.occupancy.percent; }},
    {"spills",
     [](const LaunchResult& one) {
       return static_cast<double>(one.resources.spill_store_bytes + one.resources.spill_load_bytes);
     }},
    {"threads", [](const LaunchResult& one) {
       return static_cast<double>(one.shape.block[0] * one.shape.block[1] * one.shape.block[2]);
     }}};

/// What a column of numbers holds of a measurement; of finalists only, or of all that were timed.
struct TimeColumn {
  const char* name;
  double Measurement::*value;
  bool of_finalists;
};

constexpr TimeColumn kTimeColumns[] = {{"ms", &Measurement::median_ms, false},
                                       {"low", &Measurement::median_low_ms, true},
                                       {"high", &Measurement::median_high_ms, true},
                                       {"q1", &Measurement::q1_ms, true},
                                       {"q3", &Measurement::q3_ms, true}};

class Writer {
 public:
  explicit Writer(const ReportSource& source) : source_(source) {
    std::set<std::string> names;
    for (const StoredSection& section : source.sections) {
      for (const StoredResult& stored : section.results) {
        for (const auto& [name, value] : stored.result.configuration) names.insert(name);
      }
    }
    parameters_.assign(names.begin(), names.end());
    values_.resize(parameters_.size());
    for (const db::StoredRun& run : source.runs) runs_.number(run.id);
  }

  Json json() {
    Json sections = Json::array();
    for (const StoredSection& section : source_.sections)
      sections.push_back(this->section(section));
    Json parameters = Json::array();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters.push_back({{"name", parameters_[i]}, {"values", values_[i].words()}});
    }
    Json run_list = Json::array();
    for (const db::StoredRun& run : source_.runs) run_list.push_back(run_json(run));
    return {{"space", source_.space},
            {"kernels", kernels_.words()},
            {"statuses", statuses_.words()},
            {"details", details_.words()},
            {"runs", runs_.words()},
            {"parameters", std::move(parameters)},
            {"run_list", std::move(run_list)},
            {"devices", source_.devices ? devices_json(*source_.devices) : Json::array()},
            {"sections", std::move(sections)}};
  }

 private:
  Json section(const StoredSection& section) {
    const Roofline roof = roofline(section.device);
    Json columns = this->columns(section);
    Json steps = Json::array();
    for (const StoredSection::Step& step : section.convergence) {
      steps.push_back({step.evaluations, step.seconds, step.best_ms});
    }
    return {{"device", db::device_json(section.device)},
            {"device_label", device_label(section.device)},
            {"problem", key(section.problem)},
            {"dry", is_dry(section)},
            {"findings", findings(source_, section)},
            {"commands", repeating_commands(source_, section)},
            {"best", best(section)},
            {"flops_per_s", roof.flops_per_s},
            {"bytes_per_s", roof.bytes_per_s},
            {"total", section.configurations},
            {"timed", section.timed},
            {"failures", failures(section)},
            {"convergence", std::move(steps)},
            {"samples", samples(section)},
            {"rows", std::move(columns)}};
  }

  Json best(const StoredSection& section) const {
    Json best = Json::array();
    for (const StoredResult& one : section.best) {
      const StoredResult* standard = default_of(source_, section, one.result.kernel);
      best.push_back({{"kernel", one.result.kernel},
                      {"configuration", key(one.result.configuration)},
                      {"ms", one.result.measurement.median_ms},
                      {"default_ms",
                       standard == nullptr ? Json() : Json(standard->result.measurement.median_ms)},
                      {"rate", rates(one.result)},
                      {"compared_with", to_text(one.result.compared_with)}});
    }
    return best;
  }

  /// [kernel, status, how many, an example's row or null]
  Json failures(const StoredSection& section) {
    Json list = Json::array();
    for (const auto& [failure, count] : section.failures) {
      const auto example =
          std::ranges::find_if(section.results, [&, &of = failure](const StoredResult& one) {
            return one.result.kernel == of.kernel && to_text(one.result.status) == of.status &&
                   one.result.reason == of.reason;
          });
      list.push_back(
          {kernels_.number(failure.kernel),
           statuses_.number(status_text(failure.status, failure.reason)), count,
           example == section.results.end() ? Json() : Json(example - section.results.begin())});
    }
    return list;
  }

  /// [row, its samples in ms] of the finalists, the fastest first.
  static Json samples(const StoredSection& section) {
    Json list = Json::array();
    for (const StoredResult* one : by_time(section)) {
      const std::vector<double>& all = one->result.measurement.samples_ms;
      if (one->result.stage != Stage::final || all.empty()) continue;
      if (list.size() == kFinalists) break;
      Json shown = Json::array();
      const std::size_t step = all.size() / kSamples + 1;
      for (std::size_t i = 0; i < all.size(); i += step) shown.push_back(db::number_json(all[i]));
      list.push_back({one - section.results.data(), std::move(shown)});
    }
    return list;
  }

  Json columns(const StoredSection& section) {
    Json json = Json::object();
    const auto column = [&](const char* name, const auto& cell) {
      Json cells = Json::array();
      for (const StoredResult& stored : section.results) cells.push_back(cell(stored));
      json[name] = std::move(cells);
    };
    column("kernel", [&](const StoredResult& one) { return kernels_.number(one.result.kernel); });
    column("status", [&](const StoredResult& one) {
      return statuses_.number(status_text(to_text(one.result.status), one.result.reason));
    });
    column("detail", [&](const StoredResult& one) {
      return details_.number(one.result.failed() ? printable(one.result.detail, 200) : "");
    });
    column("run", [&](const StoredResult& one) { return runs_.number(one.run_id); });
    column("flags", [](const StoredResult& one) {
      return (one.result.is_default ? 1 : 0) | (one.result.chosen ? 2 : 0);
    });
    for (const TimeColumn& time : kTimeColumns) {
      column(time.name, [&](const StoredResult& one) {
        const bool has_it =
            one.result.timed() && (!time.of_finalists || one.result.stage == Stage::final);
        return has_it ? db::number_json(one.result.measurement.*time.value) : Json();
      });
    }
    for (const LaunchColumn& of_launch : kLaunchColumns) {
      column(of_launch.name, [&](const StoredResult& one) {
        const LaunchResult* launch = tightest_launch(one.result);
        return launch == nullptr ? Json() : db::number_json(of_launch.value(*launch));
      });
    }
    for (const char* work : {"flops", "bytes"}) {
      column(work, [&](const StoredResult& one) { return metric(one.result, work); });
    }
    json["values"] = Json::array();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Json cells = Json::array();
      for (const StoredResult& stored : section.results) {
        const auto value = stored.result.configuration.find(parameters_[i]);
        cells.push_back(value == stored.result.configuration.end()
                            ? Json(-1)
                            : Json(values_[i].number(to_text(value->second))));
      }
      json["values"].push_back(std::move(cells));
    }
    return json;
  }

  const ReportSource& source_;
  std::vector<std::string> parameters_;
  std::vector<Words> values_;  ///< Of each parameter.
  Words kernels_;
  Words statuses_;
  Words details_;
  Words runs_;
};

}  // namespace

nlohmann::ordered_json report_json(const ReportSource& source) { return Writer(source).json(); }

}  // namespace smemtune
