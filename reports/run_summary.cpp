#include "reports/run_summary.h"

#include "db/json_forms.h"
#include "reports/expectations.h"
#include "reports/kernel_table.h"
#include "reports/problem_results.h"
#include "reports/table.h"
#include "reports/value_bars.h"
#include "tuner/core/derived_tolerance.h"
#include "tuner/core/occupancy.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace smemtune {
namespace {

using db::Json;

/// "40 registers, 8.0 KB shared, no spills, 100 % occupancy (threads)"
std::string resources_text(const Result& result, const Device& device) {
  const LaunchResult* launch = tightest_launch(result);
  if (launch == nullptr) return "";
  std::string text =
      format_bytes(static_cast<double>(launch->shared_bytes())) + " shared per block";
  if (device.kind == DeviceKind::cpu) return text;
  text = std::to_string(launch->resources.registers_per_thread) + " registers, " + text;
  const std::int64_t spilled =
      launch->resources.spill_store_bytes + launch->resources.spill_load_bytes;
  text += spilled == 0 ? ", no spills" : ", " + std::to_string(spilled) + " bytes spilled";
  if (launch->resources.stack_bytes > 0) {
    text += ", " + std::to_string(launch->resources.stack_bytes) + " bytes of stack";
  }
  text += ", " + decimal(launch->occupancy.percent, 0) + " % occupancy (limited by " +
          joined(launch->occupancy.limiters(), " and ") + ")";
  return text;
}

/// What changing a single parameter of the best costs: where its lead comes from.
std::string one_step_away(const ProblemSummary& problem) {
  const Result& best = *problem.best;
  std::string text;
  for (const auto& [name, value] : best.configuration) {
    const Result* nearest = nullptr;
    for (const Result* other : timed_results(problem, best.kernel)) {
      Configuration changed = other->configuration;
      const auto found = changed.find(name);
      if (found == changed.end() || found->second == value) continue;
      found->second = value;
      if (changed != best.configuration) continue;
      if (nearest == nullptr || other->measurement.median_ms < nearest->measurement.median_ms) {
        nearest = other;
      }
    }
    if (nearest == nullptr) continue;
    const double slower = 100 * (nearest->measurement.median_ms / best.measurement.median_ms - 1);
    text += (text.empty() ? "" : ", ") + name + "=" + to_text(nearest->configuration.at(name)) +
            " " + (slower < 0 ? "" : "+") + decimal(slower, 1) + " %";
    if (best.stage == Stage::final && nearest->stage != Stage::final) text += " (screened only)";
  }
  return text;
}

std::string change_text(double change, const std::string& amount, const char* what) {
  return (change > 0 ? "costs " : "saves ") + amount + (change > 0 ? " more " : " of ") + what;
}

/// "1.80x over yours (+-0.4 %), which is TILE=16; costs 12.0 KB more shared memory per block"
std::string over_default_text(const ProblemSummary& problem, const Device& device) {
  const Result& best = *problem.best;
  const Result* const by_default = default_result(problem, best.kernel);
  if (by_default == nullptr) return "";
  if (by_default->configuration == best.configuration) {
    if (problem.default_in_doubt) return to_text(*problem.default_in_doubt);
    if (best.configuration.empty()) return "";
    return best.compared_with == ComparedWith::only_itself
               ? "it is the default, which the others were compared with"
               : "the default is already the best";
  }
  const auto is_default = [&](const Result& tie) {
    return tie.kernel == best.kernel && tie.configuration == by_default->configuration;
  };
  std::string text;
  if (std::any_of(problem.ties.begin(), problem.ties.end(), is_default)) {
    text = "the default, " + key(by_default->configuration) + ", is statistically tied with it";
  } else {
    double factor = by_default->measurement.median_ms / best.measurement.median_ms;
    std::string margin;
    if (const auto& paired = problem.default_slower) {
      factor = 1 + paired->percent / 100;
      const double half = (paired->high_percent - paired->low_percent) / 2 / factor;
      if (std::isfinite(half)) margin = " (+-" + decimal(half, 1) + " %)";
    }
    text = times(factor) + " over the default" + margin + ", " + key(by_default->configuration);
  }
  const LaunchResult* const ours = tightest_launch(best);
  const LaunchResult* const theirs = tightest_launch(*by_default);
  if (ours == nullptr || theirs == nullptr) return text;
  const std::int64_t shared = ours->shared_bytes() - theirs->shared_bytes();
  if (shared != 0) {
    text += "; " + change_text(static_cast<double>(shared),
                               format_bytes(std::abs(static_cast<double>(shared))),
                               "shared memory per block");
  }
  const int registers =
      ours->resources.registers_per_thread - theirs->resources.registers_per_thread;
  if (device.kind == DeviceKind::gpu && registers != 0) {
    text +=
        "; " + change_text(registers, std::to_string(std::abs(registers)), "registers per thread");
  }
  return text;
}

/// "verified against its definition"
std::string compared_with_text(const Space& space, const Result& result) {
  switch (result.compared_with) {
    case ComparedWith::definition:
      return "verified against its definition";
    case ComparedWith::expected_file:
      return "verified against expected files";
    case ComparedWith::another_kernel:
      return "verified against another kernel, " +
             (space.verify.also_reference.empty()
                  ? space.verify.reference
                  : space.verify.also_reference + ", on the problems of \"also\"");
    case ComparedWith::only_itself:
      return "*** compared with nothing but its own default: it may be wrong";
    case ComparedWith::unknown:
      break;
  }
  return "stored by an earlier release, which did not tell what it was compared with";
}

std::string why(const Space& space, const ProblemSummary& problem, const Device& device) {
  const Result& best = *problem.best;
  std::string text = "  best: " + best.kernel + " " + key(best.configuration) + "  " +
                     format_time(best.measurement.median_ms) + "\n";
  if (best.stage != Stage::final) {
    text += "    screened only: no finals were held, so others may be as fast\n";
  }
  text += "    " + compared_with_text(space, best) + "\n";
  const std::string over_default = over_default_text(problem, device);
  if (!over_default.empty()) text += "    " + over_default + "\n";
  std::string leads;
  const Result* runner_up = nullptr;
  for (const KernelTemplate& kernel : space.kernels) {
    if (kernel.name == best.kernel) continue;
    const Result* other = kernel_best(problem, kernel.name);
    if (other != nullptr &&
        (runner_up == nullptr || other->measurement.median_ms < runner_up->measurement.median_ms)) {
      runner_up = other;
    }
  }
  if (runner_up != nullptr) {
    leads = times(runner_up->measurement.median_ms / best.measurement.median_ms) + " over " +
            runner_up->kernel + "'s best";
  }
  if (!leads.empty()) text += "    " + leads + "\n";
  const std::string resources = resources_text(best, device);
  if (!resources.empty()) text += "    " + resources + "\n";
  if (best.measurement.throttled) {
    text += "    throttled: measured at " + decimal(best.measurement.sm_clock_mhz, 0) +
            " MHz, below what the device reached before\n";
  }
  const std::string steps = one_step_away(problem);
  if (!steps.empty()) text += "    one parameter changed: " + steps + "\n";
  if (!problem.ties.empty()) {
    text += "    statistically tied with: ";
    const std::size_t shown = std::min<std::size_t>(problem.ties.size(), 4);
    for (std::size_t i = 0; i < shown; ++i) {
      text +=
          (i == 0 ? "" : "; ") + problem.ties[i].kernel + " " + key(problem.ties[i].configuration);
    }
    if (shown < problem.ties.size()) {
      text += " and " + std::to_string(problem.ties.size() - shown) + " more";
    }
    text += "\n";
  }
  if (problem.unfinished) {
    text += "    chance that something more than 1 % faster is left: " +
            decimal(100 * problem.unfinished->chance_of_better, 0) + " % (the last gain was " +
            format_count(problem.unfinished->last_gain) + " of " +
            format_count(problem.unfinished->evaluations) + " evaluations)\n";
  }
  if (problem.noise_percent) {
    text += "    noise: measured twice in the finals, the best differs from itself by " +
            decimal(*problem.noise_percent, 2) + " %\n";
  }
  return text;
}

/// What the space says is to be seen, and whether it was.
std::string expectations_text(const Space& space, const ProblemSummary& problem,
                              const Device& device) {
  const bool expects = std::ranges::any_of(
      space.kernels, [](const KernelTemplate& kernel) { return kernel.expect.has_value(); });
  if (!expects) return "";
  const std::string text = "\n  " + space.description + ".\n";
  if (device.kind == DeviceKind::cpu)
    return text + "  That holds for GPUs and cannot be seen on the CPU.\n";
  return text + curves_text(curves(space, problem, device));
}

/// "12 constraints/shared_bytes, for example tiled TILE=64: 65536 bytes of ..."
std::string failures_text(const ProblemSummary& problem) {
  std::map<std::pair<std::string, std::string>, std::vector<const Result*>> groups;
  for (const Result& result : problem.results) {
    if (result.failed()) {
      groups[{to_text(result.status), result.reason}].push_back(&result);
    }
  }
  std::string text;
  for (const auto& [group, results] : groups) {
    const Result& example = *results.front();
    text += "  " + std::to_string(results.size()) + " " + group.first + "/" + group.second +
            ", for example " + example.kernel + " " + key(example.configuration) + ": " +
            telling_line(example) + "\n";
  }
  return text;
}

/// For each kernel, how many configurations fit, the highest occupancy, and what stops the others.
std::string fits_text(const Space& space, const ProblemSummary& problem, const Device& device) {
  std::size_t all_fitting = 0;
  Table table({{"kernel"},
               {"fit", Table::Align::right},
               {"of", Table::Align::right},
               {"highest occupancy", Table::Align::right},
               {"the others"}});
  for (const KernelTemplate& kernel : space.kernels) {
    std::size_t fitting = 0;
    std::size_t all = 0;
    double highest = 0;
    std::map<std::string, std::size_t> reasons;
    for (const Result& result : problem.results) {
      if (result.kernel != kernel.name) continue;
      ++all;
      if (result.failed()) {
        ++reasons[to_text(result.status) + "/" + result.reason];
        continue;
      }
      ++fitting;
      const LaunchResult* launch = tightest_launch(result);
      if (launch != nullptr) highest = std::max(highest, launch->occupancy.percent);
    }
    if (all == 0) continue;
    std::vector<std::string> others;
    for (const auto& [reason, count] : reasons) {
      others.push_back(std::to_string(count) + " " + reason);
    }
    table.add_row({kernel.name, std::to_string(fitting), std::to_string(all),
                   fitting == 0 ? "" : decimal(highest, 0) + " %", joined(others, ", ")});
    all_fitting += fitting;
  }
  return "\n  " + std::to_string(all_fitting) + " of " + std::to_string(problem.results.size()) +
         " configurations fit " + device.name + "\n" + table.text("    ");
}

std::string without_effect_text(const ProblemSummary& problem) {
  std::string text;
  for (const std::string& line : problem.without_effect) text += "  warning: " + line + "\n";
  return text;
}

/// "12 samples were discarded and 3 configurations measured at a low clock (throttled)"
std::string throttled_text(const ProblemSummary& problem) {
  std::uint64_t discarded = 0;
  std::uint64_t throttled = 0;
  for (const Result* result : timed_results(problem)) {
    discarded += static_cast<std::uint64_t>(result->measurement.discarded);
    throttled += result->measurement.throttled ? 1 : 0;
  }
  if (discarded == 0 && throttled == 0) return "";
  return "  " + format_count(discarded) +
         " samples were discarded because the clock had dropped; " +
         counted(throttled, "configuration") + " measured at a low clock (throttled)\n";
}

/// "static rejects would have kept 12 from being timed, and lost none of the top 1 % (44)"
std::string static_rejects_text(const StaticRejects& rejects) {
  std::string text = "  static rejects would have skipped timing " +
                     format_count(rejects.rejected) + ", and lost " +
                     (rejects.lost.empty() ? "none" : format_count(rejects.lost.size())) +
                     " of the top 1 % (" + format_count(rejects.top) + ")";
  for (std::size_t i = 0; i < rejects.lost.size(); ++i) {
    const Result& lost = rejects.lost[i];
    text += (i == 0 ? ": " : "; ") + lost.kernel + " " + key(lost.configuration) + " " +
            format_time(lost.measurement.median_ms);
  }
  return text + "\n";
}

std::string device_text(const Device& device) {
  if (device.kind == DeviceKind::cpu) {
    return device.name + " (CPU; limits of " + device.limits_of + ")";
  }
  return device.name + " (" + device.architecture + ", " + std::to_string(device.sm_count) +
         " SMs)";
}

std::string counts_text(const ProblemSummary& problem) {
  std::string text = format_count(problem.cartesian) + " points, " + format_count(problem.valid) +
                     " valid, " + format_count(problem.evaluated) + " evaluated";
  if (problem.known > 0) text += ", " + format_count(problem.known) + " known before";
  return text;
}

std::string heading(const Space& space, const ProblemSummary& problem, const Device& device) {
  return "\n" + space.name + "  " + key(problem.problem) + "  on " + device_text(device) + "\n  " +
         counts_text(problem) + "\n";
}

std::optional<OneForAll> one_for_all_problems(const TuningSummary& summary) {
  std::vector<const Result*> results;
  for (const ProblemSummary& problem : summary.problems) {
    for (const Result& result : problem.results) results.push_back(&result);
  }
  return one_for_all(results);
}

}  // namespace

