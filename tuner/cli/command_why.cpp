#include "tuner/cli/command_why.h"

#include "reports/why.h"
#include "tuner/cli/command_results.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"

namespace smemtune::cli {

void add_why_options(CLI::App& app, WhyOptions& options) {
  ReportOptions& selection = options.selection;
  add_database(app, selection.database);
  add_selection(app, selection.query);
  add_layered_source(app, selection.query.source);
  add_shared(app, selection.no_shipped);
  add_objective(
      app, options.objective,
      "Rank the finalists by time, energy, edp (energy x time) or an expression over what is known "
      "of them [time]");
  app.add_flag("--json", options.json, "Print as JSON");
}

int run_why(const WhyOptions& options) {
  const auto [source, objective] = stored_to_rank(options.selection, options.objective);
  if (options.json) {
    write_document(why_document(source, objective));
  } else {
    write_out(why_text(source, objective));
  }
  return 0;
}

}  // namespace smemtune::cli
