#include "tuner/cli/shared_results.h"

#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/cli/space_now.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/devices_file.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace smemtune::cli {

namespace {

void warn(const std::string& line) {
  write_error("smemtune: shared results: " + printable(line) + "\n");
}

/// Returns what gives GPUs the compute capability that the table of known GPUs has.
std::function<void(Device&)> completion() {
  try {
    return [known = published_devices()](Device& device) { fill_capability(known, device); };
  } catch (const InputError&) {
    return {};
  }
}

/// Returns the folder of shipped results; nullopt if there is none.
std::optional<std::filesystem::path> shipped_folder() {
  try {
    return share_folder() / "db" / "shipped";
  } catch (const InputError&) {
    return std::nullopt;
  }
}

using Names = std::set<std::string>;

/// Returns the names in the problems of verified results.
Names names_of_problems(const db::ResultReader& store, db::Query query) {
  query.problem.clear();
  Names names;
  for (const db::StoredResult& best : store.best(query, /*per_kernel=*/false)) {
    for (const auto& [name, value] : best.result.problem) names.insert(name);
  }
  return names;
}

}  // namespace

void add_selection(CLI::App& app, db::Query& query) {
  app.add_option_function<std::string>(
         "--space", [&query](const std::string& given) { ask_for_space(query, given); },
         "Only this space: its name, or its file, as which it is now decides what is stale")
      ->type_name("NAME|FILE");
  add_value(app, "--kernel", query.kernel, "Only this kernel", "NAME");
  add_value(app, "--device", query.device,
            "Only this device: its name, also without the vendor, words of it that no other "
            "has, or a UUID",
            "NAME");
  add_value(app, "--problem", query.problem, "Only problems with these values, as NAME=VALUE,...",
            "KEY");
  add_value(app, "--run", query.run, "Only results of this run, by the id that list shows", "ID");
}

void add_shared(CLI::App& app, bool& no_shipped) {
  app.add_flag("--no-shipped", no_shipped,
               "Ignore the results that come with smemtune (or SMEMTUNE_SHIPPED=off)");
}

void add_choice(CLI::App& app, StoredChoice& choice) {
  add_database(app, choice.database);
  add_selection(app, choice.query);
  choice.query.source = kAllSources;
  add_value(app, "--source", choice.query.source,
            "own: what was measured here; shared: by others, where own has no answer; "
            "imported; several of them separated by commas; all; or part of the name of an "
            "imported or shared file",
            "WORDS")
      ->capture_default_str();
  add_shared(app, choice.no_shipped);
}

std::vector<db::SharedFile> shared_files(bool no_shipped) {
  const char* list = std::getenv("SMEMTUNE_SHARED_DB");
  std::vector<db::SharedFile> files = db::shared_files(list == nullptr ? "" : list);
  const char* shipped = std::getenv("SMEMTUNE_SHIPPED");
  if (no_shipped || (shipped != nullptr && std::string_view(shipped) == "off")) return files;
  if (const auto folder = shipped_folder()) {
    std::ranges::move(db::files_in(*folder, "shipped"), std::back_inserter(files));
  }
  return files;
}

db::LayeredStore open_results(const StoredChoice& choice) {
  const std::filesystem::path& database = choice.database;
  std::vector<db::SharedFile> shared;
  if (db::means_shared(choice.query.source)) shared = shared_files(choice.no_shipped);
  std::error_code ignored;
  const bool is_missing =
      !shared.empty() && !database.empty() && !std::filesystem::exists(database, ignored);
  if (is_missing) {
    write_error(printable(database.string()) + ": no such database; a tuning run creates it\n");
  }
  std::optional<std::int64_t> newer;
  const auto open = [&](const std::string& space) {
    std::optional<db::ResultStore> own;
    if (!is_missing) own.emplace(database, db::ResultStore::Mode::read_only);
    if (own) newer = own->newer_version();
    return db::LayeredStore(std::move(own), shared, warn, completion(), space);
  };
  db::LayeredStore store = open(choice.query.space);
  if (newer) {
    write_error(printable(database.string()) + ": written by a newer smemtune (version " +
                std::to_string(*newer) + "); only what this one knows of it is read\n");
  }
  // Where nothing is known of the space, its name is held against those of all others.
  const bool is_known = !store.runs({.space = choice.query.space, .source = "all"}).empty();
  return is_known || shared.empty() ? std::move(store) : open({});
}