std::string telling_line(const Result& result) {
  const std::string& detail = result.detail;
  std::size_t begin = result.status == Status::compile ? detail.find("error") : std::string::npos;
  begin = begin == std::string::npos ? 0 : detail.rfind('\n', begin) + 1;
  return detail.substr(begin, detail.find('\n', begin) - begin);
}

std::string summary_text(const Space& space, const TuningSummary& summary, const Device& device,
                         std::size_t columns) {
  std::string text;
  if (summary.evaluated_on.size() > 1) {
    text += "\nevaluated on " + std::to_string(summary.evaluated_on.size()) +
            (device.kind == DeviceKind::gpu ? " GPUs:" : " hosts:");
    for (const auto& [unit, count] : summary.evaluated_on) {
      text += "\n  " + unit + "  " + format_count(count);
    }
    text += "\n";
  }
  for (const ProblemSummary& problem : summary.problems) {
    text += heading(space, problem, device);
    if (problem.best) {
      text += "\n" + kernel_table_text(space, problem, device) + "\n" +
              why(space, problem, device) + value_bars_text(problem, columns);
      text += expectations_text(space, problem, device);
    } else {
      text += "  no configuration was timed\n";
    }
    const std::string failures = failures_text(problem);
    if (!failures.empty()) text += "  rejected or failed:\n" + failures;
    text += throttled_text(problem);
    text += without_effect_text(problem);
    if (problem.static_rejects) text += static_rejects_text(*problem.static_rejects);
  }
  if (const auto one = one_for_all_problems(summary)) text += "\n" + one_for_all_text(*one, "  ");
  return text;
}

