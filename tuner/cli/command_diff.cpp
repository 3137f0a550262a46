#include "db/result_store.h"
#include "db/rows.h"
#include "reports/version_diff.h"
#include "tuner/backend/cpu/child_process.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/device_sharing.h"
#include "tuner/cli/options.h"
#include "tuner/cli/progress.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/space_file.h"
#include "tuner/config/space_words.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/core/ranking.h"
#include "tuner/core/result_log.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/core/text.h"
#include "tuner/engine/race.h"
#include "tuner/engine/tuning_loop.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune::cli {
namespace {

/// A version of a space: its file and the kernels beside it, in the working tree or in a git
/// revision.
struct SpaceVersion {
  std::string name;  ///< The name that was asked for.
  LoadedSpace loaded;
  /// Holds the files from git; nullptr if the space was read from a file.
  std::unique_ptr<TemporaryFolder> folder;
};

/// Folder of kernels that several space files use.
constexpr const char* kTemplates = "kernel_templates";

class Checkout {
 public:
  explicit Checkout(const std::string& given)
      : given_(given), folder_(std::make_unique<TemporaryFolder>()) {}

  SpaceVersion load() {
    const std::size_t colon = given_.find(':');
    const std::string root = git({"rev-parse", "--show-toplevel"});
    const std::string revision = git({"rev-parse", "--verify", "--quiet", "--end-of-options",
                                      given_.substr(0, colon) + "^{commit}"},
                                     "there is no such revision");
    const std::filesystem::path path = from_root(given_.substr(colon + 1));
    git({"cat-file", "-e", revision + ":" + path.string()},
        "the revision has no such file (the path counts from the repository's root, with ./ from "
        "here)");
    const std::filesystem::path tree = folder_->path() / "tree";
    std::filesystem::create_directory(tree);
    const std::filesystem::path archive = folder_->path() / "tree.tar";
    std::vector<std::string> words = {
        "-C",           root, "archive",
        "--format=tar", "-o", archive,
        revision,       "--", path.has_parent_path() ? path.parent_path().string() : "."};
    const bool has_templates = !git({"-C", root, "ls-tree", revision, kTemplates}).empty();
    if (has_templates) words.emplace_back(kTemplates);
    git(words);
    run({"tar", "-xf", archive, "-C", tree}, "");
    SpaceVersion version;
    version.name = given_;
    version.loaded = load_space(tree / path, has_templates ? tree : share_folder());
    version.folder = std::move(folder_);
    return version;
  }

 private:
  std::filesystem::path from_root(const std::filesystem::path& path) {
    const bool from_here = path.string().starts_with("./") || path.string().starts_with("../");
    if (!from_here) return path.lexically_normal();
    return (git({"rev-parse", "--show-prefix"}) / path).lexically_normal();
  }

  std::string git(std::vector<std::string> words, const std::string& otherwise = "") {
    const std::string here = std::filesystem::current_path();
    words.insert(words.begin(), {"git", "-C", here});
    return run(words, otherwise);
  }

  /// Returns a command's output without the final newline. `otherwise`: the message if it fails.
  std::string run(const std::vector<std::string>& words, const std::string& otherwise) {
    const cpu::ChildResult result = cpu::run_child(words, folder_->path());
    if (result.status == 0) return trimmed(result.output);
    if (result.status == cpu::kNotFound) {
      throw InputError(given_ + ": no such file, and no " + words.front() +
                       " on the PATH to look for a revision");
    }
    throw InputError(given_ + ": no such file, and as a revision's: " +
                     (otherwise.empty() ? trimmed(result.output) : otherwise));
  }