db::LayeredStore open_shared(bool no_shipped, const std::string& space) {
  return {std::nullopt, shared_files(no_shipped), warn, completion(), space};
}

void refuse_unknown(const std::filesystem::path& database, const db::Query& asked,
                    const db::ResultReader& store) {
  const db::Query query = store.exact(asked);
  // An imported space may have a name like a file.
  if (query.space.ends_with(".json") && !std::filesystem::exists(query.space) &&
      store.runs({.space = query.space, .source = "all"}).empty()) {
    throw InputError("--space: " + quote(query.space) +
                     ": there is no such file, and no space of this name is stored");
  }
  const std::vector<db::StoredRun> runs = store.runs({.source = query.source});
  if (runs.empty()) {
    const bool asks_no_imports = query.source == "own" || query.source == "own,shared";
    if (!asks_no_imports || store.runs({.source = "imported"}).empty()) return;
    throw InputError(database.string() +
                     ": nothing was measured here; --source imported shows what was imported");
  }
  const auto refuse = [&](const std::string& what, const std::string& name, const Names& all) {
    const std::vector<std::string> known(all.begin(), all.end());
    const std::string nearest =
        what == "device" ? suggested_device(name, known) : suggestion(name, known);
    throw InputError(database.string() + ": no " + what + " " + quote(name) + " is stored" +
                     (nearest.empty() ? "; there are " + printable(joined(known, ", ")) : nearest));
  };
  const auto is_elsewhere = [&] {
    return query.source != "all" &&
           !store.runs({.space = query.space, .device = query.device, .source = "all"}).empty();
  };
  Names spaces;
  Names devices;
  Names ids;
  for (const db::StoredRun& run : runs) {
    spaces.insert(run.space);
    devices.insert(run.device);
    ids.insert(run.id.substr(0, kShownIdCharacters));
  }
  if (!query.space.empty() && !spaces.contains(query.space)) {
    if (is_elsewhere()) {
      throw InputError(database.string() + ": no result of space " + quote(query.space) +
                       " is of --source " + query.source + "; --source all shows what there is");
    }
    refuse("space", query.space, spaces);
  }
  if (!query.device.empty() &&
      store.runs({.device = query.device, .source = query.source}).empty()) {
    refuse("device", query.device, devices);
  }
  if (!query.run.empty() && store.runs({.run = query.run, .source = query.source}).empty()) {
    refuse("run", query.run, ids);
  }
  const std::vector<std::string> stored = store.kernels();
  const Names kernels(stored.begin(), stored.end());
  const bool known_kernel = query.kernel.empty() || query.kernel.find('/') != std::string::npos ||
                            kernels.contains(query.kernel);
  if (!known_kernel) refuse("kernel", query.kernel, kernels);
  if (query.problem.empty()) return;
  const Names sizes = names_of_problems(store, query);
  for (const auto& [name, value] : parse_key(query.problem)) {
    if (!sizes.empty() && !sizes.contains(name)) refuse("size", name, sizes);
  }
}

std::vector<db::StoredResult> best_or_throw(const StoredChoice& choice,
                                            const db::ResultReader& store, bool per_kernel) {
  std::vector<db::StoredResult> best = store.best(choice.query, per_kernel);
  if (best.empty()) {
    refuse_unknown(choice.database, choice.query, store);
    throw InputError(choice.database.string() +
                     ": no verified result matches (smemtune list shows what is there)");
  }
  explain_stale(best, choice.query, store);
  return best;
}

}  // namespace smemtune::cli
