#include "db/result_store.h"
#include "db/rows.h"
#include "reports/winner_check.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/device_sharing.h"
#include "tuner/cli/model_runs.h"
#include "tuner/cli/options.h"
#include "tuner/cli/progress.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_hash.h"
#include "tuner/core/result_log.h"
#include "tuner/engine/tuning_loop.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace smemtune::cli {
namespace {

struct CheckOptions {
  std::filesystem::path space;
  std::filesystem::path database;
  std::vector<std::string> problems;  ///< Empty: all problems of the file that have a stored best.
  DeviceChoice device;
  double tolerance_percent = 3;
  std::uint64_t runners_up = 3;
  std::uint64_t seed = 1;
  bool no_wait = false;
  bool strict = false;  ///< A winner that was compared only with itself counts as lost.
  bool record = false;  ///< Store what is measured as a run.
  bool json = false;
  bool quiet = false;
};

/// Returns the results of exactly this problem, space and device model.
std::vector<db::StoredResult> of(std::vector<db::StoredResult> results, const Space& space,
                                 const Problem& problem, const Device& device) {
  const std::string model = db::device_model_key(device);
  std::erase_if(results, [&](const db::StoredResult& stored) {
    return stored.space != space.name || stored.result.problem != problem ||
           db::device_model_key(stored.device) != model;
  });
  return results;
}

Environment environment_now(const LoadedSpace& loaded, const KernelTemplate* kernel,
                            const DeviceGreeting& hello) {
  const Device& device = hello.devices.front();
  Environment now = {.driver = device.driver_version,
                     .runtime = device.runtime_version,
                     .compiler = hello.compiler,
                     .kernel_hash = {}};
  if (kernel != nullptr) {
    now.kernel_hash = kernel_hash(loaded.space, *kernel, loaded.sources.at(kernel->name),
                                  loaded.sources.at(loaded.space.verify.reference));
  }
  return now;
}

/// Returns why a winner does not satisfy --strict; empty if it does. Comparing a sample of the
/// elements is sufficient.
std::string why_unverified(const Coverage& coverage) {
  if (coverage.with == ComparedWith::only_itself) {
    return "it was compared with nothing but its own default";
  }
  if (coverage.is_everywhere()) return "";
  return "it was compared with " + to_text(coverage);
}

class Check {
 public:
  Check(const CheckOptions& options, const LoadedSpace& loaded, WorkerPool& pool,
        const Observer& observer, const std::atomic<bool>& stop)
      : options_(options),
        loaded_(loaded),
        store_(options.database, db::ResultStore::Mode::read_only),
        pool_(pool),
        observer_(observer),
        stop_(stop) {
    if (!options.record) return;
    writer_ = std::make_unique<db::ResultStore>(options.database);
    Run run = run_now(loaded, pool.greeting());
    run.strategy = "check";
    run.seed = options.seed;
    run.command_line = {"smemtune", "check", "--record", "--space", options.space.string()};
    run_id_ = run.id;
    log_ = writer_->begin_run(run);
  }

  /// Ends the run that is stored, if one is.
  void end(const std::string& outcome) {
    if (writer_) writer_->end_run(run_id_, outcome);
  }

  /// Checks the winner of a problem. nullopt if nothing is stored, or if `stop` was set.
  std::optional<WinnerCheck> problem(const Problem& problem) {
    const Space& space = loaded_.space;
    const Device& device = pool_.greeting().devices.front();
    const db::Query query = {
        .space = space.name, .device = device.name, .problem = key(problem), .status = "correct"};
    const std::vector<db::StoredResult> best =
        of(store_.best(query, /*per_kernel=*/false), space, problem, device);
    if (best.empty()) return std::nullopt;
    const db::StoredResult& winner = best.front();
    const KernelTemplate* kernel = space.kernel(winner.result.kernel);
    std::vector<Result> measured;
    if (kernel != nullptr) {
      const std::vector<db::StoredResult> others =
          of(store_.results(query), space, problem, device);
      measured = measure(problem, contestants(winner, others, kernel->default_configuration,
                                              static_cast<std::size_t>(options_.runners_up)));
    }
    if (stop_) return std::nullopt;
    WinnerCheck checked = check_winner(winner, measured, options_.tolerance_percent);
    if (options_.strict && checked.now && checked.now->timed()) {
      const std::string why = why_unverified(checked.now->coverage());
      if (!why.empty()) checked.lost.push_back(why + " (--strict)");
    }
    checked.stale = staleness(winner, environment_now(loaded_, kernel, pool_.greeting()));
    return checked;
  }

