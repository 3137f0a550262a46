#include "db/export_formats.h"
#include "db/export_json.h"
#include "db/export_order.h"
#include "db/json_forms.h"
#include "db/rows.h"
#include "reports/comparison.h"
#include "reports/device_names.h"
#include "reports/energy.h"
#include "reports/one_for_all.h"
#include "reports/portfolio_report.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "reports/text_layout.h"
#include "tuner/cli/bundled_kernels.h"
#include "tuner/cli/command_report.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/space_now.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/whole_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace smemtune::cli {
namespace {

using db::Json;

/// Options of the subcommands that answer from stored results, which need neither GPU nor CUDA.
struct ResultsOptions {
  std::filesystem::path database;
  db::Query query;
  bool no_shipped = false;
  bool per_kernel = false;  ///< For best: the best of each kernel, not only the fastest of all.
  bool one = false;         ///< For best: the configuration that loses least over all problems.
  std::string objective = "time";    ///< For best: anything else ranks the finalists.
  bool results = false;              ///< For list: single results instead of runs.
  std::uint64_t limit = 0;           ///< For list: maximum number; 0: all.
  std::vector<std::string> devices;  ///< For compare: only these; empty: all.
  bool all_pairs = false;  ///< For compare: each GPU and the matrix, however many there are.
  bool json = false;
  /// The format: of export a name in db/export_formats.h, of compare text, md, ...
  std::string format = "json";
  std::uint64_t portfolio = 0;  ///< For export: number of configurations; 0: each problem's best.
  std::string rules;            ///< For export: `cpp` or `python`; empty: no rules.
  std::filesystem::path output = "-";
};

void add_query(CLI::App& app, ResultsOptions& options) {
  add_database(app, options.database);
  add_selection(app, options.query);
  add_layered_source(app, options.query.source);
  add_shared(app, options.no_shipped);
}

db::LayeredStore open(const ResultsOptions& options) {
  return open_results(options.database, options.query.source, options.no_shipped);
}

/// Returns caveats about a result's time.
std::string remarks(const db::StoredResult& stored) {
  if (stored.stale) return stale_text(stored);
  return !stored.origin && stored.result.stage == Stage::screen ? "screened only" : "";
}

std::vector<db::StoredResult> best_or_throw(const ResultsOptions& options,
                                            const db::ResultReader& store, bool per_kernel) {
  std::vector<db::StoredResult> best = store.best(options.query, per_kernel);
  if (best.empty()) {
    refuse_unknown(options.database, options.query, store);
    throw InputError(options.database.string() +
                     ": no verified result matches (smemtune list shows what is there)");
  }
  explain_stale(best, options.query, store);
  return best;
}

/// Removes what was imported of a device for a problem that has results of our own or shared ones:
/// an export has one answer for each.
std::vector<db::StoredResult> without_answered_imports(std::vector<db::StoredResult> results) {
  const auto question = [](const db::StoredResult& one) {
    return one.space + "\n" + one.device.name + "\n" + key(one.result.problem);
  };
  std::set<std::string> answered;
  for (const db::StoredResult& one : results) {
    if (!one.origin) answered.insert(question(one));
  }
  std::erase_if(results, [&](const db::StoredResult& one) {
    return one.origin && answered.contains(question(one));
  });
  return results;
}

/// Returns what gives the newest result of each configuration. Throws InputError, before any is
/// read, unless all are of one kernel on one device for one problem.
db::EachResult all_or_throw(const ResultsOptions& options, const db::ResultReader& store) {
  std::vector<db::StoredResult> of =
      without_answered_imports(store.one_of_each_kernel(options.query));
  // Throws with the reason.
  if (of.empty()) best_or_throw(options, store, /*per_kernel=*/true);
  std::erase_if(of, [](const db::StoredResult& stored) { return stored.stale; });
  if (of.empty()) {
    throw InputError(options.database.string() +
                     ": all that matches is of kernels that have been edited since");
  }
  std::set<std::string> subjects;
  std::set<std::pair<std::string, bool>> sources;
  for (const db::StoredResult& one : of) {
    subjects.insert(one.subject());
    sources.emplace(one.shared_from, one.origin.has_value());
  }
  if (subjects.size() > 1) {
    throw InputError("such a file holds one kernel on one device for one problem, and " +
                     std::to_string(subjects.size()) +
                     " match: --space, --kernel, --device and --problem narrow them down to one:" +
                     db::subject_lines({subjects.begin(), subjects.end()}));
  }
  return [&options, &store, source = *sources.begin()](const auto& take) {
    store.each_newest(options.query, [&](db::StoredResult&& one) {
      if (std::pair(one.shared_from, one.origin.has_value()) == source) take(std::move(one));
    });
  };
}

/// Throws InputError unless there is only one result, as the format needs.
void refuse_several(const std::string& format, const std::vector<db::StoredResult>& best) {
  if (best.size() == 1) return;
  std::vector<std::string> subjects;
  for (const db::StoredResult& one : best) subjects.push_back(one.subject());
  throw InputError("--format " + format + " writes one configuration, and " +
                   std::to_string(best.size()) +
                   " match: --space, --problem, --device and --kernel narrow them down to one:" +
                   db::subject_lines(subjects));
}

/// Returns the text that two results of the same configuration of a kernel share.
std::string member_name(const db::StoredResult& one) {
  return one.space + "\n" + one.device.name + "\n" + one.result.kernel + "\n" +
         key(one.result.configuration);
}

/// Puts default values in the place of what was chosen for their problem if they are faster.
void put_faster_default(const db::StoredResult& one, std::vector<db::StoredResult>& chosen) {
  const Result& result = one.result;
  if (!result.is_default || !result.timed()) return;
  for (db::StoredResult& other : chosen) {
    const bool is_same = other.space == one.space && other.device.name == one.device.name &&
                         other.result.problem == result.problem;
    if (is_same && result.measurement.median_ms < other.result.measurement.median_ms) other = one;
  }
}

/// Returns the portfolios of spaces and devices; of what was imported only those that there are no
/// others of.
std::vector<db::StoredPortfolio> portfolios_of(const ResultsOptions& options,
                                               const db::ResultReader& store, std::size_t most) {
  std::vector<db::StoredPortfolio> all =
      store.portfolios(options.query, most, /*per_kernel=*/false);
  std::set<std::pair<std::string, std::string>> answered;
  const auto question = [](const db::StoredPortfolio& one) {
    return std::pair(one.bests.front().space, one.bests.front().device.name);
  };
  const auto is_imported = [](const db::StoredPortfolio& one) {
    return one.bests.front().origin.has_value();
  };
  for (const db::StoredPortfolio& one : all) {
    if (!is_imported(one)) answered.insert(question(one));
  }
  std::erase_if(all, [&](const db::StoredPortfolio& one) {
    return is_imported(one) && answered.contains(question(one));
  });
  return all;
}

/// Gives `input` what portfolios of the requested size run for each problem, and what else was
/// measured of their members and of default values; `reports` receives what they cost.
void take_portfolios(const ResultsOptions& options, const db::ResultReader& store,
                     db::ExportInput& input, std::vector<PortfolioReport>& reports) {
  const auto most = static_cast<std::size_t>(options.portfolio);
  std::set<std::string> members;
  for (db::StoredPortfolio& stored : portfolios_of(options, store, most)) {
    reports.push_back(portfolio_report(stored));
    if (!stored.portfolio) {
      throw InputError(options.database.string() + ": no choice of " +
                       counted(most, "configuration") + " runs all problems\n" +
                       portfolio_text(reports.back()));
    }
    const db::StoredResult& first = stored.bests.front();
    for (const std::size_t variant : stored.portfolio->variants()) {
      const KernelConfiguration& one = stored.variants[variant];
      members.insert(first.space + "\n" + first.device.name + "\n" + one.kernel + "\n" +
                     key(one.configuration));
    }
    std::ranges::move(stored.chosen, std::back_inserter(input.results));
  }
  if (reports.empty()) best_or_throw(options, store, /*per_kernel=*/false);
  std::vector<db::StoredResult> others = store.best(options.query, /*per_kernel=*/true);
  std::ranges::move(store.candidates(options.query), std::back_inserter(others));
  std::set<std::string> known;
  const auto name = [](const db::StoredResult& one) {
    return member_name(one) + "\n" + key(one.result.problem);
  };
  for (const db::StoredResult& one : input.results) known.insert(name(one));
  for (db::StoredResult& one : others) {
    put_faster_default(one, input.results);
    const bool is_wanted = one.result.is_default || members.contains(member_name(one));
    if (is_wanted && known.insert(name(one)).second) input.candidates.push_back(std::move(one));
  }
}

/// Returns the space file whose kernels are compiled. Throws InputError if --space names none.
std::filesystem::path compiled_space(const ResultsOptions& options) {
  if (!options.query.space_file.empty()) return options.query.space_file;
  if (!options.query.space.empty()) return find_space(options.query.space);
  throw InputError("--format " + options.format +
                   " compiles what it writes: --space with a space file, or the name of a space "
                   "that comes with smemtune");
}

/// Returns what else was measured of these results, by the same.
std::vector<db::StoredResult> candidates_of(const std::vector<db::StoredResult>& results,
                                            const ResultsOptions& options,
                                            const db::ResultReader& store) {
  const auto by = [](const db::StoredResult& one) {
    return one.shared_from + "\n" + std::to_string(one.model_id) + "\n" + one.space + "\n" +
           key(one.result.problem);
  };
  std::set<std::string> wanted;
  for (const db::StoredResult& one : results) wanted.insert(by(one));
  std::vector<db::StoredResult> candidates = store.candidates(options.query);
  std::erase_if(candidates, [&](const db::StoredResult& one) { return !wanted.contains(by(one)); });
  return candidates;
}

std::string rules_text(const ResultsOptions& options, const db::ResultReader& store) {
  const auto most = static_cast<std::size_t>(options.portfolio);
  std::vector<db::DeviceRules> devices;
  for (const db::StoredPortfolio& stored :
       portfolios_of(options, store, std::max(most, std::size_t{1}))) {
    devices.push_back(device_rules(stored, most));
    write_error(wrapped(printable(devices.back().space + " on " + devices.back().device) + ": " +
                        devices.back().notes));
  }
  if (devices.empty()) best_or_throw(options, store, /*per_kernel=*/false);
  return options.rules == "cpp" ? db::export_rules_cpp(devices) : db::export_rules_python(devices);
}

/// Writes the export, once all that it can be refused for is known.
void write_export(const ResultsOptions& options, const db::ResultReader& store) {
  if (!options.rules.empty()) {
    return write_whole_file(options.output, rules_text(options, store));
  }
  using Takes = db::ExportFormat::Takes;
  const db::ExportFormat& format = db::export_format(options.format);
  const auto write = [&](const db::ExportInput& input) {
    write_whole_file(options.output, [&](const TextSink& out) { format.write(input, out); });
  };
  if (format.takes == Takes::all_results) {
    return write({.results = {}, .all_results = all_or_throw(options, store)});
  }
  const bool is_one = format.takes == Takes::one_configuration;
  const bool is_compiled = format.takes == Takes::compiled;
  std::vector<PortfolioReport> reports;
  db::ExportInput input = {.results = {}};
  if (options.portfolio > 0) {
    take_portfolios(options, store, input, reports);
  } else {
    input.results =
        without_answered_imports(best_or_throw(options, store, !is_one && !is_compiled));
    if (format.selects) input.candidates = candidates_of(input.results, options, store);
  }
  for (const PortfolioReport& report : reports) {
    input.notes += portfolio_text(report);
    input.portfolios.push_back(portfolio_json(report));
  }
  write_error(wrapped(input.notes));
  if (is_one) refuse_several(options.format, input.results);
  if (is_compiled) input.compiled = compile_bundle(input.results, compiled_space(options));
  input.defaults = store.defaults(options.query);
  write(input);
}

/// Sorts each device's bests for a space by problem as people count.
void sort_problems(std::vector<db::StoredResult>& best) {
  for (auto begin = best.begin(); begin != best.end();) {
    const auto end = std::find_if(begin, best.end(), [&](const db::StoredResult& one) {
      return one.device.name != begin->device.name || one.space != begin->space;
    });
    std::stable_sort(begin, end, [](const db::StoredResult& one, const db::StoredResult& other) {
      return in_natural_order(key(one.result.problem), key(other.result.problem));
    });
    begin = end;
  }
}

std::string bests_text(std::vector<db::StoredResult> best) {
  sort_problems(best);
  std::vector<Device> devices;
  for (const db::StoredResult& row : best) devices.push_back(row.device);
  const std::vector<std::string> names = short_device_names(devices);
  Table table({"=device", "=space", "=problem", "=kernel", ">time", "?95 % interval (samples)",
               "=source", "=remarks", "?rate", "=?compared with", "?measured", "=configuration"});
  for (std::size_t i = 0; i < best.size(); ++i) {
    const db::StoredResult& row = best[i];
    table.add_row({names[i], row.space, key(row.result.problem), row.result.kernel,
                   format_time(row.result.measurement.median_ms),
                   interval_text(row.result.measurement), source_file(row), remarks(row),
                   rates(row.result), to_text(row.result.coverage()), format_utc(row.at_unix),
                   key(row.result.configuration)});
  }
  return table.text();
}

/// Returns a text like `json; header: a C++17 header; kernel-tuner, t4: for other tuners`.
std::string export_formats_help() {
  const std::vector<db::ExportFormat>& formats = db::export_formats();
  std::string text;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const std::string_view help = formats[i].help;
    const bool is_last = i + 1 == formats.size();
    const bool is_same = !is_last && !help.empty() && help == formats[i + 1].help;
    text += formats[i].name;
    if (!help.empty() && !is_same) text += ": " + std::string(help);
    if (!is_last) text += is_same ? ", " : "; ";
  }
  return text;
}

