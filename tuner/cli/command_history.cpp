#include "db/result_store.h"
#include "db/rows.h"
#include "reports/history.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"

#include <filesystem>
#include <map>
#include <string>

namespace smemtune::cli {
namespace {

using Write = std::function<std::string(const std::vector<WinnerHistory>&)>;

struct HistoryOptions {
  std::filesystem::path database;
  db::Query query;
  std::string format = "text";  ///< One of text, md, json, nvbench and bencher.
};

const std::map<std::string, Write>& formats() {
  static const std::map<std::string, Write> all = {
      {"md", [](const auto& histories) { return history_text(histories, Markup::markdown); }},
      {"json", history_json},
      {"nvbench", history_nvbench},
      {"bencher", history_bencher}};
  return all;
}

void add_history_options(CLI::App& app, HistoryOptions& options) {
  add_database(app, options.database);
  add_selection(app, options.query);
  add_value(app, "--format", options.format,
            "text; md: Markdown; json; of the newest measurements nvbench: for its compare "
            "script, or bencher: the Bencher Metric Format",
            "WORD")
      ->check(CLI::IsMember({"text", "md", "json", "nvbench", "bencher"}))
      ->capture_default_str();
}

/// Prints what the stored winners took in the course of time, and where that changed. Returns 0.
/// Throws StoreError, and InputError if nothing matches.
int run_history(const HistoryOptions& options) {
  const db::ResultStore store(options.database, db::ResultStore::Mode::read_only);
  const std::vector<WinnerHistory> histories = winner_histories(store, options.query);
  if (histories.empty()) {
    refuse_unknown(options.database, options.query, store);
    throw InputError(options.database.string() +
                     ": no winner that matches was in finals here (smemtune list shows what is "
                     "there)");
  }
  const auto format = formats().find(options.format);
  if (format == formats().end()) {
    write_out(history_text(histories, Markup::text));
  } else {
    write_document(format->second(histories));
  }
  return 0;
}

}  // namespace

void add_history_command(Commands& commands) {
  commands.add<HistoryOptions>(
      "history", "Show what the stored winners took in the course of time, and where that changed",
      add_history_options, run_history);
}

}  // namespace smemtune::cli
