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
      "Rank the finalists whose energy was measured by time, energy or edp (energy x time) "
      "[time]");
  app.add_flag("--json", options.json, "Print as JSON");
}

int run_why(const WhyOptions& options) {
  const ReportSource source = stored_to_rank(options.selection, options.objective);
  if (options.json) {
    write_document(why_document(source, options.objective));
  } else {
    write_out(why_text(source, options.objective));
  }
  return 0;
}

}  // namespace smemtune::cli
