#include "tuner/cli/shared_results.h"

#include "db/recording.h"
#include "tuner/backend/compiler.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/devices_file.h"
#include "tuner/config/json_reader.h"
#include "tuner/config/space_file.h"
#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/input_file.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/core/text.h"
#include "tuner/engine/cached_compiler.h"
#include "tuner/engine/private_files.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace smemtune::cli {

namespace {

namespace fs = std::filesystem;

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

/// Returns whether a copy is there, nobody else can have written it, and it can be opened.
bool is_usable(const fs::path& copy) {
  if (!is_private_file(copy)) return false;
  try {
    const db::ResultStore opened(copy, db::ResultStore::Mode::read_only);
    return true;
  } catch (const Error&) {  // It was not written to the end, as where power was lost.
    return false;
  }
}

/// Returns a copy of an export as a database, which is opened in a hundredth of the time in which the
/// export is read; `makes_copy`: one is made if there is none. Its name changes with the export and
/// with this program, and copies of what the export was before are removed. Returns the file itself
/// if it is a database or there is no copy. Throws Error as reading the export does.
fs::path copy_or(const fs::path& file, bool makes_copy) {
  constexpr std::size_t kHexDigits = 24;
  const fs::path cache = default_cache_folder();
  if (cache.empty() || db::is_database(file)) return file;
  const std::string beginning = sha256(fs::absolute(file).string()).substr(0, kHexDigits) + "-";
  const std::string state = sha256(smemtune::state_of(file) + smemtune::state_of(executable()));
  const fs::path copy = cache / "shared" / (beginning + state.substr(0, kHexDigits) + ".sqlite");
  if (is_usable(copy)) return copy;
  if (!makes_copy) return file;
  const auto bytes = db::database_of_export(file);
  if (!bytes) return file;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(copy.parent_path(), ignored)) {
    if (entry.path().filename().string().starts_with(beginning)) {
      fs::remove(entry.path(), ignored);
    }
  }
  write_private({copy}, {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  return is_usable(copy) ? copy : file;
}

/// Replaces exports by their copies (copy_or()).
std::vector<db::SharedFile> copied(std::vector<db::SharedFile> files, bool makes_copies) {
  for (db::SharedFile& one : files) {
    try {
      one.file = copy_or(one.file, makes_copies);
    } catch (const Error&) {  // It is reported where the export is read.
    }
  }
  return files;
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
            "has, a UUID, or cpu",
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
    return db::LayeredStore(std::move(own), copied(shared, space.empty()), warn, completion(),
                            space);
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
  return {std::nullopt, copied(shared_files(no_shipped), space.empty()), warn, completion(), space};
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

namespace {

/// Returns a space file with this name: `given`, or one that comes with smemtune.
std::optional<std::filesystem::path> space_file_of(const std::string& given) {
  if (!given.ends_with(".json")) return std::nullopt;
  try {
    return find_space(given);
  } catch (const InputError&) {
    return std::nullopt;  // An imported space may have a name like a file.
  }
}

/// Returns the name in the file, even if it is not a valid space.
std::string name_in(const std::filesystem::path& file, const std::string& otherwise) {
  const Json space = Json::parse(read_text(file, kMaxFileBytes), nullptr, false);
  const auto name = space.is_object() ? space.find("name") : space.end();
  return name != space.end() && name->is_string() ? name->get<std::string>() : otherwise;
}

/// Returns the space with the compiler as a parameter, as in a run that chose among several
/// compilers.
LoadedSpace with_compilers(LoadedSpace loaded) {
  choose_among(loaded.space, std::array<std::int64_t, 1>{1});
  return loaded;
}

std::string hash_in(const LoadedSpace& loaded, const Space& space, const KernelTemplate& kernel) {
  return kernel_hash(space, kernel, loaded.sources.at(kernel.name),
                     loaded.sources.at(space.verify.reference));
}

void add_versions(const LoadedSpace& loaded, std::vector<std::string>& versions) {
  for (const KernelTemplate& kernel : loaded.space.kernels) {
    versions.push_back(db::version_key(kernel.name, hash_in(loaded, loaded.space, kernel)));
  }
}

/// Returns the parts of a kernel's version that differ between two states of its space file. Puts
/// each part of the older state into the newer one separately; a different hash means that the part
/// matters.
std::vector<std::string> changed_parts(const LoadedSpace& now, const LoadedSpace& then,
                                       const std::string& name, const std::string& hash_then) {
  const KernelTemplate& kernel = *now.space.kernel(name);
  const KernelTemplate& before = *then.space.kernel(name);
  const std::string hash = hash_in(now, now.space, kernel);
  std::vector<std::string> parts;
  // Both states are read with the current source files.
  if (hash_in(then, then.space, before) != hash_then) parts.emplace_back("source");
  const auto compare = [&](const char* part,
                           const std::function<void(Space&, KernelTemplate&)>& put) {
    Space space = now.space;
    KernelTemplate one = kernel;
    put(space, one);
    if (hash_in(now, space, one) != hash) parts.emplace_back(part);
  };
  compare("tolerance", [&](Space&, KernelTemplate& one) { one.tolerance = before.tolerance; });
  compare("definition", [&](Space& space, KernelTemplate&) {
    space.verify.definitions = then.space.verify.definitions;
    space.verify.definition_is_a_guess = then.space.verify.definition_is_a_guess;
  });
  compare("verification", [&](Space& space, KernelTemplate&) {
    space.verify.also = then.space.verify.also;
    space.verify.expected = then.space.verify.expected;
  });
  compare("reference", [&](Space& space, KernelTemplate&) {
    const std::string& reference = space.verify.reference;
    const KernelTemplate* its = then.space.kernel(reference);
    if (its == nullptr || reference == name) return;
    *std::ranges::find(space.kernels, reference, &KernelTemplate::name) = *its;
  });
  compare("options", [&](Space&, KernelTemplate& one) {
    one.options = before.options;
    one.architecture_specific = before.architecture_specific;
    one.pass = before.pass;
  });
  compare("arguments", [&](Space&, KernelTemplate& one) { one.arguments = before.arguments; });
  compare("launches", [&](Space&, KernelTemplate& one) {
    one.launches = before.launches;
    one.repeats = before.repeats;
  });
  return parts;
}

std::string because(const std::vector<std::string>& parts) {
  if (parts.empty()) return "the kernel has been edited since";
  if (parts.size() == 1 && parts.front() == "source") return "its source has been edited since";
  const bool is_one = parts.size() == 1 && !parts.front().ends_with('s');
  return "its " + joined(parts, " and ") + (is_one ? " has" : " have") + " changed since";
}

/// `text`: the space file that the result's run was given.
std::string why_stale(const LoadedSpace& now, const db::StoredResult& stored,
                      const std::string& text) {
  const std::string& name = stored.result.kernel;
  if (now.space.kernel(name) == nullptr) return "its space has no such kernel any more";
  try {
    LoadedSpace then = load_space_text(now.space.file, share_folder(), text);
    if (then.space.kernel(name) == nullptr) return because({});
    if (!stored.result.configuration.contains(kCompilerParameter)) {
      return because(changed_parts(now, then, name, stored.kernel_hash));
    }
    return because(changed_parts(with_compilers(now), with_compilers(std::move(then)), name,
                                 stored.kernel_hash));
  } catch (const InputError&) {
    return because({});  // The old text is not a valid space with the current files.
  }
}

}  // namespace

void ask_for_space(db::Query& query, const std::string& given) {
  query.space = given;
  const std::optional<std::filesystem::path> file = space_file_of(given);
  if (!file) return;
  query.space = name_in(*file, given);
  try {
    LoadedSpace loaded = load_space(*file, share_folder());
    query.space = loaded.space.name;
    query.space_file = *file;
    query.versions.emplace();
    add_versions(loaded, *query.versions);
    const bool has_compilers =
        std::ranges::any_of(loaded.space.kernels, [](const KernelTemplate& kernel) {
          return kernel.default_configuration.contains(kCompilerParameter);
        });
    if (!has_compilers) add_versions(with_compilers(std::move(loaded)), *query.versions);
  } catch (const InputError& error) {
    query.versions.reset();
    say("smemtune: " + std::string(error.what()) +
        "; whether results are stale is judged by what was measured last");
  }
}

void explain_stale(std::vector<db::StoredResult>& results, const db::Query& query,
                   const db::ResultReader& store) {
  const auto is_stale = [](const db::StoredResult& stored) { return stored.stale; };
  if (!query.versions || std::ranges::none_of(results, is_stale)) return;
  const LoadedSpace now = load_space(query.space_file, share_folder());
  for (db::StoredResult& stored : results) {
    if (stored.stale) stored.stale_because = why_stale(now, stored, store.space_text(stored));
  }
}

}  // namespace smemtune::cli