  std::string given_;
  std::unique_ptr<TemporaryFolder> folder_;
};

/// Loads a version of a space. `given`: a space file, the name of one that comes with smemtune, or
/// `REV:path`, the file in a revision of the git repository here. The path is relative to the
/// repository's root, or with `./` to the working directory. The other files in the file's folder,
/// and kernel_templates/ if the revision has it, also come from the revision. Throws InputError
/// with git's message.
SpaceVersion load_version(const std::string& given) {
  const bool is_file = std::filesystem::exists(given);
  if (!is_file && given.find(':') != std::string::npos) return Checkout(given).load();
  SpaceVersion version;
  version.name = given;
  version.loaded = load_space(find_space(given), share_folder());
  return version;
}

struct DiffOptions {
  std::string old_version;  ///< A space file, or `REV:path`.
  std::string new_version;
  std::filesystem::path database;
  std::vector<std::string> kernels;   ///< Empty: all kernels that both versions have.
  std::vector<std::string> problems;  ///< Empty: all problems of the new version's file.
  DeviceChoice device;
  double tolerance_percent = 3;
  std::uint64_t seed = 1;
  bool no_wait = false;
  bool json = false;
  bool quiet = false;
  std::string format = "text";
};

/// Returns the name of a kernel of the new version in the combined space.
std::string new_name(const std::string& kernel) { return kernel + "@new"; }

std::string hash_of(const LoadedSpace& loaded, const KernelTemplate& kernel) {
  return kernel_hash(loaded.space, kernel, loaded.sources.at(kernel.name),
                     loaded.sources.at(loaded.space.verify.reference));
}

/// Returns the old version with the new version's kernels added. Both use the same data, and the old
/// reference defines what is correct, even if the new one has become wrong.
LoadedSpace side_by_side(const LoadedSpace& before, const LoadedSpace& now) {
  LoadedSpace both = before;
  for (KernelTemplate kernel : now.space.kernels) {
    both.sources[new_name(kernel.name)] = now.sources.at(kernel.name);
    kernel.name = new_name(kernel.name);
    both.space.kernels.push_back(std::move(kernel));
  }
  return both;
}

void refuse_other_problems(const SpaceVersion& before, const SpaceVersion& now) {
  const std::vector<std::string> old_names =
      smemtune::names_of(before.loaded.space.problems.front());
  const std::vector<std::string> new_names = smemtune::names_of(now.loaded.space.problems.front());
  if (old_names == new_names) return;
  throw InputError("problems of " + before.name + " have " + joined(old_names, ", ") +
                   " and those of " + now.name + " " + joined(new_names, ", ") +
                   ": there is nothing to compare");
}

bool same_launches(const Result& one, const Result& other) {
  return std::ranges::equal(
      one.launches, other.launches, [](const LaunchResult& a, const LaunchResult& b) {
        return a.shape.grid == b.shape.grid && a.shape.block == b.shape.block &&
               a.shape.dynamic_shared_bytes == b.shape.dynamic_shared_bytes &&
               a.shape.arguments == b.shape.arguments;
      });
}

class Diff {
 public:
  Diff(const DiffOptions& options, const SpaceVersion& before, const SpaceVersion& now,
       WorkerPool& pool, const Observer& observer, const std::atomic<bool>& stop)
      : options_(options),
        before_(before.loaded),
        now_(now.loaded),
        both_(side_by_side(before.loaded, now.loaded)),
        pool_(pool),
        observer_(observer),
        stop_(stop) {
    if (std::filesystem::exists(options.database)) {
      store_.emplace(options.database, db::ResultStore::Mode::read_only);
    }
  }

  /// Compares the winners, and the defaults of every kernel that both versions have.
  std::vector<VersionPair> problem(const Problem& problem, std::vector<std::string>& notes) {
    std::vector<VersionPair> pairs;
    if (auto winners = winner_pair(problem)) pairs.push_back(std::move(*winners));
    if (pairs.empty()) notes.push_back(key(problem) + ": no winner is stored, defaults only");
    for (const KernelTemplate* kernel : chosen_kernels(now_.space, options_.kernels)) {
      const KernelTemplate* old_kernel = before_.space.kernel(kernel->name);
      if (old_kernel == nullptr) continue;
      pairs.push_back({.problem = problem,
                       .what = "default of " + kernel->name,
                       .old_one = {kernel->name, old_kernel->default_configuration},
                       .new_one = {kernel->name, kernel->default_configuration}});
    }
    for (VersionPair& pair : pairs) {
      if (!stop_) compare(pair);
    }
    return pairs;
  }

 private:
  /// Returns the fastest stored configuration of a version's kernels.
  std::optional<KernelConfiguration> winner(const LoadedSpace& version,
                                            const Problem& problem) const {
    if (!store_) return std::nullopt;
    const Device& device = pool_.greeting().devices.front();
    std::vector<db::StoredResult> bests;
    for (const KernelTemplate* kernel : chosen_kernels(version.space, options_.kernels)) {
      for (db::StoredResult& stored : store_->best({.space = version.space.name,
                                      .kernel = kernel->name,
                                      .device = device.name,
                                      .problem = key(problem),
                                      .kernel_hash = hash_of(version, *kernel)},
                                                   /*per_kernel=*/true)) {
        const bool is_its = stored.result.problem == problem &&
                            db::device_model_key(stored.device) == db::device_model_key(device);
        if (is_its) bests.push_back(std::move(stored));
      }
    }
    std::vector<RunResult> ranked;
    for (const db::StoredResult& one : bests) ranked.push_back({&one.result, one.run_id});
    const std::vector<const Result*> of_kernels = best_of_each_kernel(ranked);
    if (of_kernels.empty()) return std::nullopt;
    return KernelConfiguration{of_kernels.front()->kernel, of_kernels.front()->configuration};
  }