int show_best_by_objective(const ResultsOptions& options) {
  if (options.one || options.per_kernel) {
    throw InputError("--objective ranks all finalists of a problem: leave out --one, --per-kernel");
  }
  ReportOptions asked;
  asked.database = options.database;
  asked.query = options.query;
  asked.no_shipped = options.no_shipped;
  const auto [source, objective] = stored_to_rank(asked, options.objective);
  if (options.json) {
    write_document(stored_energy_document(source, objective));
  } else {
    write_out(stored_energy_text(source, objective));
  }
  return 0;
}

int show_one(const ResultsOptions& options, const db::ResultReader& store) {
  std::string text;
  Json json = Json::array();
  std::size_t most_problems = 0;
  for (const auto& stored : store.portfolios(options.query, 1, options.per_kernel)) {
    most_problems = std::max(most_problems, stored.bests.size());
    const auto one = one_for_all(stored);
    if (!one) continue;
    const db::StoredResult& first = stored.chosen.front();
    const std::string& from = first.shared_from;
    text += printable(first.space + " on " + device_label(first.device) +
                      (from.empty() ? "" : ", from " + from)) +
            "\n" + one_for_all_text(*one, "  ");
    Json entry = {{"space", first.space},
                  {"device", db::device_json(first.device)},
                  {"shared_from", from.empty() ? Json(nullptr) : Json(from)}};
    entry.update(one_for_all_json(*one));
    json.push_back(std::move(entry));
  }
  if (json.empty()) {
    refuse_unknown(options.database, options.query, store);
    throw InputError(
        options.database.string() +
        (most_problems == 1
             ? ": --one chooses for several problems, and what matches is of one"
             : ": no configuration that matches is known to be right for all problems"));
  }
  if (options.json) {
    write_document(db::document_text("smemtune-one-for-all", 1, {{"spaces", std::move(json)}}));
  } else {
    write_out(text);
  }
  return 0;
}