std::string unverified_warning(const Space& space, const TuningSummary& summary) {
  const bool unverified = std::ranges::any_of(summary.problems, [](const ProblemSummary& problem) {
    return problem.best && problem.best->compared_with == ComparedWith::only_itself;
  });
  if (!unverified) return "";
  return "*** Nothing says that the results of " + space.verify.reference +
         " are right: its configurations were compared with its own default.\n*** Give the space a "
         "\"definition\", \"expected\" files or a simple kernel as the reference.";
}

std::string dry_run_text(const Space& space, const TuningSummary& summary, const Device& device) {
  std::string text;
  for (const ProblemSummary& problem : summary.problems) {
    text += heading(space, problem, device) + "\n";
    Table table({{"kernel"},
                 {"configuration"},
                 {"entry"},
                 {"block", Table::Align::right},
                 {"grid", Table::Align::right},
                 {"registers", Table::Align::right},
                 {"shared", Table::Align::right},
                 {"stack", Table::Align::right},
                 {"spilled", Table::Align::right},
                 {"occupancy", Table::Align::right},
                 {"limited by"}});
    const auto size = [](const Dim3& dim) {
      return std::to_string(dim[0]) + "x" + std::to_string(dim[1]) + "x" + std::to_string(dim[2]);
    };
    for (const Result& result : problem.results) {
      if (result.failed()) continue;
      for (const LaunchResult& launch : result.launches) {
        table.add_row(
            {result.kernel, key(result.configuration), launch.shape.name_expression,
             size(launch.shape.block), size(launch.shape.grid),
             std::to_string(launch.resources.registers_per_thread),
             format_bytes(static_cast<double>(launch.shared_bytes())),
             std::to_string(launch.resources.stack_bytes),
             std::to_string(launch.resources.spill_store_bytes + launch.resources.spill_load_bytes),
             decimal(launch.occupancy.percent, 0) + " %",
             joined(launch.occupancy.limiters(), ", ")});
      }
    }
    text += table.text("  ") + fits_text(space, problem, device);
    const std::string failures = failures_text(problem);
    if (!failures.empty()) text += "  rejected or failed:\n" + failures;
    text += without_effect_text(problem);
  }
  return text;
}