 private:
  std::vector<Result> measure(const Problem& problem, std::vector<KernelConfiguration> only) {
    TuningRequest request;
    request.space = &loaded_.space;
    request.sources = loaded_.sources;
    request.reference_in_double = loaded_.reference_in_double;
    for (const KernelTemplate& kernel : loaded_.space.kernels) {
      const bool named =
          std::ranges::find(only, kernel.name, &KernelConfiguration::kernel) != only.end();
      if (named) request.kernels.push_back(&kernel);
    }
    request.problems = {problem};
    request.options.seed = options_.seed;
    request.options.finalists = only.size();
    request.options.static_reject = false;
    request.options.cut_factor = 1e6;
    request.options.early_loss = false;
    request.options.resume = false;
    request.only = std::move(only);
    NoLog nowhere;
    ResultLog& log = log_ ? *log_ : nowhere;
    return tune(request, pool_, log, observer_, stop_).problems.front().results;
  }

  const CheckOptions& options_;
  const LoadedSpace& loaded_;
  db::ResultStore store_;
  WorkerPool& pool_;
  const Observer& observer_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<db::ResultStore> writer_;  ///< Null unless results are recorded.
  std::string run_id_;
  std::unique_ptr<ResultLog> log_;
};

void add_check_options(CLI::App& app, CheckOptions& options) {
  add_value(app, "--space", options.space,
            "The search space whose stored winners are checked (`smemtune --check FILE` only "
            "looks for mistakes in a file)",
            "FILE")
      ->required();
  add_number(app, "--tolerance", options.tolerance_percent, 0, 1e6,
             "How much slower the winner may be, in percent [3]");
  add_repeatable(app, "--problem", options.problems,
                 "Only this problem, as NAME=VALUE,...; may be repeated [those of the file]",
                 "KEY");
  add_count(app, "--runners-up", options.runners_up, 0, 32,
            "How many runners-up to measure along with the winner and its default [3]");
  add_device(app, options.device);
  add_nvrtc(app, options.device);
  add_count(app, "--seed", options.seed, 0, UINT64_MAX, "Seed of the order and of the data [1]");
  add_database(app, options.database);
  add_no_wait(app, options.no_wait);
  app.add_flag("--strict", options.strict,
               "Also fail a winner that was compared with nothing but its own default, or of which "
               "a definition or file covers not every output on every problem; a sample of the "
               "elements is enough");
  app.add_flag("--record", options.record,
               "Store what is measured, for smemtune history and for the next check");
  app.add_flag("--json", options.json, "Print the result as JSON");
  app.add_flag("-q,--quiet", options.quiet, "Print only errors and the requested output");
}

/// Measures the stored best of each problem again, in alternation with the runners-up and the
/// default; stores that only with `record`. Returns the exit status: 0, 1 if a winner has become
/// slower or is no longer correct, 130 if it was asked to stop. Throws InputError if nothing is
/// stored.
int run_check(const CheckOptions& options) {
  const std::atomic<bool>& stop = stop_on_signals();
  LoadedSpace loaded = load_space(find_space(options.space), share_folder());
  offer_compilers(options.device, loaded.space);
  const auto say = [&](const std::string& line) {
    if (!options.quiet) cli::say(line);
  };
  // Opened before any process is started, so that an unusable database is reported at once.
  const db::ResultStore probe(options.database, db::ResultStore::Mode::read_only);
  // Throws for an invalid problem.
  chosen_problems(loaded.space, options.problems, DeviceKind::gpu);
  const ChosenDevices chosen = choose_devices(options.device);
  say(chosen.notice);
  const Device& device = chosen.devices.front();
  const std::vector<DeviceLock> locks =
      lock_devices({device}, "checking " + loaded.space.name, !options.no_wait, stop, say);
  if (stop) return kInterrupted;
  const auto pool = start_workers(workers_for(options.device, {&device, 1}), &stop);
  if (stop) return kInterrupted;
  ProgressLine progress(options.quiet ? Verbosity::quiet : Verbosity::normal,
                        can_redraw(STDERR_FILENO), colors(STDERR_FILENO), device.kind);
  const Observer observer = progress.observer();
  Check check(options, loaded, *pool, observer, stop);
  std::vector<WinnerCheck> checks;
  for (const Problem& problem : chosen_problems(loaded.space, options.problems, device.kind)) {
    std::optional<WinnerCheck> checked = check.problem(problem);
    progress.clear();
    if (stop) check.end("interrupted");
    if (stop) return kInterrupted;
    if (checked) {
      if (!options.json) write_out(winner_check_text(*checked));
      checks.push_back(std::move(*checked));
    } else {
      say("nothing is stored for " + key(problem) + " on " + device.name);
    }
  }
  check.end("complete");
  if (checks.empty()) {
    throw InputError(options.database.string() + ": no verified result of " + loaded.space.name +
                     " on " + device.name + " to check (smemtune list shows what is there)");
  }
  if (options.json) write_document(winner_checks_json(checks, options.tolerance_percent));
  const bool lost =
      std::ranges::any_of(checks, [](const WinnerCheck& g) { return !g.lost.empty(); });
  return lost ? kLostGround : 0;
}

}  // namespace

void add_check_command(Commands& commands) {
  commands.add<CheckOptions>("check", "Measure the stored winner again: does it still hold?",
                             add_check_options, run_check);
}

}  // namespace smemtune::cli
