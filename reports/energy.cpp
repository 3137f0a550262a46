#include "reports/energy.h"

#include "db/json_forms.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "reports/text_layout.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

/// `1.27 J`, `12.3 mJ`.
std::string format_energy(double joules) {
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1, " J"}, {1e-3, " mJ"}, {1e-6, " uJ"}, {1e-9, " nJ"}}};
  for (const auto& [size, unit] : kUnits) {
    if (joules >= size) return significant(joules / size, 3) + unit;
  }
  return significant(joules, 3) + " J";
}

/// `power 98 %, heat 2 %`; empty if nothing limited its clock.
std::string limits_text(const Result& result) {
  std::string text;
  for (const char* limit : {"power", "heat"}) {
    const double percent = energy_fact(result, std::string(limit) + "_limited_percent").value_or(0);
    if (percent == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(limit) + " " + decimal(percent, 0) + " %";
  }
  return text;
}

/// " (82 W idle, power limit 700 W, 2 other processes on the GPU, whose energy counts as well)"
std::string circumstances(const std::vector<const Result*>& measured) {
  const Result& first = *measured.front();
  std::vector<std::string> parts;
  if (const auto watts = energy_fact(first, "idle_watts")) {
    parts.push_back(decimal(*watts, 0) + " W idle");
  }
  if (const auto watts = energy_fact(first, "power_limit_watts")) {
    parts.push_back("power limit " + decimal(*watts, 0) + " W");
  }
  double others = 0;
  for (const Result* result : measured) {
    others = std::max(others, energy_fact(*result, "other_processes").value_or(0));
  }
  if (others > 0) {
    parts.push_back(decimal(others, 0) + (others == 1 ? " other process" : " other processes") +
                    " on the GPU, whose energy counts as well");
  }
  return parts.empty() ? "" : " (" + joined(parts, ", ") + ")";
}

/// "  by edp tiled TILE=16 is the best of these: 1.10x the time and 0.80x the energy of the fastest"
std::string best_text(const std::vector<const Result*>& ranked, Objective objective) {
  const Result& best = *ranked.front();
  const Result& fastest = *ranked_by(Objective::time, ranked).front();
  std::string text = "  by " + to_text(objective) + " " + best.kernel + " " +
                     key(best.configuration) + " is the best of these";
  if (&best == &fastest) return text + ", and the fastest\n";
  const auto ratio = [&](Objective of) {
    return times(*objective_value(best, of) / *objective_value(fastest, of));
  };
  return text + ": " + ratio(Objective::time) + " the time and " + ratio(Objective::energy) +
         " the energy of the fastest\n";
}

bool contains(const std::vector<const Result*>& results, const Result* wanted) {
  return std::ranges::find(results, wanted) != results.end();
}

}  // namespace

std::string energy_text(std::span<const Result* const> results, Objective objective) {
  const std::vector<const Result*> ranked = ranked_by(objective, results);
  if (ranked.empty()) return "";
  const std::vector<const Result*> front = pareto_front(ranked);
  Table table({"kernel", ">time", ">energy", ">power", "front", "=limited by", "configuration"});
  for (const Result* result : ranked) {
    table.add_row({result->kernel, format_time(result->measurement.median_ms),
                   format_energy(*objective_value(*result, Objective::energy)),
                   decimal(energy_fact(*result, "mean_watts").value_or(0), 0) + " W",
                   contains(front, result) ? "*" : "", limits_text(*result),
                   key(result->configuration)});
  }
  const std::string heading = "  energy per launch of " + counted(ranked.size(), "finalist") +
                              ", and of nothing else" + circumstances(ranked) +
                              "; * none beats it in time or energy without losing in the other\n";
  std::string text = "\n" + wrapped(heading) + table.text("  ");
  if (objective != Objective::time) text += wrapped(best_text(ranked, objective));
  return text;
}

nlohmann::ordered_json energy_json(std::span<const Result* const> results, Objective objective) {
  const std::vector<const Result*> ranked = ranked_by(objective, results);
  if (ranked.empty()) return nullptr;
  const std::vector<const Result*> front = pareto_front(ranked);
  nlohmann::ordered_json finalists = nlohmann::ordered_json::array();
  for (const Result* result : ranked) {
    finalists.push_back({{"kernel", result->kernel},
                         {"configuration", db::bindings_json(result->configuration)},
                         {"time_ms", result->measurement.median_ms},
                         {"joules_per_launch", *objective_value(*result, Objective::energy)},
                         {"edp_joule_seconds", *objective_value(*result, Objective::edp)},
                         {"on_pareto_front", contains(front, result)}});
  }
  return {{"objective", to_text(objective)},
          {"measured", ranked.size()},
          {"finalists", std::move(finalists)}};
}

std::vector<const Result*> of_best_run(const db::ProblemResults& section) {
  std::vector<const Result*> results;
  for (const db::StoredResult& one : section.results) {
    const bool is_of_it = !section.best.empty() && one.run_id == section.best.front().run_id;
    if (is_of_it) results.push_back(&one.result);
  }
  return results;
}

std::string stored_energy_text(const ReportSource& source, Objective objective) {
  std::string text;
  for (const db::ProblemResults& section : source.sections) {
    const std::string energy = energy_text(of_best_run(section), objective);
    if (energy.empty()) continue;
    text += printable(source.space + "  " + key(section.problem) + "  on " +
                      device_label(section.device)) +
            energy;
  }
  return text;
}

std::string stored_energy_document(const ReportSource& source, Objective objective) {
  db::Json problems = db::Json::array();
  for (const db::ProblemResults& section : source.sections) {
    problems.push_back({{"problem", db::bindings_json(section.problem)},
                        {"device", section.device.name},
                        {"energy", energy_json(of_best_run(section), objective)}});
  }
  return db::document_text("smemtune-energy", 1,
                           {{"space", source.space}, {"problems", std::move(problems)}});
}

}  // namespace smemtune