std::string summary_json(const Space& space, const TuningSummary& summary, const Device& device,
                         const std::vector<AlsoFits>& also_fits) {
  Json document = {{"space", space.name},
                   {"device", db::device_json(device)},
                   {"interrupted", summary.interrupted},
                   {"out_of_budget", summary.out_of_budget},
                   {"elapsed_s", summary.elapsed_s},
                   {"device_s", summary.device_s},
                   {"evaluated", summary.evaluated},
                   {"worker_deaths", summary.worker_deaths},
                   {"evaluated_on", summary.evaluated_on},
                   {"problems", Json::array()}};
  for (const ProblemSummary& problem : summary.problems) {
    Json entry = {{"problem", db::bindings_json(problem.problem)},
                  {"cartesian", problem.cartesian},
                  {"valid", problem.valid},
                  {"evaluated", problem.evaluated},
                  {"known", problem.known},
                  {"best", problem.best ? db::result_json(*problem.best) : Json(nullptr)},
                  {"ties", Json::array()},
                  {"results", Json::array()}};
    if (problem.static_rejects) {
      Json lost = Json::array();
      for (const Result& result : problem.static_rejects->lost)
        lost.push_back(db::result_json(result));
      entry["static_rejects"] = {{"would_reject", problem.static_rejects->rejected},
                                 {"top", problem.static_rejects->top},
                                 {"lost", std::move(lost)}};
    }
    if (problem.unfinished) {
      entry["unfinished"] = {{"chance_of_better", problem.unfinished->chance_of_better},
                             {"evaluations", problem.unfinished->evaluations},
                             {"last_gain", problem.unfinished->last_gain}};
    }
    if (problem.noise_percent) entry["noise_percent"] = *problem.noise_percent;
    const std::vector<Curve> predicted = curves(space, problem, device);
    if (!predicted.empty()) entry["expectations"] = curves_json(predicted);
    if (problem.transfers) {
      entry["transfers"] = {{"to_device_ms", problem.transfers->to_device_ms},
                            {"to_host_ms", problem.transfers->to_host_ms},
                            {"to_device_bytes", problem.transfers->to_device_bytes},
                            {"to_host_bytes", problem.transfers->to_host_bytes},
                            {"host_memory", "pageable"}};
    }
    if (!problem.without_effect.empty()) entry["without_effect"] = problem.without_effect;
    for (const DerivedTolerance& derived : problem.derived) {
      const Tolerance allowed = tolerance_of(derived, derived.factor);
      entry["derived_tolerances"].push_back(
          {{"problem", db::bindings_json(parse_key(derived.problem))},
           {"output", derived.output},
           {"compared_with", derived.truth},
           {"absolute", *allowed.absolute},
           {"relative", *allowed.relative},
           {"ulps", *allowed.ulps},
           {"factor", derived.factor},
           {"reference_error", derived.largest_error},
           {"largest_value", derived.largest_value},
           {"elements", derived.elements},
           {"data_sets", derived.data_sets}});
    }
    if (const auto& slower = problem.default_slower) {
      entry["default_slower"] = {{"percent", slower->percent},
                                 {"low_percent", slower->low_percent},
                                 {"high_percent", slower->high_percent}};
    }
    for (const Result& tie : problem.ties) {
      entry["ties"].push_back(
          {{"kernel", tie.kernel}, {"configuration", db::bindings_json(tie.configuration)}});
    }
    for (const Result& result : problem.results)
      entry["results"].push_back(db::result_json(result));
    document["problems"].push_back(std::move(entry));
  }
  if (const auto one = one_for_all_problems(summary))
    document["one_for_all"] = one_for_all_json(*one);
  if (!also_fits.empty()) document["also_fits"] = also_fits_json(also_fits);
  return db::document_text("smemtune-run", 2, document);
}

}  // namespace smemtune
