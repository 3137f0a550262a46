#include "tuner/cli/space_now.h"

#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/json_reader.h"
#include "tuner/config/space_file.h"
#include "tuner/core/compiler_choice.h"
#include "tuner/core/error.h"
#include "tuner/core/input_file.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>

namespace smemtune::cli {
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

std::string stale_text(const db::StoredResult& stored) {
  if (!stored.stale) return "";
  return "stale: " +
         (stored.stale_because.empty() ? "the kernel has been edited since" : stored.stale_because);
}

}  // namespace smemtune::cli