  /// Returns the pair of winners. A version that was never tuned gets the other's winner, if it has
  /// that kernel.
  std::optional<VersionPair> winner_pair(const Problem& problem) const {
    auto old_one = winner(before_, problem);
    auto new_one = winner(now_, problem);
    std::string what = "winner";
    if (old_one && !new_one && now_.space.kernel(old_one->kernel) != nullptr) {
      new_one = old_one;
      what = "old winner";
    } else if (new_one && !old_one && before_.space.kernel(new_one->kernel) != nullptr) {
      old_one = new_one;
      what = "new winner";
    }
    if (!old_one || !new_one) return std::nullopt;
    return VersionPair{.problem = problem, .what = what, .old_one = *old_one, .new_one = *new_one};
  }

  void compare(VersionPair& pair) {
    if (is_same_source(pair)) {
      pair.same_code = true;
      return;
    }
    NoLog log;
    const TuningRequest request = this->request(pair);
    const Device& device = pool_.greeting().devices.front();
    take(dry_run(request, device, pool_, observer_, stop_), pair);
    const bool both_fit = pair.old_result && pair.new_result && !pair.old_result->failed() &&
                          !pair.new_result->failed();
    if (stop_) return;
    pair.same_code = both_fit && device.kind == DeviceKind::gpu &&
                     pair.old_result->cubin_sha256 == pair.new_result->cubin_sha256 &&
                     same_launches(*pair.old_result, *pair.new_result);
    if (pair.same_code) return;
    const TuningSummary summary = tune(request, pool_, log, observer_, stop_);
    take(summary, pair);
    if (!pair.old_result || !pair.new_result) return;
    const Measurement& old_time = pair.old_result->measurement;
    const Measurement& new_time = pair.new_result->measurement;
    if (!pair.old_result->timed() || !pair.new_result->timed()) return;
    for (const std::optional<Result>& result : {pair.old_result, pair.new_result}) {
      pair.same_percent = std::max(pair.same_percent, result->finals.noise_percent.value_or(0));
    }
    pair.slower = slowdown(new_time, old_time);
    const bool in_turn =
        pair.old_result->stage == Stage::final && pair.new_result->stage == Stage::final;
    if (!in_turn) return;
    if (const auto paired = paired_difference(new_time.samples_ms, old_time.samples_ms)) {
      pair.slower = *paired;
    }
  }

  bool is_same_source(const VersionPair& pair) const {
    const KernelTemplate* old_kernel = before_.space.kernel(pair.old_one.kernel);
    const KernelTemplate* new_kernel = now_.space.kernel(pair.new_one.kernel);
    return pair.old_one == pair.new_one &&
           hash_of(before_, *old_kernel) == hash_of(now_, *new_kernel);
  }

  TuningRequest request(const VersionPair& pair) const {
    TuningRequest request;
    request.space = &both_.space;
    request.sources = both_.sources;
    request.reference_in_double = both_.reference_in_double;
    request.only = {pair.old_one, {new_name(pair.new_one.kernel), pair.new_one.configuration}};
    for (const KernelConfiguration& one : request.only) {
      request.kernels.push_back(both_.space.kernel(one.kernel));
    }
    request.problems = {pair.problem};
    request.options.seed = options_.seed;
    request.options.finalists = request.only.size();
    request.options.static_reject = false;
    request.options.cut_factor = 1e6;
    // With too few samples, a verdict on a configuration far behind would be impossible.
    request.options.screen_ms = 0;
    return request;
  }

  static void take(const TuningSummary& summary, VersionPair& pair) {
    pair.old_result.reset();
    pair.new_result.reset();
    if (summary.problems.empty()) return;
    for (const Result& result : summary.problems.front().results) {
      const bool is_old = result.kernel == pair.old_one.kernel &&
                          result.configuration == pair.old_one.configuration;
      const bool is_new = result.kernel == new_name(pair.new_one.kernel) &&
                          result.configuration == pair.new_one.configuration;
      if (is_old) pair.old_result = result;
      if (is_new) pair.new_result = result;
    }
    if (pair.new_result) pair.new_result->kernel = pair.new_one.kernel;
  }

