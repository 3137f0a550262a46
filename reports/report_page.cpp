#include "reports/report_page.h"

#include "db/json_forms.h"
#include "db/rows.h"
#include "reports/comparison.h"
#include "reports/energy.h"
#include "reports/findings.h"
#include "reports/history.h"
#include "reports/result_texts.h"
#include "reports/why.h"
#include "tuner/core/hash.h"
#include "tuner/core/roofline.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

// Files that are embedded in the program; cmake/EmbedText.cmake writes their definitions.
namespace smemtune::embedded {

extern const std::string_view kPageHtml;  ///< Contains placeholders of the form @NAME@.
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;
extern const std::string_view kChartJs;  ///< Chart.js; empty if it was not available at build time.

}  // namespace smemtune::embedded

namespace smemtune {
namespace {

/// Returns one printable line without any markup of HTML; safe in attributes, too.
std::string for_html(std::string_view text) {
  std::string html;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

/// Encodes a hash, given as hexadecimal digits, in base64 (RFC 4648).
std::string base64_of_hex(const std::string& hex) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char digit : hex) {
    bits = bits << 4 | static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    held += 4;
    if (held < 6) continue;
    held -= 6;
    text += kDigits[bits >> held & 63];
  }
  if (held > 0) text += kDigits[bits << (6 - held) & 63];
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

/// Returns the name by which a Content-Security-Policy allows an inline script or style.
std::string source_hash(std::string_view text) {
  return "'sha256-" + base64_of_hex(sha256(text)) + "'";
}

std::string policy(std::string_view charts, bool live) {
  return "default-src 'none'; script-src " + source_hash(embedded::kPageJs) +
         (charts.empty() ? "" : " " + source_hash(charts)) + "; style-src " +
         source_hash(embedded::kPageCss) + (live ? "; connect-src 'self'" : "") +
         "; base-uri 'none'; form-action 'none'";
}

/// Returns JSON that cannot end the HTML element around it, whatever its strings contain.
std::string inert_json(const nlohmann::ordered_json& data) {
  std::string text;
  for (const char c : data.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

/// Returns Chart.js's own name for its version: `Chart.js v3.9.1`.
std::string charts_version(std::string_view charts) {
  const std::size_t at = charts.find("Chart.js v");
  if (at == std::string_view::npos) return "Chart.js";
  return std::string(charts.substr(at, charts.find_first_of(" \r\n*", at + 10) - at));
}

}  // namespace

std::string report_page(const nlohmann::ordered_json& data, const std::string& title,
                        std::string_view charts) {
  const std::map<std::string, std::string, std::less<>> parts = {
      {"POLICY", policy(charts, data.contains("live"))},
      {"VERSION", SMEMTUNE_VERSION},
      {"TITLE", for_html(title)},
      {"STYLE", std::string(embedded::kPageCss)},
      {"DATA", inert_json(data)},
      {"SCRIPT", std::string(embedded::kPageJs)},
      {"CHART_SCRIPT", charts.empty() ? "" : "<script>" + std::string(charts) + "</script>"},
      {"CHARTS", charts.empty() ? "It was built without Chart.js: this page has tables only."
                                : "Charts by " + for_html(charts_version(charts)) +
                                      " (MIT License, chartjs.org), which is in this page."},
  };
  std::string page;
  std::string_view rest = embedded::kPageHtml;
  for (;;) {
    const std::size_t begin = rest.find('@');
    if (begin == std::string_view::npos) break;
    const std::size_t end = rest.find('@', begin + 1);
    page += rest.substr(0, begin);
    page += parts.at(std::string(rest.substr(begin + 1, end - begin - 1)));
    rest.remove_prefix(end + 1);
  }
  page += rest;
  return page;
}

std::string_view embedded_charts() { return embedded::kChartJs; }

namespace {

using db::Json;
using db::ProblemResults;
using db::StoredResult;

/// Maximum number of finalists that are shown, of samples for each, and of samples of all sections.
constexpr std::size_t kFinalists = 20;
constexpr std::size_t kSamples = 200;
constexpr std::size_t kAllSamples = 40'000;
constexpr std::size_t kFewestSamples = 20;  ///< Fewer are none, and fewer finalists are shown.
constexpr std::size_t kFewFinalists = 8;

// Configurations whose facts are shown: of all devices and problems together, and of each at least.
constexpr std::size_t kAllFacts = 800;
constexpr std::size_t kFewestFacts = 2;

/// A list of words, each of which occurs once.
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
          {"started_unix", run.started_unix < 0 ? Json() : Json(run.started_unix)},
          {"device", run.device},
          {"compiler", run.compiler},
          {"strategy", run.strategy},
          {"seed", run.imported_from.empty() ? std::to_string(run.seed) : ""},
          {"results", run.results},
          {"correct", run.correct},
          {"outcome", run.outcome.empty() ? "not ended" : run.outcome},
          {"imported_from", run.imported_from}};
}

/// A column of numbers taken from launches; NaN if unknown.
struct LaunchColumn {
  const char* name;
  double (*value)(const LaunchResult&);
};

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

constexpr LaunchColumn kLaunchColumns[] = {
    {"registers",
     [](const LaunchResult& one) {
       return one.resources.known() ? one.resources.registers_per_thread : kUnknown;
     }},
    {"shared", [](const LaunchResult& one) { return static_cast<double>(one.shared_bytes()); }},
    {"occupancy",
     [](const LaunchResult& one) {
       return one.occupancy.percent > 0 ? one.occupancy.percent : kUnknown;
     }},
    {"spills",
     [](const LaunchResult& one) {
       const Resources& its = one.resources;
       return its.known() ? static_cast<double>(its.spill_store_bytes + its.spill_load_bytes)
                          : kUnknown;
     }},
    {"threads",
     [](const LaunchResult& one) { return static_cast<double>(one.shape.threads_per_block()); }}};

/// Returns work per launch, null where none is known.
Json work_json(const Result& result, const char* name) {
  const double work = metric(result, name);
  return work > 0 ? rounded_json(work) : Json();
}

/// Returns a column's cells, or only one where all are the same.
Json without_repetition(Json cells) {
  const bool is_constant =
      std::ranges::all_of(cells, [&](const Json& cell) { return cell == cells.front(); });
  return is_constant && !cells.empty() ? Json::array({cells.front()}) : cells;
}

using Rows = std::vector<const StoredResult*>;

/// Returns the timed results, fastest first, followed by the others.
Rows rows_of(const ProblemResults& section) {
  Rows rows = by_time(section);
  for (const StoredResult& one : section.results) {
    if (!one.result.timed()) rows.push_back(&one);
  }
  return rows;
}

class ReportWriter {
 public:
  explicit ReportWriter(const ReportSource& source) : source_(source) {
    std::set<std::string> names;
    for (const ProblemResults& section : source.sections) {
      for (const StoredResult& stored : section.results) {
        for (const auto& [name, value] : stored.result.configuration) names.insert(name);
      }
    }
    parameters_.assign(names.begin(), names.end());
    values_.resize(parameters_.size());
  }

