#include "reports/energy.h"

#include "db/json_forms.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

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

/// " (82 W before, power limit 700 W, 2 other processes on the GPU, whose energy counts as well)"
std::string circumstances(const std::vector<const Result*>& measured) {
  const Result& first = *measured.front();
  double others = 0;
  for (const Result* result : measured) {
    others = std::max(others, energy_fact(*result, "other_processes").value_or(0));
  }
  std::vector<std::string> parts;
  if (const auto watts = energy_fact(first, "idle_watts")) {
    parts.push_back(decimal(*watts, 0) + (others > 0 ? " W before" : " W idle"));
  }
  if (const auto watts = energy_fact(first, "power_limit_watts")) {
    parts.push_back("power limit " + decimal(*watts, 0) + " W");
  }
  if (others > 0) {
    parts.push_back(decimal(others, 0) + (others == 1 ? " other process" : " other processes") +
                    " on the GPU, whose energy counts as well");
  }
  return parts.empty() ? "" : " (" + joined(parts, ", ") + ")";
}

/// "  by edp tiled TILE=16 is the best of these: 1.10x the time and 0.80x the energy of the fastest"
std::string best_text(const std::vector<const Result*>& ranked, const Objective& objective) {
  const Result& best = *ranked.front();
  const Result& fastest = **std::ranges::min_element(
      ranked, {}, [](const Result* result) { return result->measurement.median_ms; });
  std::string text = "  by " + objective.text() + " " + best.kernel + " " +
                     key(best.configuration) + " is the best of these";
  if (&best == &fastest) return text + ", and the fastest\n";
  text += ": " + times(best.measurement.median_ms / fastest.measurement.median_ms) + " the time";
  if (const auto joules = joules_of(best), its = joules_of(fastest); joules && its) {
    text += " and " + times(*joules / *its) + " the energy";
  }
  return text + " of the fastest\n";
}

bool contains(const std::vector<const Result*>& results, const Result* wanted) {
  return std::ranges::find(results, wanted) != results.end();
}

std::vector<const Result*> ranked_of(std::span<const Result* const> results,
                                     const Objective& objective) {
  std::vector<const Result*> ranked = ranked_by(objective, results);
  if (objective.is_time()) std::erase_if(ranked, [](auto* one) { return !joules_of(*one); });
  return ranked;
}

/// Returns the finalists of which the objective is not known.
std::vector<const Result*> without_value(std::span<const Result* const> results,
                                         const Objective& objective) {
  std::vector<const Result*> without;
  std::ranges::copy_if(results, std::back_inserter(without), [&](const Result* result) {
    return can_be_ranked(*result) && !objective.value(*result);
  });
  return without;
}

/// "energy and counter.l2_bytes are not known"
std::string unknown_text(const std::vector<const Result*>& results, const Objective& objective) {
  std::set<std::string> unknown;
  for (const Result* result : results) {
    const std::vector<std::string> names = objective.unknown_of(*result);
    unknown.insert(names.begin(), names.end());
  }
  if (unknown.empty()) return "it has no value";
  const std::vector<std::string> names(unknown.begin(), unknown.end());
  return joined(names, " and ") + (names.size() == 1 ? " is" : " are") + " not known";
}

}  // namespace

