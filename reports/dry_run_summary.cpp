#include "reports/dry_run_summary.h"

#include "reports/failure_lines.h"
#include "reports/result_texts.h"
#include "reports/run_summary.h"
#include "reports/table.h"
#include "tuner/core/occupancy.h"

#include <algorithm>
#include <map>

namespace smemtune {
namespace {

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
