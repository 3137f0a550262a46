#include "tuner/cli/command_report.h"

#include "db/json_forms.h"
#include "db/recording.h"
#include "reports/energy.h"
#include "reports/findings.h"
#include "reports/report_page.h"
#include "reports/report_source.h"
#include "reports/why.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/live_server.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/core/whole_file.h"

#include <nlohmann/json.hpp>

#include <set>
#include <variant>

namespace smemtune::cli {

namespace {

using Reported = std::variant<ReportSource, VersionDiff>;

/// Returns the only space that matches the query. Throws InputError naming the spaces if there are
/// several.
std::string the_space(const StoredChoice& choice, const db::ResultReader& store) {
  std::set<std::string> spaces;
  for (const db::StoredRun& run : store.runs(choice.query)) {
    if (run.results > 0) spaces.insert(run.space);
  }
  if (spaces.size() == 1) return *spaces.begin();
  const std::string database = choice.database.string();
  if (spaces.empty()) {
    refuse_unknown(choice.database, choice.query, store);
    db::Query imported = choice.query;
    imported.source = "imported";
    throw InputError(database + (store.runs(imported).empty()
                                     ? ": no result matches (smemtune list shows what is there)"
                                     : ": what matches was not measured here but imported, which "
                                       "--source all reports on, too"));
  }
  const std::vector<std::string> names(spaces.begin(), spaces.end());
  throw InputError(database + ": a report covers one space; choose with --space: " +
                   printable(joined(names, ", ")));
}

/// Returns the contents of the document, restricted to the requested devices, problems and kernels.
Reported documented(const ReportOptions& options) {
  const std::string& file = options.document;
  if (!options.query.space.empty() || !options.query.run.empty() ||
      options.query.source != kAllSources) {
    throw InputError(
        file +
        ": --space, --run and --source select among stored results; a document takes none of them");
  }
  Reported reported = read_document(file, db::read_compressed(file).text);
  const bool narrows = !options.query.device.empty() || !options.query.problem.empty() ||
                       !options.query.kernel.empty();
  if (!narrows) return reported;
  auto* source = std::get_if<ReportSource>(&reported);
  if (source == nullptr) {
    throw InputError(
        file + ": --device, --problem and --kernel select nothing in a document of two versions");
  }
  narrow(*source, options.query);
  if (source->sections.empty()) throw InputError(file + ": no result matches");
  return reported;
}

std::string text_of(const ReportOptions& options, const Reported& reported) {
  if (const auto* diff = std::get_if<VersionDiff>(&reported)) {
    if (options.format == "md") return version_diff_text(*diff, Markup::markdown);
    const auto view = version_diff_view(*diff);
    if (options.format == "json") return db::document_text("smemtune-report", 1, view);
    return report_page(view, version_diff_title(*diff), embedded_charts());
  }
  const auto& source = std::get<ReportSource>(reported);
  if (options.format == "md") return report_markdown(source);
  const auto data = report_json(source);
  if (options.format == "json") return db::document_text("smemtune-report", 1, data);
  return report_page(data, source.space + " - smemtune", embedded_charts());
}

}  // namespace

ReportSource stored_of_one_space(const StoredChoice& choice, std::uint64_t max_rows,
                                 bool with_histories) {
  const db::LayeredStore store = open_results(choice);
  db::Query query = choice.query;
  query.space = the_space(choice, store);
  ReportSource source = stored_source(store, query, static_cast<std::size_t>(max_rows));
  if (source.sections.empty()) {
    refuse_unknown(choice.database, query, store);
    throw InputError(choice.database.string() + ": what is stored of " + quote(query.space) +
                     " is of kernels that have changed since: nothing to report" +
                     (query.versions ? "; --space " + query.space + " reports on them" : ""));
  }
  if (with_histories) source.histories = winner_histories(store, query);
  return source;
}

StoredToRank stored_to_rank(const StoredChoice& choice, const std::string& objective) {
  ReportSource source = stored_of_one_space(choice);
  std::set<std::string> metrics;
  for (const db::ProblemResults& section : source.sections) {
    for (const db::StoredResult& stored : section.results) {
      for (const auto& [name, value] : stored.result.metrics) metrics.insert(name);
    }
  }
  Objective by(objective, metrics);
  refuse_unranked(source, by);
  return {.source = std::move(source), .objective = std::move(by)};
}

namespace {

void add_report_options(CLI::App& app, ReportOptions& options) {
  add_value(app, "DOCUMENT", options.document,
            "A document to report on, of a run, a dry run, list --results or diff, each with "
            "--json [what is stored]",
            "");
  add_choice(app, options);
  add_value(app, "--format", options.format,
            "html: one page that needs no network; md: Markdown for pull requests; json: what "
            "the page draws",
            "WORD")
      ->check(CLI::IsMember({"html", "md", "json"}))
      ->capture_default_str();
  add_value(app, "-o,--output", options.output,
            "File to write, - for stdout [report.html; - for md and json]", "FILE");
  app.add_flag("--live", options.live,
               "Serve the page of the run in progress to browsers on this machine, updated until "
               "the run ends");
  add_count(app, "--port", options.port, 1, 65535,
            "With --live: the port of 127.0.0.1 [any that is free]");
  add_count(
      app, "--max-rows", options.max_rows, 100, 1'000'000,
      "Most configurations to show of all devices and problems together, at least 50 of each; "
      "of more, a random sample [30000]");
}

/// Writes the report and prints its location. Throws StoreError, and InputError if nothing matches,
/// if several spaces match, or if the file cannot be written. With `live`, serves the page until
/// the run ends or a signal asks to stop.
int run_report(const ReportOptions& options) {
  if (options.live) {
    if (!options.document.empty() || options.format != "html" || !options.output.empty()) {
      throw InputError(
          "--live serves the page of a run in progress: it takes no document, --format or "
          "--output");
    }
    return follow_run(options, stop_on_signals());
  }
  std::filesystem::path output = options.output;
  if (output.empty()) output = options.format == "html" ? "report.html" : "-";
  const Reported reported = options.document.empty()
                                ? Reported(stored_of_one_space(options, options.max_rows, true))
                                : documented(options);
  const std::string text = text_of(options, reported);
  write_whole_file(output, text);
  if (output != "-") write_error("wrote " + output.string() + "\n");
  return 0;
}

struct WhyOptions : StoredChoice {
  std::string objective = "time";
  bool json = false;
};

void add_why_options(CLI::App& app, WhyOptions& options) {
  add_choice(app, options);
  add_objective(
      app, options.objective,
      "Rank the finalists by time, energy, edp (energy x time) or an expression over what is known "
      "of them [time]");
  app.add_flag("--json", options.json, "Print as JSON");
}

/// Prints why the winner of each problem beats its default and its runner-up. Returns 0. Throws
/// StoreError, and InputError if nothing matches, several spaces do, or the objective ranks nothing.
int run_why(const WhyOptions& options) {
  const auto [source, objective] = stored_to_rank(options, options.objective);
  if (options.json) {
    write_document(why_document(source, objective));
  } else {
    write_out(why_text(source, objective));
  }
  return 0;
}

}  // namespace

void add_report_commands(Commands& commands) {
  commands.add<ReportOptions>("report", "Write a page with charts of a space's stored results",
                              add_report_options, run_report);
  commands.add<WhyOptions>("why", "Say why the stored winners beat what they beat", add_why_options,
                           run_why);
}

}  // namespace smemtune::cli
