#include "tuner/cli/command_report.h"

#include "db/json_forms.h"
#include "reports/report_data.h"
#include "reports/report_page.h"
#include "tuner/cli/command_results.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/core/whole_file.h"

#include <nlohmann/json.hpp>

#include <set>

namespace smemtune::cli {
namespace {

/// The one space that the query means. Throws InputError naming those that there are.
std::string the_space(const ReportOptions& options, const std::vector<db::StoredRun>& runs) {
  std::set<std::string> spaces;
  for (const db::StoredRun& run : runs) {
    if (run.results > 0) spaces.insert(run.space);
  }
  if (spaces.size() == 1) return *spaces.begin();
  const std::vector<std::string> names(spaces.begin(), spaces.end());
  throw InputError(
      options.database.string() +
      (names.empty() ? ": no result matches (smemtune list shows what is there)"
                     : ": a report is of one space; choose with --space: " + joined(names, ", ")));
}

ReportSource read(const ReportOptions& options) {
  const db::LayeredStore store =
      open_results(options.database, options.query.source, options.no_shipped);
  db::Query query = options.query;
  ReportSource source;
  source.runs = store.runs(query);
  query.space = source.space = the_space(options, source.runs);
  source.results = store.results(query);
  source.best = store.best(query, /*per_kernel=*/true);
  source.defaults = store.defaults(query);
  return source;
}

std::string text_of(const ReportOptions& options, const ReportSource& source) {
  if (options.format == "md") return report_markdown(source);
  const auto data = report_json(source, static_cast<std::size_t>(options.max_rows));
  if (data["sections"].empty()) {
    throw InputError(options.database.string() + ": what is stored of " + quote(source.space) +
                     " is of kernels that have changed since, or of dry runs: nothing to report");
  }
  if (options.format == "json") return db::document_text("smemtune-report", 1, data);
  return report_page(data, source.space + " - smemtune", embedded_charts());
}

}  // namespace

void add_report_options(CLI::App& app, ReportOptions& options) {
  add_database(app, options.database);
  add_selection(app, options.query);
  options.query.source = "own,shared";
  add_layered_source(app, options.query.source);
  add_shared(app, options.no_shipped);
  app.add_option("--format", options.format,
                 "html: one page that needs no network; md: Markdown for pull requests; json: what "
                 "the page draws")
      ->type_name("WORD")
      ->check(CLI::IsMember({"html", "md", "json"}))
      ->capture_default_str();
  app.add_option("-o,--output", options.output,
                 "File to write, - for stdout [report.html; - for md and json]")
      ->type_name("FILE");
  add_count(app, "--max-rows", options.max_rows, 100, 1'000'000,
            "Of a device and problem with more configurations, so many are shown, evenly spread");
}

int run_report(const ReportOptions& options) {
  std::filesystem::path output = options.output;
  if (output.empty()) output = options.format == "html" ? "report.html" : "-";
  const std::string text = text_of(options, read(options));
  write_whole_file(output, text);
  if (output != "-") write_error("wrote " + output.string() + "\n");
  return 0;
}

}  // namespace smemtune::cli