  Json json() {
    Json sections = db::list_json(
        source_.sections, [this](const ProblemResults& section) { return this->section(section); });
    Json parameters = Json::array();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters.push_back({{"name", parameters_[i]}, {"values", values_[i].words()}});
    }
    return {{"space", source_.space},
            {"kernels", kernels_.words()},
            {"statuses", statuses_.words()},
            {"details", details_.words()},
            {"fact_names", fact_names_.words()},
            {"parameters", std::move(parameters)},
            {"run_list", db::list_json(source_.runs, run_json)},
            {"device_list", devices_},
            {"devices", source_.devices ? devices_json(*source_.devices) : Json::array()},
            {"sections", std::move(sections)}};
  }

 private:
  Json section(const ProblemResults& section) {
    const Roofline roof = roofline(section.device);
    const Rows rows = rows_of(section);
    Json columns = this->columns(rows);
    const auto step_json = [](const ProblemResults::Step& step) {
      return Json::array({step.evaluations, db::number_json(step.seconds), step.best_ms});
    };
    return {{"device", device_number(section.device)},
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
            {"chosen_by", to_text(section.chosen_by)},
            {"failures", failures(section, rows)},
            {"convergence", db::list_json(section.convergence, step_json)},
            {"samples", samples(rows)},
            {"why", why_json(source_, section)},
            {"energy", energy_json(of_best_run(section), Objective())},
            {"facts", facts(rows)},
            {"history", history(section)},
            {"count", rows.size()},
            {"rows", std::move(columns)}};
  }

  std::size_t device_number(const Device& device) {
    Json json = db::device_json(device);
    const auto same = std::ranges::find(devices_, json);
    const auto number = static_cast<std::size_t>(same - devices_.begin());
    if (same == devices_.end()) devices_.push_back(std::move(json));
    return number;
  }

  Json best(const ProblemResults& section) const {
    return db::list_json(section.best, [&](const StoredResult& one) {
      const StoredResult* standard = default_of(source_, section, one.result.kernel);
      const std::optional<double> measured = measured_dram_bytes(one.result);
      Json json = {
          {"kernel", one.result.kernel},
          {"values", values_json(one.result.configuration)},
          {"default_ms",
           standard == nullptr ? Json() : rounded_json(standard->result.measurement.median_ms)},
          {"flops", work_json(one.result, "flops")},
          {"bytes", work_json(one.result, "bytes")},
          {"dram_bytes", measured == std::nullopt ? Json() : rounded_json(*measured)},
          {"from", one.origin ? one.origin->file : one.shared_from},
          {"rate", rates(one.result)},
          {"compared_with", to_text(one.result.coverage())}};
      json.update(time_json(one.result.measurement));
      return json;
    });
  }

