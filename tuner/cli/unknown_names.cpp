#include "tuner/cli/unknown_names.h"

#include "tuner/config/devices_file.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <set>
#include <string>
#include <vector>

namespace smemtune::cli {
namespace {

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

}  // namespace smemtune::cli
