#include "db/export_formats.h"
#include "db/json_forms.h"
#include "reports/energy.h"
#include "reports/portfolio_report.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/cli/command_report.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::cli {
namespace {

using db::Json;

struct BestOptions : StoredChoice {
  bool per_kernel = false;         ///< The best of each kernel, not only the fastest of all.
  bool one = false;                ///< The configuration that loses least over all problems.
  std::string objective = "time";  ///< Anything else ranks the finalists.
  bool json = false;
};

/// Returns caveats about a result's time.
std::string remarks(const db::StoredResult& stored) {
  if (stored.stale) return "stale: " + stored.why_stale();
  return !stored.origin && stored.result.stage == Stage::screen ? "screened only" : "";
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

int show_best_by_objective(const BestOptions& options) {
  if (options.one || options.per_kernel) {
    throw InputError("--objective ranks all finalists of a problem: leave out --one, --per-kernel");
  }
  const auto [source, objective] = stored_to_rank(options, options.objective);
  if (options.json) {
    write_document(stored_energy_document(source, objective));
  } else {
    write_out(stored_energy_text(source, objective));
  }
  return 0;
}

int show_one(const BestOptions& options, const db::ResultReader& store) {
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
                  {"shared_from", db::or_null(from)}};
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

void add_best_options(CLI::App& app, BestOptions& options) {
  add_choice(app, options);
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

int run_best(const BestOptions& options) {
  if (options.objective != "time") return show_best_by_objective(options);
  const db::LayeredStore store = open_results(options);
  if (options.one) return show_one(options, store);
  const std::vector<db::StoredResult> best = best_or_throw(options, store, options.per_kernel);
  if (options.json) {
    write_document(db::export_json(best, store.defaults(options.query)));
    return 0;
  }
  write_out(bests_text(best));
  return 0;
}

}  // namespace

void add_best_command(Commands& commands) {
  commands.add<BestOptions>("best", "Show the best stored configurations", add_best_options,
                            run_best);
}

}  // namespace smemtune::cli
