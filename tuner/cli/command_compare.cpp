#include "reports/comparison.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/options.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"

#include <string>
#include <vector>

namespace smemtune::cli {
namespace {

struct CompareOptions : StoredChoice {
  std::vector<std::string> devices;  ///< Only these; empty: all.
  bool all_pairs = false;            ///< Each GPU and the matrix, however many there are.
  std::string format = "text";
  bool json = false;
};

void add_compare_options(CLI::App& app, CompareOptions& options) {
  add_choice(app, options);
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

int run_compare(const CompareOptions& options) {
  const db::LayeredStore store = open_results(options);
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

void add_compare_command(Commands& commands) {
  commands.add<CompareOptions>("compare", "Compare devices side by side", add_compare_options,
                               run_compare);
}

}  // namespace smemtune::cli
