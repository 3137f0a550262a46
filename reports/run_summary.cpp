#include "reports/run_summary.h"

#include "reports/energy.h"
#include "reports/expectations.h"
#include "reports/kernel_table.h"
#include "reports/one_for_all.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "reports/why_best.h"
#include "tuner/core/occupancy.h"

#include <algorithm>
#include <map>

namespace smemtune {

namespace {

/// Says what the space expects to be seen, and whether it was.
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
  std::string text =
      (problem.cartesian == UINT64_MAX ? "more than 1.8e19" : format_count(problem.cartesian)) +
      " points, " +
      (problem.valid ? format_count(*problem.valid) + " valid, "
                     : "too many valid ones to count, ") +
      format_count(problem.evaluated) + " evaluated";
  if (problem.known > 0) text += ", " + format_count(problem.known) + " known before";
  return text;
}

/// Returns, for each kernel, how many configurations fit, the highest occupancy, and why the others
/// do not fit.
std::string fits_text(const Space& space, const ProblemSummary& problem, const Device& device) {
  std::size_t all_fitting = 0;
  Table table({"kernel", ">fit", ">of", ">highest occupancy", "the others"});
  for (const KernelTemplate& kernel : space.kernels) {
    std::size_t fitting = 0;
    std::size_t all = 0;
    double highest = 0;
    std::map<std::string, std::size_t> reasons;
    for (const Result& result : problem.results) {
      if (result.kernel != kernel.name) continue;
      ++all;
      if (result.failed()) {
        ++reasons[status_text(result)];
        continue;
      }
      ++fitting;
      const LaunchResult* launch = tightest_launch(result);
      if (launch != nullptr) highest = std::max(highest, launch->occupancy.percent);
    }
    if (all == 0) continue;
    const auto counted_reason = [](const auto& one) {
      return std::to_string(one.second) + " " + one.first;
    };
    table.add_row({kernel.name, std::to_string(fitting), std::to_string(all),
                   fitting == 0 ? "" : decimal(highest, 0) + " %",
                   joined(reasons, ", ", counted_reason)});
    all_fitting += fitting;
  }
  return "\n  " + std::to_string(all_fitting) + " of " + std::to_string(problem.results.size()) +
         " configurations fit " + device.name + "\n" + table.text("    ");
}

}  // namespace

std::string summary_heading(const Space& space, const ProblemSummary& problem,
                            const Device& device) {
  return "\n" + space.name + "  " + key(problem.problem) + "  on " + device_text(device) + "\n  " +
         counts_text(problem) + "\n";
}

std::string without_effect_lines(const ProblemSummary& problem) {
  std::string text;
  for (const std::string& line : problem.without_effect) text += "  warning: " + line + "\n";
  return text;
}

std::string summary_text(const Space& space, const TuningSummary& summary, const Device& device,
                         const Objective& objective) {
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
    text += summary_heading(space, problem, device);
    if (problem.best()) {
      text += "\n" + kernel_table_text(space, problem, device) + "\n" +
              why_best(space, problem, device);
      text += energy_text(timed_results(problem), objective);
      text += expectations_text(space, problem, device);
    } else {
      text += "  no configuration was timed\n";
    }
    text += failure_lines(problem);
    text += throttled_text(problem);
    text += without_effect_lines(problem);
    if (problem.static_rejects) text += static_rejects_text(*problem.static_rejects);
  }
  if (const auto one = one_for_all(summary)) text += "\n" + one_for_all_text(*one, "  ");
  return text;
}

std::string unverified_warning(const Space& space, const TuningSummary& summary) {
  std::string text;
  for (const ProblemSummary& problem : summary.problems) {
    if (!problem.best()) continue;
    const Coverage coverage = problem.best()->coverage();
    if (coverage.with == ComparedWith::only_itself) {
      return "*** Nothing says that the results of " + space.verify.reference +
             " are right: its configurations were compared with its own default.\n*** Give the "
             "space a \"definition\", \"expected\" files or a simple kernel as the reference.";
    }
    if (!coverage.rests_on_itself()) continue;
    const std::string line = "*** Nothing says that these results of " + problem.best()->kernel +
                             " are right: " + gaps_text(coverage) +
                             ". They were compared with its own default.";
    if (text.find(line) == std::string::npos) text += line + "\n";
  }
  if (text.empty()) return "";
  return text +
         "*** Give the space a \"definition\" of each output that is cheap enough to be "
         "evaluated on every problem, or \"expected\" files.";
}

std::string dry_run_text(const Space& space, const TuningSummary& summary, const Device& device) {
  std::string text;
  for (const ProblemSummary& problem : summary.problems) {
    text += summary_heading(space, problem, device) + "\n";
    Table table({"kernel", "configuration", "entry", ">block", ">grid", ">registers", ">shared",
                 ">stack", ">spilled", ">occupancy", "limited by"});
    for (const Result& result : problem.results) {
      if (result.failed()) continue;
      for (const LaunchResult& launch : result.launches) {
        table.add_row(
            {result.kernel, key(result.configuration), launch.shape.name_expression,
             extents_text(launch.shape.block), extents_text(launch.shape.grid),
             std::to_string(launch.resources.registers_per_thread),
             format_bytes(static_cast<double>(launch.shared_bytes())),
             std::to_string(launch.resources.stack_bytes),
             std::to_string(launch.resources.spill_store_bytes + launch.resources.spill_load_bytes),
             decimal(launch.occupancy.percent, 0) + " %",
             joined(launch.occupancy.limiters(), ", ")});
      }
    }
    text += table.text("  ") + fits_text(space, problem, device);
    text += failure_lines(problem);
    text += without_effect_lines(problem);
  }
  return text;
}

}  // namespace smemtune