std::string energy_text(std::span<const Result* const> results, const Objective& objective) {
  const std::vector<const Result*> ranked = ranked_of(results, objective);
  if (ranked.empty()) return "";
  const std::vector<const Result*> front = pareto_front(ranked);
  const auto is_final = [](const Result* result) { return result->stage == Stage::final; };
  const bool has_others = !std::ranges::all_of(ranked, is_final);
  const bool has_value = !objective.is_time() && objective.text() != "energy";
  std::vector<std::string> columns = {"kernel", ">time"};
  if (has_others) columns.emplace_back("stage");
  if (has_value) columns.emplace_back(">value");
  if (!front.empty()) {
    columns.insert(columns.end(), {">energy", ">power", "front", "=limited by"});
  }
  columns.emplace_back("configuration");
  Table table(columns);
  std::size_t not_listed = 0;
  for (const Result* result : ranked) {
    if (!is_final(result) && !contains(front, result) && result != ranked.front()) {
      ++not_listed;
      continue;
    }
    std::vector<std::string> row = {result->kernel, format_time(result->measurement.median_ms)};
    if (has_others) row.push_back(to_text(result->stage));
    if (has_value) row.push_back(significant(*objective.value(*result), 4));
    if (!front.empty()) {
      const auto joules = joules_of(*result);
      const auto watts = energy_fact(*result, "mean_watts");
      row.insert(row.end(),
                 {joules ? format_energy(*joules) : "-", watts ? decimal(*watts, 0) + " W" : "-",
                  contains(front, result) ? "*" : "", limits_text(*result)});
    }
    row.push_back(key(result->configuration));
    table.add_row(row);
  }
  const std::string count = counted(ranked.size(), has_others ? "configuration" : "finalist");
  const auto measured = static_cast<std::size_t>(
      std::ranges::count_if(ranked, [](auto* one) { return joules_of(*one).has_value(); }));
  std::string heading = measured == ranked.size() ? "" : count + " by " + objective.text();
  if (measured > 0) {
    heading +=
        (heading.empty() ? "energy per launch of " + count
                         : ", energy per launch of " + std::to_string(measured) + " of them") +
        ", and of nothing else" + circumstances(front) +
        "; * none beats it in time or energy without losing in the other";
  }
  std::string text = "\n" + wrapped("  " + heading + "\n") + table.text("  ");
  if (not_listed > 0) {
    text += "  not listed: " + format_count(not_listed) + " that are neither finalists nor *\n";
  }
  if (!objective.is_time()) {
    text += wrapped(best_text(ranked, objective));
    if (const auto others = without_value(results, objective); !others.empty()) {
      text += wrapped("  not ranked: " + counted(others.size(), "other") + ", as " +
                      unknown_text(others, objective) + "\n");
    }
  }
  return text;
}

nlohmann::ordered_json energy_json(std::span<const Result* const> results,
                                   const Objective& objective) {
  const std::vector<const Result*> ranked = ranked_of(results, objective);
  if (ranked.empty()) return nullptr;
  const std::vector<const Result*> front = pareto_front(ranked);
  const Objective edp("edp");
  const auto form = [&](const Result* result) -> db::Json {
    return {{"kernel", result->kernel},
            {"configuration", db::bindings_json(result->configuration)},
            {"stage", to_text(result->stage)},
            {"time_ms", result->measurement.median_ms},
            {"value", *objective.value(*result)},
            {"joules_per_launch", db::or_null(joules_of(*result))},
            {"mean_watts", db::or_null(energy_fact(*result, "mean_watts"))},
            {"edp_joule_seconds", db::or_null(edp.value(*result))},
            {"on_pareto_front", contains(front, result)}};
  };
  return {{"objective", objective.text()}, {"ranked", db::list_json(ranked, form)}};
}

std::string energy_line(const Result& result) {
  const std::optional<double> joules = joules_of(result);
  if (!joules) return "";
  const std::string limits = limits_text(result);
  return "  energy per launch: " + format_energy(*joules) + " at " +
         decimal(energy_fact(result, "mean_watts").value_or(0), 0) + " W" +
         circumstances({&result}) + (limits.empty() ? "" : ", clock limited by " + limits) + "\n";
}

std::vector<const Result*> of_best_run(const db::ProblemResults& section) {
  std::vector<const Result*> results;
  for (const db::StoredResult& one : section.results) {
    const bool is_of_it = !section.best.empty() && one.run_id == section.best.front().run_id;
    if (is_of_it) results.push_back(&one.result);
  }
  return results;
}

std::string stored_energy_text(const ReportSource& source, const Objective& objective) {
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

void refuse_unranked(const ReportSource& source, const Objective& objective) {
  std::vector<const Result*> without;
  for (const db::ProblemResults& section : source.sections) {
    const std::vector<const Result*> results = of_best_run(section);
    if (objective.is_time() || !ranked_by(objective, results).empty()) return;
    std::ranges::move(without_value(results, objective), std::back_inserter(without));
  }
  std::string text =
      "no finalist of " + quote(source.space) + " can be ranked by " + objective.text() + ": ";
  text += without.empty() ? "there is none" : unknown_text(without, objective);
  std::string options;
  if (objective.uses(kEnergyFacts)) options += " --energy";
  if (objective.uses(kCounterFacts)) options += " --counters";
  throw InputError(text + (options.empty() ? "" : " (smemtune --space FILE" + options + ")"));
}

std::string stored_energy_document(const ReportSource& source, const Objective& objective) {
  const auto form = [&](const db::ProblemResults& section) -> db::Json {
    return {{"problem", db::bindings_json(section.problem)},
            {"device", section.device.name},
            {"energy", energy_json(of_best_run(section), objective)}};
  };
  return db::document_text(
      "smemtune-energy", 1,
      {{"space", source.space}, {"problems", db::list_json(source.sections, form)}});
}

}  // namespace smemtune
