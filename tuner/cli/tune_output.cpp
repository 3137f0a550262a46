#include "tuner/cli/tune_output.h"

#include "reports/run_summary.h"
#include "reports/summary_json.h"
#include "tuner/cli/terminal.h"

#include <set>

namespace smemtune::cli {
namespace {

constexpr int kNothingWorked = 3;

int exit_status(const TuningSummary& summary) {
  if (summary.interrupted) return kInterrupted;
  for (const ProblemSummary& problem : summary.problems) {
    for (const Result& result : problem.results) {
      if (!result.failed()) return 0;
    }
  }
  return kNothingWorked;
}

void report_nothing_worked(const TuningSummary& summary) {
  const bool too_short = summary.out_of_budget && !summary.first_failure;
  write_error(too_short ? "smemtune: time ran out before any configuration was finished"
                        : "smemtune: no configuration worked");
  if (summary.first_failure) {
    write_error("; the first failure (" + to_text(summary.first_failure->status) + "/" +
                summary.first_failure->reason + "):\n" + summary.first_failure->detail);
  }
  write_error("\n");
}

}  // namespace

void say_unless_quiet(const TuneOptions& options, const std::string& line) {
  if (!options.quiet) cli::say(line);
}

Verbosity verbosity(const TuneOptions& options) {
  if (options.quiet) return Verbosity::quiet;
  return options.verbose ? Verbosity::verbose : Verbosity::normal;
}

void follow(Observer& observer, OverrunTimer& late) {
  late.phase("listing the valid configurations");
  observer.progress = [&late, tell = observer.progress](const Progress& progress) {
    late.phase(progress.phase == "prepare"  ? "preparing the reference"
               : progress.phase == "finals" ? "the finals"
                                            : "the search");
    tell(progress);
  };
}

Objective objective_of(const TuneOptions& options, const Space& space) {
  std::set<std::string> metrics;
  for (const KernelTemplate& kernel : space.kernels) {
    for (const auto& [name, expression] : kernel.metrics) metrics.insert(name);
  }
  return Objective(options.objective, metrics);
}

int finish(const TuneOptions& options, const Space& space, const TuningSummary& summary,
           const Device& device, const std::vector<AlsoFits>& also_fits) {
  if (options.json) {
    write_document(summary_json(space, summary, device, also_fits, objective_of(options, space)));
  } else if (!options.quiet) {
    write_out(options.dry_run ? dry_run_text(space, summary, device)
                              : summary_text(space, summary, device, objective_of(options, space)) +
                                    also_fits_text(also_fits));
  }
  say_unless_quiet(options, unverified_warning(space, summary));
  const int status = exit_status(summary);
  if (status == kNothingWorked) report_nothing_worked(summary);
  return status;
}

}  // namespace smemtune::cli
