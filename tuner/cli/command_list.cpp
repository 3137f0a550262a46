#include "db/json_forms.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune::cli {
namespace {

using db::Json;

struct ListOptions : StoredChoice {
  bool results = false;     ///< Single results instead of runs.
  std::uint64_t limit = 0;  ///< Maximum number; 0: all.
  bool json = false;
};

/// A list that is printed while it is produced: as a document with `--json`, otherwise as a table.
class Listing {
 public:
  Listing(const ListOptions& options, std::string name, const std::vector<std::string>& columns)
      : as_json_(options.json), name_(std::move(name)), table_(columns) {}

  void add(std::vector<std::string> cells, const Json& json) {
    if (as_json_) {
      text_ += (count_ == 0 ? begin() : "") + document_.next(json);
    } else {
      table_.add_row(std::move(cells));
    }
    if (++count_ % kAtOnce == 1 && count_ > 1) write();
  }

  void end() {
    if (as_json_) text_ += (count_ == 0 ? begin() : "") + document_.end();
    if (as_json_ || count_ > kAtOnce) return write();
    write_out(table_.text());  // Of a whole table it is known what all rows have in common.
  }

  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::uint64_t kAtOnce = 1000;

  std::string begin() { return document_.begin(("smemtune-" + name_).c_str(), 1, name_); }

  void write() {
    if (as_json_) {
      write_document(std::exchange(text_, {}));
    } else {
      write_out(table_.next_text());
    }
  }

  bool as_json_;
  std::string name_;
  Table table_;
  db::ListDocument document_;
  std::string text_;  ///< Part of the document that is not yet written.
  std::uint64_t count_ = 0;
};

int list_results(const ListOptions& options, const db::ResultReader& store) {
  const bool on_terminal = isatty(STDOUT_FILENO) == 1;
  Listing listing(options, "results",
                  {"=device", "=space", "=problem", "=kernel", "=status", ">time", "=?detail",
                   "=configuration"});
  const auto limit = static_cast<std::size_t>(options.limit);
  store.each_result(options.query, limit, [&](db::StoredResult&& row) {
    const Result& result = row.result;
    std::string detail = telling_line(result);
    if (result.status == Status::correct && result.compared_with != ComparedWith::unknown) {
      detail = "compared with " + to_text(result.coverage());
    }
    listing.add({device_name_text(row.device.name, row.device.kind), row.space, key(result.problem),
                 result.kernel, status_text(result),
                 result.timed() ? format_time(result.measurement.median_ms) : "",
                 on_terminal ? printable(detail, 80) : detail, key(result.configuration)},
                options.json ? db::stored_json(row) : Json());
  });
  if (listing.empty()) refuse_unknown(options.database, options.query, store);
  listing.end();
  return 0;
}

int list_runs(const ListOptions& options, const db::ResultReader& store) {
  Listing listing(options, "runs",
                  {"run", "?started", "=space", "=device", ">results", ">correct", "=outcome",
                   "=source", "=?strategy", "?>seed", "=?compiler", "=?host"});
  std::vector<db::StoredRun> runs = store.runs(options.query);
  if (runs.empty()) refuse_unknown(options.database, options.query, store);
  const auto limit = static_cast<std::size_t>(options.limit);
  if (limit > 0 && runs.size() > limit)
    runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(limit));
  for (const db::StoredRun& run : runs) {
    const std::string outcome = run.goes_on           ? "running"
                                : run.outcome.empty() ? "cut off"
                                                      : run.outcome;
    const std::string source = !run.shared_from.empty()
                                   ? run.shared_from
                                   : std::filesystem::path(run.imported_from).filename().string();
    const bool is_ours = run.imported_from.empty();  // Other tools record no seed.
    listing.add({run.id.substr(0, kShownIdCharacters), format_utc(run.started_unix), run.space,
                 device_name_text(run.device, run.device_kind), format_count(run.results),
                 format_count(run.correct), outcome, source, run.strategy,
                 is_ours ? std::to_string(run.seed) : "", run.compiler,
                 run.host + (run.hosts_state.empty() ? "" : " (" + run.hosts_state + ")")},
                {{"run", run.id},
                 {"started_unix", run.started_unix < 0 ? Json(nullptr) : Json(run.started_unix)},
                 {"space", run.space},
                 {"device", run.device},
                 {"kind", to_text(run.device_kind)},
                 {"strategy", run.strategy},
                 {"seed", is_ours ? Json(run.seed) : Json(nullptr)},
                 {"results", run.results},
                 {"correct", run.correct},
                 {"outcome", outcome},
                 {"compiler", run.compiler},
                 {"host", run.host},
                 {"hosts_state", run.hosts_state},
                 {"imported_from", db::or_null(run.imported_from)},
                 {"shared_from", db::or_null(run.shared_from)}});
  }
  listing.end();
  return 0;
}

void add_list_options(CLI::App& app, ListOptions& options) {
  add_choice(app, options);
  app.add_flag("--results", options.results, "Show single results instead of runs");
  add_value(app, "--status", options.query.status,
            "With --results, only these: correct, constraints, compile, runtime, "
            "correctness, timeout",
            "WORD");
  add_count(app, "--limit", options.limit, 0, 1'000'000'000,
            "Show at most this many, the newest; 0: all [0]");
  app.add_flag("--json", options.json, "Print as JSON");
}

int run_list(const ListOptions& options) {
  const db::Query& query = options.query;
  const char* const of_results = !query.status.empty()    ? "--status"
                                 : !query.kernel.empty()  ? "--kernel"
                                 : !query.problem.empty() ? "--problem"
                                                          : nullptr;
  if (of_results != nullptr && !options.results) {
    throw InputError(std::string(of_results) + " selects single results: add --results");
  }
  if (!query.status.empty()) parse_status(query.status);  // Throws for an unknown status.
  const db::LayeredStore store = open_results(options);
  return options.results ? list_results(options, store) : list_runs(options, store);
}

}  // namespace

void add_list_command(Commands& commands) {
  commands.add<ListOptions>("list", "List stored runs, or single results", add_list_options,
                            run_list);
}

}  // namespace smemtune::cli
