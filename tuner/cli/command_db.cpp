#include "db/json_forms.h"
#include "db/maintenance.h"
#include "db/run_log.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::cli {
namespace {

using db::Json;

/// Options of the subcommands of `smemtune db`.
struct DatabaseOptions {
  std::filesystem::path database;
  std::filesystem::path copy;  ///< For backup: the file to write; for undo: the file to read.
  db::PruneRule rule;          ///< For prune.
  double older_than_days = 0;  ///< For prune; 0: of any age.
  bool yes = false;            ///< For prune: remove the results instead of only listing them.
  bool no_backup = false;      ///< For prune.
  bool json = false;
};

/// Prints the text, or with --json a document with these members.
void show(const DatabaseOptions& options, const std::string& text, const char* format,
          const Json& members) {
  if (options.json) {
    write_document(db::document_text(format, 1, members));
  } else {
    write_out(text);
  }
}

int run_check(const DatabaseOptions& options) {
  const db::DatabaseFaults found = db::check_database(options.database);
  std::string text;
  for (const std::string& fault : found.faults) text += printable(fault) + "\n";
  if (found.faults.empty()) text = printable(options.database.string()) + ": nothing is wrong\n";
  for (const std::string& note : found.notes) text += "note: " + printable(note) + "\n";
  show(options, text, "smemtune-db-check", {{"faults", found.faults}, {"notes", found.notes}});
  return found.faults.empty() ? 0 : 4;
}

int run_info(const DatabaseOptions& options) {
  const db::DatabaseSummary summary = db::summarize_database(options.database);
  Table table({"device", "=space", ">runs", ">results", ">correct", "last", "imported from"});
  Json parts = Json::array();
  std::vector<Device> devices(summary.parts.size());
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i].name = summary.parts[i].device;
  const std::vector<std::string> names = short_device_names(devices);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const db::DatabaseSummary::Part& part = summary.parts[i];
    table.add_row({names[i], part.space, format_count(part.runs), format_count(part.results),
                   format_count(part.correct), part.last_unix < 0 ? "" : format_utc(part.last_unix),
                   std::filesystem::path(part.source).filename().string()});
    parts.push_back({{"device", part.device},
                     {"space", part.space},
                     {"runs", part.runs},
                     {"results", part.results},
                     {"correct", part.correct},
                     {"last_unix", part.last_unix < 0 ? Json(nullptr) : Json(part.last_unix)},
                     {"imported_from", db::or_null(part.source)}});
  }
  const std::string text = printable(options.database.string()) + ": version " +
                           std::to_string(summary.version) + ", " + format_count(summary.bytes) +
                           " bytes\n\n" + table.text();
  show(options, text, "smemtune-db-info",
       {{"file", options.database.string()},
        {"version", summary.version},
        {"bytes", summary.bytes},
        {"parts", std::move(parts)}});
  return 0;
}

int run_backup(const DatabaseOptions& options) {
  db::back_up_database(options.database, options.copy);
  const std::vector<std::string> faults = db::find_faults(options.copy);
  if (!faults.empty()) {
    throw StoreError(options.copy.string() +
                     ": the backup has the database's faults: " + faults[0]);
  }
  return 0;
}

/// Returns tables of the kernels and of the runs that lose results.
std::string prune_lists(const db::Pruned& pruned, const char* run_goes) {
  constexpr std::size_t kMostRuns = 100;
  Table parts({"device", "space", "kernel", ">results", ">bests", "imported from"});
  for (const db::Pruned::Part& part : pruned.parts) {
    parts.add_row({part.device, part.space, part.kernel, format_count(part.results),
                   format_count(part.bests), part.source});
  }
  Table runs({"run", "started", "device", "space", ">results", ""});
  for (const db::Pruned::OfRun& run :
       std::span(pruned.of_runs).first(std::min(kMostRuns, pruned.of_runs.size()))) {
    runs.add_row({run.id.substr(0, kShownIdCharacters), format_utc(run.started_unix), run.device,
                  run.space, format_count(run.results), run.goes ? run_goes : ""});
  }
  std::string text = pruned.parts.empty() ? "" : parts.text() + "\n";
  if (!pruned.of_runs.empty()) text += runs.text();
  if (pruned.of_runs.size() > kMostRuns) {
    text += "and " + format_count(pruned.of_runs.size() - kMostRuns) + " more runs\n";
  }
  return text.empty() ? "" : text + "\n";
}

std::string undo_line(const DatabaseOptions& options, const std::filesystem::path& backup) {
  return shell_command(
      {"smemtune", "db", "undo", "--db", options.database.string(), backup.string()});
}

std::string prune_text(const DatabaseOptions& options, const db::Pruned& pruned) {
  std::string text = prune_lists(pruned, options.yes ? "removed" : "would be removed");
  text += counted(pruned.results, "result") + (options.yes ? " removed, " : " would be removed, ") +
          counted(pruned.bests, "best") + " among them; " + counted(pruned.runs, "run") +
          (options.yes ? " left without results and removed"
                       : " would be left without results and removed");
  if (!options.yes && pruned.results + pruned.runs > 0) text += "; --yes removes them";
  text += "\n";
  if (!pruned.backup.empty()) {
    text += "the database as it was: " + printable(pruned.backup.string()) +
            "; this brings back what was removed:\n  " +
            printable(undo_line(options, pruned.backup)) + "\n";
  }
  return text;
}