  /// Returns entries of the form [kernel, status, count, row of an example or null].
  Json failures(const ProblemResults& section, const Rows& rows) {
    Json list = Json::array();
    for (const auto& [failure, count] : section.failures) {
      const auto example = std::ranges::find_if(rows, [&, &of = failure](const StoredResult* one) {
        return one->result.kernel == of.kernel && to_text(one->result.status) == of.status &&
               one->result.reason == of.reason;
      });
      list.push_back({kernels_.number(failure.kernel),
                      statuses_.number(status_text(failure.status, failure.reason)), count,
                      example == rows.end() ? Json() : Json(example - rows.begin())});
    }
    return list;
  }

  /// Returns for each finalist, fastest first: its row, interval of the median, number of samples,
  /// and some of them.
  Json samples(const Rows& rows) const {
    const std::size_t most = std::min(kSamples, kAllSamples / kFinalists / source_.sections.size());
    const bool has_samples = most >= kFewestSamples;
    const std::size_t finalists = has_samples ? kFinalists : kFewFinalists;
    Json list = Json::array();
    for (std::size_t row = 0; row < rows.size() && list.size() < finalists; ++row) {
      const Measurement& time = rows[row]->result.measurement;
      if (rows[row]->result.stage != Stage::final || time.samples_ms.empty()) continue;
      Json shown = Json::array();
      const std::size_t step = time.samples_ms.size() / std::max(most, kFewestSamples) + 1;
      for (std::size_t i = 0; has_samples && i < time.samples_ms.size(); i += step)
        shown.push_back(rounded_json(time.samples_ms[i]));
      list.push_back({{"row", row},
                      {"low", rounded_json(time.median_low_ms)},
                      {"high", rounded_json(time.median_high_ms)},
                      {"n", time.sample_count},
                      {"ms", std::move(shown)}});
    }
    return list;
  }

  /// Returns for each finalist with facts, fastest first: its row, and for each launch with facts
  /// its name and [number of a fact's name, value, ...].
  Json facts(const Rows& rows) {
    const std::size_t most = std::max(kFewestFacts, kAllFacts / source_.sections.size());
    Json list = Json::array();
    for (std::size_t row = 0; row < rows.size() && list.size() < std::min(most, kFinalists);
         ++row) {
      Json launches = Json::array();
      for (const LaunchResult& launch : rows[row]->result.launches) {
        if (launch.facts.empty()) continue;
        Json values = Json::array();
        for (const auto& [name, value] : launch.facts) {
          values.push_back(fact_names_.number(name));
          values.push_back(rounded_json(value));
        }
        launches.push_back({{"name", launch.shape.name_expression}, {"values", values}});
      }
      if (!launches.empty()) list.push_back({{"row", row}, {"launches", std::move(launches)}});
    }
    return list;
  }

  /// Null where the winner was not in finals, or nobody asked for histories.
  Json history(const ProblemResults& section) const {
    const auto of = std::ranges::find_if(source_.histories, [&](const WinnerHistory& one) {
      return one.winner.result.problem == section.problem &&
             db::device_model_key(one.winner.device) == db::device_model_key(section.device);
    });
    return of == source_.histories.end() ? Json() : winner_history_json(*of);
  }

  Json columns(const Rows& rows) {
    Json json = Json::object();
    const auto column = [&](const char* name, const auto& cell) {
      json[name] = without_repetition(
          db::list_json(rows, [&](const StoredResult* stored) { return cell(stored->result); }));
    };
    column("kernel", [&](const Result& one) { return kernels_.number(one.kernel); });
    column("status", [&](const Result& one) {
      return statuses_.number(status_text(to_text(one.status), one.reason));
    });
    column("detail", [&](const Result& one) {
      return details_.number(one.failed() ? printable(one.detail, 200) : "");
    });
    column("ms", [](const Result& one) {
      return one.timed() ? rounded_json(one.measurement.median_ms) : Json();
    });
    for (const LaunchColumn& of_launch : kLaunchColumns) {
      column(of_launch.name, [&](const Result& one) {
        const LaunchResult* launch = tightest_launch(one);
        return launch == nullptr ? Json() : rounded_json(of_launch.value(*launch));
      });
    }
    for (const char* work : {"flops", "bytes"}) {
      column(work, [&](const Result& one) { return work_json(one, work); });
    }
    json["values"] = Json::array();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto cell = [&](const StoredResult* stored) {
        const auto value = stored->result.configuration.find(parameters_[i]);
        return value == stored->result.configuration.end()
                   ? Json(-1)
                   : Json(values_[i].number(to_text(value->second)));
      };
      json["values"].push_back(without_repetition(db::list_json(rows, cell)));
    }
    return json;
  }

  const ReportSource& source_;
  std::vector<std::string> parameters_;
  std::vector<Words> values_;  ///< Values of each parameter.
  std::vector<Json> devices_;
  Words kernels_;
  Words statuses_;
  Words details_;
  Words fact_names_;
};

}  // namespace

nlohmann::ordered_json report_json(const ReportSource& source) {
  return ReportWriter(source).json();
}

}  // namespace smemtune