/// A list that is printed while it is produced: as a document with `--json`, otherwise as a table.
class Listing {
 public:
  Listing(const ResultsOptions& options, std::string name, const std::vector<std::string>& columns)
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

int list_results(const ResultsOptions& options, const db::ResultReader& store) {
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

int list_runs(const ResultsOptions& options, const db::ResultReader& store) {
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
    listing.add(
        {run.id.substr(0, kShownIdCharacters), format_utc(run.started_unix), run.space,
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
         {"imported_from", run.imported_from.empty() ? Json(nullptr) : Json(run.imported_from)},
         {"shared_from", run.shared_from.empty() ? Json(nullptr) : Json(run.shared_from)}});
  }
  listing.end();
  return 0;
}

void add_best_options(CLI::App& app, ResultsOptions& options) {
  add_query(app, options);
  app.add_flag("--per-kernel", options.per_kernel, "Show the best of every kernel");
  app.add_flag("--one", options.one,
               "Show the one configuration that loses least over all problems of a space");
  add_objective(app, options.objective,
                "Rank the finalists by energy, edp (energy x time) or an expression over what is "
                "known of them instead [time]");
  app.add_flag(
      "--json", options.json,
      "Print as JSON, as `export` does; with --one and --objective in a format of its own");
}

void add_list_options(CLI::App& app, ResultsOptions& options) {
  add_query(app, options);
  app.add_flag("--results", options.results, "Show single results instead of runs");
  add_value(app, "--status", options.query.status,
            "With --results, only these: correct, constraints, compile, runtime, "
            "correctness, timeout",
            "WORD");
  add_count(app, "--limit", options.limit, 0, 1'000'000'000,
            "Show at most this many, the newest; 0: all [0]");
  app.add_flag("--json", options.json, "Print as JSON");
}

void add_export_options(CLI::App& app, ResultsOptions& options) {
  add_query(app, options);
  std::vector<std::string> names;
  for (const db::ExportFormat& format : db::export_formats()) names.emplace_back(format.name);
  add_value(app, "--format", options.format, export_formats_help(), "WORD")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  add_count(app, "--portfolio", options.portfolio, 1, 64,
            "Write only this many configurations for each space and device: those that together "
            "lose least over all problems");
  add_value(app, "--rules", options.rules,
            "Write nested ifs over the sizes instead, as C++ (cpp) or python, with what they "
            "lose; with --portfolio they choose among so many configurations",
            "WORD")
      ->check(CLI::IsMember({"cpp", "python"}))
      ->excludes("--format");
  add_value(app, "-o,--output", options.output, "File to write, - for stdout", "FILE")
      ->capture_default_str();
}

void add_compare_options(CLI::App& app, ResultsOptions& options) {
  add_query(app, options);
  options.format = "text";
  add_value(app, "--format", options.format,
            "text; md: tables of Markdown; csv: a line for each pair of GPUs; json", "WORD")
      ->check(CLI::IsMember({"text", "md", "csv", "json"}))
      ->capture_default_str();
  add_value(app, "--devices", options.devices,
            "Only these devices, separated by commas, each named as for --device", "LIST")
      ->delimiter(',');
  app.add_flag("--all-pairs", options.all_pairs,
               "Show each GPU, and what each keeps with the best of every other, also of more than "
               "8 GPUs");
  app.add_flag("--json", options.json, "Print as JSON");
}

/// Prints the answer on stdout and returns 0. Throws StoreError, and InputError if nothing matches.
int run_best(const ResultsOptions& options) {
  if (options.objective != "time") return show_best_by_objective(options);
  const db::LayeredStore store = open(options);
  if (options.one) return show_one(options, store);
  const std::vector<db::StoredResult> best = best_or_throw(options, store, options.per_kernel);
  if (options.json) {
    write_document(db::export_json(best, store.defaults(options.query)));
    return 0;
  }
  write_out(bests_text(best));
  return 0;
}

int run_list(const ResultsOptions& options) {
  const db::Query& query = options.query;
  const char* const of_results = !query.status.empty()    ? "--status"
                                 : !query.kernel.empty()  ? "--kernel"
                                 : !query.problem.empty() ? "--problem"
                                                          : nullptr;
  if (of_results != nullptr && !options.results) {
    throw InputError(std::string(of_results) + " selects single results: add --results");
  }
  if (!query.status.empty()) parse_status(query.status);  // Throws for an unknown status.
  const db::LayeredStore store = open(options);
  return options.results ? list_results(options, store) : list_runs(options, store);
}

int run_export(const ResultsOptions& options) {
  const db::LayeredStore store = open(options);
  write_export(options, store);
  return 0;
}

int run_compare(const ResultsOptions& options) {
  const db::LayeredStore store = open(options);
  db::Query query = options.query;
  for (const std::string& device : options.devices) {
    query.device = device;
    refuse_unknown(options.database, query, store);
    query.compared_devices.push_back(store.exact(query).device);
  }
  query.device = options.query.device;
  const db::Comparison comparison = store.compare(query);
  if (comparison.rows.empty()) best_or_throw(options, store, /*per_kernel=*/false);
  const std::string format = options.json ? "json" : options.format;
  if (format == "text") {
    write_out(comparison_text(comparison, Markup::text, options.all_pairs));
  } else {
    write_document(format == "json" ? comparison_json(comparison)
                   : format == "csv"
                       ? comparison_csv(comparison)
                       : comparison_text(comparison, Markup::markdown, options.all_pairs));
  }
  return 0;
}

}  // namespace

void add_results_commands(Commands& commands) {
  commands.add<ResultsOptions>("best", "Show the best stored configurations", add_best_options,
                               run_best);
  commands.add<ResultsOptions>("list", "List stored runs, or single results", add_list_options,
                               run_list);
  commands.add<ResultsOptions>("export", "Write the best configurations for programs",
                               add_export_options, run_export);
  commands.add<ResultsOptions>("compare", "Compare devices side by side", add_compare_options,
                               run_compare);
}

}  // namespace smemtune::cli