Json prune_json(const DatabaseOptions& options, const db::Pruned& pruned) {
  const auto part_json = [](const db::Pruned::Part& part) -> Json {
    return {{"device", part.device}, {"space", part.space},
            {"kernel", part.kernel}, {"results", part.results},
            {"bests", part.bests},   {"imported_from", db::or_null(part.source)}};
  };
  const auto run_json = [](const db::Pruned::OfRun& run) -> Json {
    return {{"run", run.id},      {"started_unix", run.started_unix}, {"device", run.device},
            {"space", run.space}, {"results", run.results},           {"removed", run.goes}};
  };
  return {{"done", options.yes},
          {"results", pruned.results},
          {"bests", pruned.bests},
          {"runs", pruned.runs},
          {"parts", db::list_json(pruned.parts, part_json)},
          {"of_runs", db::list_json(pruned.of_runs, run_json)},
          {"backup", db::or_null(pruned.backup.string())}};
}

int run_prune(const DatabaseOptions& options) {
  db::PruneRule rule = options.rule;
  if (options.older_than_days > 0)
    rule.before_unix = db::unix_now() - 86400 * options.older_than_days;
  const db::Query& query = rule.query;
  const bool is_limited = rule.stale || rule.before_unix || query.source != "all" ||
                          !(query.space.empty() && query.kernel.empty() && query.device.empty() &&
                            query.problem.empty() && query.run.empty() && query.status.empty());
  if (!is_limited) {
    throw InputError(
        "prune: say what to remove: --stale, --source, --older-than, --run, --status, --space, "
        "--kernel, --device, --problem");
  }
  if (!query.status.empty()) parse_status(query.status);  // Throws for an unknown status.
  const auto backup = options.no_backup ? db::PruneBackup::none : db::PruneBackup::beside;
  const db::Pruned pruned = options.yes ? db::prune(options.database, rule, backup)
                                        : db::would_prune(options.database, rule);
  if (pruned.results == 0 && pruned.runs == 0) {
    refuse_unknown(options.database, query,
                   open_results({options.database, query, /*no_shipped=*/true}));
  }
  show(options, prune_text(options, pruned), "smemtune-db-prune", prune_json(options, pruned));
  return 0;
}

int run_undo(const DatabaseOptions& options) {
  const auto given = options.copy.empty() ? std::optional<std::filesystem::path>() : options.copy;
  const db::Restored restored = db::undo_prune(options.database, given);
  const std::string text = counted(restored.results, "result") + " and " +
                           counted(restored.runs, "run") + " brought back from " +
                           printable(restored.backup.string()) + "\n";
  show(options, text, "smemtune-db-undo",
       {{"backup", restored.backup.string()},
        {"results", restored.results},
        {"runs", restored.runs}});
  return 0;
}

void add_report_of(CLI::App& app, DatabaseOptions& options) {
  add_database(app, options.database);
  app.add_flag("--json", options.json, "Print as JSON");
}

void add_backup_options(CLI::App& app, DatabaseOptions& options) {
  add_database(app, options.database);
  add_value(app, "copy", options.copy, "The file to write, which must not exist", "FILE")
      ->required();
}

void add_prune_options(CLI::App& app, DatabaseOptions& options) {
  add_report_of(app, options);
  db::PruneRule& rule = options.rule;
  app.add_flag("--stale", rule.stale, "Results of kernels that were edited since");
  add_value(app, "--source", rule.query.source, "own, imported, all, or an imported file's name",
            "WORD")
      ->capture_default_str();
  add_number(app, "--older-than", options.older_than_days, 0, 1e6,
             "Results measured more than this many days ago")
      ->type_name("DAYS");
  add_value(app, "--status", rule.query.status, "Results with this status", "WORD");
  add_selection(app, rule.query);
  app.add_flag("--yes", options.yes, "Remove them");
  app.add_flag("--no-backup", options.no_backup,
               "With --yes: write no backup of the database beside it");
}

void add_undo_options(CLI::App& app, DatabaseOptions& options) {
  add_database(app, options.database);
  add_value(app, "backup", options.copy,
            "The backup that prune wrote [the newest that holds what the database lacks]", "FILE");
  app.add_flag("--json", options.json, "Print as JSON");
}

}  // namespace

void add_database_commands(Commands& commands) {
  Commands group = commands.add_group("db", "Check, describe, copy or prune a database");
  group.add<DatabaseOptions>("check", "Read the whole database and say what is wrong",
                             add_report_of, run_check);
  group.add<DatabaseOptions>(
      "info", "Show its version, its size, and runs and results by device, space and imported file",
      add_report_of, run_info);
  group.add<DatabaseOptions>("backup", "Copy it as it is now, even while a run writes to it",
                             add_backup_options, run_backup);
  group.add<DatabaseOptions>("prune", "Remove results; without --yes only list which",
                             add_prune_options, run_prune);
  group.add<DatabaseOptions>("undo", "Bring back what prune removed", add_undo_options, run_undo);
}

}  // namespace smemtune::cli