  const DiffOptions& options_;
  const LoadedSpace& before_;
  const LoadedSpace& now_;
  LoadedSpace both_;
  std::optional<db::ResultStore> store_;
  WorkerPool& pool_;
  const Observer& observer_;
  const std::atomic<bool>& stop_;
};

void print(const DiffOptions& options, const VersionDiff& diff) {
  if (options.json || options.format == "json") {
    write_document(version_diff_json(diff));
  } else if (options.format == "md") {
    write_document(version_diff_text(diff, Markup::markdown));
  } else {
    write_out(version_diff_text(diff));
  }
}

void add_diff_options(CLI::App& app, DiffOptions& options) {
  app.add_option("OLD", options.old_version,
                 "A space file, or REV:path for one in a revision of this git repository")
      ->required();
  app.add_option("NEW", options.new_version, "The same; the version that is judged")->required();
  add_repeatable(app, "--kernel", options.kernels, "Only this kernel; may be repeated", "NAME");
  add_repeatable(app, "--problem", options.problems,
                 "Only this problem, as NAME=VALUE,...; may be repeated [those of NEW]", "KEY");
  add_number(app, "--tolerance", options.tolerance_percent, 0, 1e6,
             "How much slower NEW may be, in percent [3]");
  add_device(app, options.device);
  add_nvrtc(app, options.device);
  add_count(app, "--seed", options.seed, 0, UINT64_MAX, "Seed of the order and of the data [1]");
  add_database(app, options.database);
  add_value(app, "--format", options.format, "text; md: for a comment on a pull request; json",
            "WORD")
      ->check(CLI::IsMember({"text", "md", "json"}))
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print the result as JSON");
  add_no_wait(app, options.no_wait);
  app.add_flag("-q,--quiet", options.quiet, "Print only errors and the requested output");
}

/// Measures the winners and the defaults of two versions of a space back to back, and stores
/// nothing. Returns the exit status: 0, 1 if the new version loses more than the tolerance, 130 if
/// it was asked to stop. Throws InputError if the versions have nothing in common.
int run_diff(const DiffOptions& options) {
  const std::atomic<bool>& stop = stop_on_signals();
  SpaceVersion before = load_version(options.old_version);
  SpaceVersion now = load_version(options.new_version);
  offer_compilers(options.device, before.loaded.space);
  offer_compilers(options.device, now.loaded.space);
  refuse_other_problems(before, now);
  const auto say = [&](const std::string& line) {
    if (!options.quiet) cli::say(line);
  };
  // Throws for an invalid problem.
  chosen_problems(now.loaded.space, options.problems, DeviceKind::gpu);
  const ChosenDevices chosen = choose_devices(options.device);
  say(chosen.notice);
  const Device& device = chosen.devices.front();
  const std::vector<DeviceLock> locks = lock_devices(
      {device}, "comparing versions of " + now.loaded.space.name, !options.no_wait, stop, say);
  if (stop) return kInterrupted;
  const auto pool = start_workers(workers_for(options.device, {&device, 1}), &stop);
  if (stop) return kInterrupted;
  ProgressLine progress(options.quiet ? Verbosity::quiet : Verbosity::normal,
                        can_redraw(STDERR_FILENO), colors(STDERR_FILENO), device.kind);
  const Observer observer = progress.observer();
  Diff diff(options, before, now, *pool, observer, stop);
  VersionDiff found{.space = now.loaded.space.name,
                    .old_name = before.name,
                    .new_name = now.name,
                    .device = device.name,
                    .tolerance_percent = options.tolerance_percent};
  for (const Problem& problem : chosen_problems(now.loaded.space, options.problems, device.kind)) {
    std::vector<VersionPair> pairs = diff.problem(problem, found.notes);
    if (stop) return kInterrupted;
    std::ranges::move(pairs, std::back_inserter(found.pairs));
  }
  progress.clear();
  if (found.pairs.empty()) {
    throw InputError(before.name + " and " + now.name + " have no kernel in common");
  }
  print(options, found);
  return found.has_loss() ? kLostGround : 0;
}

}  // namespace

void add_diff_command(Commands& commands) {
  commands.add<DiffOptions>(
      "diff", "Measure two versions of a space's kernels back to back: is one slower?",
      add_diff_options, run_diff);
}

}  // namespace smemtune::cli
