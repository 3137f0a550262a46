#include "tuner/cli/command_tune.h"

#include "db/device_model.h"
#include "db/export_json.h"
#include "db/process_name.h"
#include "db/result_store.h"
#include "reports/dry_run_summary.h"
#include "reports/run_summary.h"
#include "reports/summary_json.h"
#include "tuner/cli/default_check.h"
#include "tuner/cli/device_sharing.h"
#include "tuner/cli/host_baseline.h"
#include "tuner/cli/hosts.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/late_end.h"
#include "tuner/cli/options.h"
#include "tuner/cli/random_id.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/cli/winner_fits.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/core/whole_file.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/search/strategy.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>

namespace smemtune::cli {
namespace {

constexpr int kNothingWorked = 3;
// How often it is written down for others which hosts a run waits for.
constexpr auto kHostsInterval = std::chrono::seconds(5);

void say_unless_quiet(const TuneOptions& options, const std::string& line) {
  if (!options.quiet) cli::say(line);
}

std::string strategies_text() {
  std::string text = "Order of the search [auto]:";
  for (const StrategyInfo& strategy : strategies()) {
    text += "\n  " + strategy.name + ": " + strategy.description;
  }
  return text;
}

int check(const std::filesystem::path& file) {
  std::vector<std::string> faults = check_space(file, share_folder());
  if (faults.empty()) {
    const LoadedSpace loaded = load_space(file, share_folder());
    DefaultCheck compiled = check_defaults(loaded);
    faults = std::move(compiled.faults);
    for (std::string& fault : faults) fault.insert(0, file.string() + ": ");
    if (faults.empty()) {
      write_out(file.string() + ": ok, " + counted(loaded.space.kernels.size(), "kernel") + ", " +
                counted(loaded.space.problems.size(), "problem") + "\n");
      for (const std::string& note : loaded.notes) write_out("note: " + note + "\n");
      for (const std::string& note : compiled.notes) write_out("note: " + note + "\n");
      return 0;
    }
  }
  std::string text;
  for (const std::string& fault : faults) text += "smemtune: " + fault + "\n";
  write_error(text);
  return 2;
}

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

Verbosity verbosity(const TuneOptions& options) {
  if (options.quiet) return Verbosity::quiet;
  return options.verbose ? Verbosity::verbose : Verbosity::normal;
}

int exit_status(const TuningSummary& summary) {
  if (summary.interrupted) return kInterrupted;
  for (const ProblemSummary& problem : summary.problems) {
    for (const Result& result : problem.results) {
      if (!result.failed()) return 0;
    }
  }
  return kNothingWorked;
}

void report_nothing_worked(const TuningSummary& summary) {
  const bool too_short = summary.out_of_budget && !summary.first_failure;
  write_error(too_short ? "smemtune: time ran out before any configuration was finished"
                        : "smemtune: no configuration worked");
  if (summary.first_failure) {
    write_error("; the first failure (" + to_text(summary.first_failure->status) + "/" +
                summary.first_failure->reason + "):\n" + summary.first_failure->detail);
  }
  write_error("\n");
}

int finish(const TuneOptions& options, const Space& space, const TuningSummary& summary,
           const Device& device, const std::vector<AlsoFits>& also_fits = {}) {
  if (options.json) {
    write_document(summary_json(space, summary, device, also_fits));
  } else if (!options.quiet) {
    write_out(options.dry_run
                  ? dry_run_text(space, summary, device)
                  : summary_text(space, summary, device, terminal_columns(STDOUT_FILENO)) +
                        also_fits_text(also_fits));
  }
  say_unless_quiet(options, unverified_warning(space, summary));
  const int status = exit_status(summary);
  if (status == kNothingWorked) report_nothing_worked(summary);
  return status;
}

/// The devices of `--also-fits l4,h100`.
std::vector<Device> also_fits_devices(const TuneOptions& options) {
  std::vector<Device> devices;
  if (options.also_fits.empty()) return devices;
  for (const std::string& name : CLI::detail::split(options.also_fits, ',')) {
    devices.push_back(known_device(name, options.database));
  }
  if (!has_cuda()) {
    throw UnavailableError("--also-fits compiles for other GPUs: " +
                           std::string("this smemtune was built without the CUDA back end"));
  }
  return devices;
}

/// What the run is at is what the command is at.
void follow(Observer& observer, LateEnd& late) {
  late.at("listing the valid configurations");
  observer.progress = [&late, tell = observer.progress](const Progress& progress) {
    late.at(progress.phase == "prepare"  ? "preparing the reference"
            : progress.phase == "finals" ? "the finals"
                                         : "the search");
    tell(progress);
  };
}

int run_dry(const TuneOptions& options, const LoadedSpace& loaded, TuningRequest request,
            LateEnd& late, const std::atomic<bool>& stop) {
  if (!options.also_fits.empty()) {
    throw InputError("--also-fits is about the winners of a run; with --dry-run use --device");
  }
  const Device device = options.device.device == "cpu"
                            ? cpu_device(options.device.limits_of)
                            : device_to_check(options.device.device, options.database);
  request.problems = chosen_problems(loaded.space, options.problems, device.kind);
  ProgressLine progress(verbosity(options), can_redraw(STDERR_FILENO), colors(STDERR_FILENO),
                        device.kind);
  late.at("starting workers");
  const auto pool = start_workers(compile_workers_for(options.device, device), &stop);
  if (stop) return kInterrupted;
  Observer observer = progress.observer();
  follow(observer, late);
  const TuningSummary summary = dry_run(request, device, *pool, observer, stop);
  progress.clear();
  late.at("ending the workers");
  return finish(options, loaded.space, summary, device);
}

/// By model, in the order in which each was met first.
std::vector<std::vector<Device>> by_model(const std::vector<Device>& devices) {
  std::vector<std::vector<Device>> models;
  for (const Device& device : devices) {
    const std::string model = db::device_model_key(device);
    const auto known = std::ranges::find_if(models, [&](const std::vector<Device>& units) {
      return db::device_model_key(units.front()) == model;
    });
    if (known == models.end()) {
      models.push_back({device});
    } else {
      known->push_back(device);
    }
  }
  return models;
}

/// What the runs of one command have in common, of which each is on the units of a model.
struct Session {
  const TuneOptions& options;
  const LoadedSpace& loaded;
  const TuningRequest& request;
  const std::vector<Device>& also_on;
  const std::atomic<bool>& stop;
  std::vector<HostAddress> addresses = {};       ///< Of `--hosts`.
  std::atomic<std::size_t> models = 1;           ///< That are tuned at once.
  std::function<void(const Device&)> meet = {};  ///< Of a host that has come: see workers_for().
  std::vector<Device> met = {};                  ///< The first of each model that was met so.
  std::mutex output = {};                        ///< Held by who prints.
};

/// `observer`, where several runs may print at once: each line says of which it is, if there are
/// several.
Observer labelled(Observer observer, const std::string& label, Session& session) {
  const auto locked = [&session](auto call) {
    return [&session, call](const auto&... values) {
      const std::lock_guard lock(session.output);
      call(values...);
    };
  };
  observer.progress = locked(observer.progress);
  observer.result = locked(observer.result);
  observer.note = locked([note = observer.note, label, &session](const std::string& text) {
    note(session.models == 1 ? text : label + ": " + text);
  });
  return observer;
}

/// Lets `smemtune list` say, wherever it is asked, that the run goes on and which hosts it waits
/// for.
void note_alive(Observer& observer, db::ResultStore& store, const std::string& run_id) {
  using Clock = std::chrono::steady_clock;
  observer.progress = [&store, run_id, tell = observer.progress, noted = std::string(),
                       noted_at = Clock::now()](const Progress& progress) mutable {
    tell(progress);
    const Clock::duration since = Clock::now() - noted_at;
    if (since < kHostsInterval) return;
    std::string state = hosts_text(progress);
    if (state == noted && since < std::chrono::duration<double>(db::kSignInterval_s)) return;
    store.note_alive(run_id, state);
    noted = std::move(state);
    noted_at = Clock::now();
  };
}

/// One run over all problems on the units of one model. `hosts`: where they are; none: here.
int tune_on(Session& session, const std::vector<Device>& units, const Hosts& hosts, LateEnd& late) {
  const TuneOptions& options = session.options;
  const LoadedSpace& loaded = session.loaded;
  const std::atomic<bool>& stop = session.stop;
  TuningRequest request = session.request;
  request.problems = chosen_problems(loaded.space, options.problems, units.front().kind);
  if (units.front().kind == DeviceKind::gpu) request.cpu = cpu_beside(units.front());
  ProgressLine progress(verbosity(options), can_redraw(STDERR_FILENO), colors(STDERR_FILENO),
                        units.front().kind, session.models > 1 ? units.front().name : "",
                        options.sparkline);
  Observer observer = labelled(progress.observer(), units.front().name, session);
  // Who else uses the devices of other hosts cannot be seen from here.
  StartupCheck startup(hosts.empty() ? units : std::vector<Device>{}, device_use, observer.note,
                       StartupCheck::Clock::now());
  late.at("starting workers");
  const auto pool = start_workers(
      hosts.empty()
          ? workers_for(options.device, units, session.models)
          : workers_for(options.device, hosts, units, session.models, observer.note, session.meet),
      &stop);
  if (stop) return kInterrupted;
  const DeviceGreeting& hello = pool->greeting();

  Run run;
  run.id = random_id();
  run.space = loaded.space.name;
  run.space_sha256 = loaded.sha256;
  run.space_json = loaded.text;
  run.device = hello.devices.front();
  run.compiler = hello.compiler;
  run.compiler_sha256 = hello.compiler_sha256;
  run.tool_version = SMEMTUNE_VERSION;
  run.host = hosts.empty() ? host_name() : names_of(hosts);
  run.strategy = request.options.strategy;
  run.seed = request.options.seed;
  run.command_line = options.command_line;
  run.started_unix =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();

  late.at("reading the database");
  db::ResultStore store(options.database);
  const auto log = store.begin_run(run);
  if (!request.options.cold && strategy_info(request.options.strategy).looks_elsewhere) {
    request.elsewhere = store.findings(run.space, run.device, request.problems);
    auto shared = open_shared(options.no_shipped).findings(run.space, run.device, request.problems);
    if (!shared.from.empty()) {
      say_unless_quiet(options,
                       "the search starts with what is known from " + joined(shared.from, ", "));
    }
    std::ranges::move(shared.findings, std::back_inserter(request.elsewhere));
  }
  note_alive(observer, store, run.id);
  follow(observer, late);
  observer.may_use_devices = [&] { return startup.done(StartupCheck::Clock::now()); };
  observer.before_finals = [&](const Device& unit) {
    if (!hosts.empty()) return;
    const std::string text = startup.during_run(unit, pool->process_ids());
    if (!text.empty()) observer.note(text);
  };
  TuningSummary summary;
  try {
    summary = tune(request, *pool, *log, observer, stop);
  } catch (const Error&) {
    const std::lock_guard lock(session.output);
    progress.clear();
    store.end_run(run.id, "failed");
    throw;
  }
  late.at("writing to the database");
  const std::lock_guard lock(session.output);
  progress.clear();
  store.end_run(run.id, summary.interrupted     ? "interrupted"
                        : summary.out_of_budget ? "budget"
                                                : "complete");
  std::vector<AlsoFits> also_fits;
  if (!summary.interrupted) {
    late.at("compiling for --also-fits");
    also_fits =
        check_also_fits(request, summary, units.front().kind, session.also_on, options.device);
  }
  const int status = finish(options, loaded.space, summary, hello.devices.front(), also_fits);
  if (options.with_host && !summary.interrupted) {
    late.at("timing the host");
    const auto host = measure_host(loaded, hello.devices.front());
    write_out(host ? host_text(*host, summary)
                   : "\nhost, one thread: every problem would take too long\n");
  }
  late.at("ending the workers");
  return status;
}

/// A model, and what has become of its run.
struct ModelRun {
  std::string model;
  std::vector<Device> units;
  int status = 0;
  std::exception_ptr error = nullptr;
  std::thread thread = {};
};

/// Without `hosts`, where there are some, it calls them itself: a link belongs to one run.
void tune_model(Session& session, ModelRun& run, Hosts hosts, LateEnd& late) {
  try {
    if (hosts.empty() && !session.addresses.empty()) {
      hosts = connect_hosts(session.addresses, session.stop, [](const std::string&) {});
      const std::string name = run.units.front().name;
      run.units = devices_of(hosts, run.model);
      if (run.units.empty() && !session.stop) {
        throw UnavailableError("no host with " + name + " answers any more");
      }
    }
    run.status = session.stop ? kInterrupted : tune_on(session, run.units, hosts, late);
  } catch (...) {
    run.error = std::current_exception();
  }
}

/// Each model by itself, all at once, also those of hosts that come later. Returns the first status
/// that is not 0. Throws what the first of those that failed has thrown, when all have ended.
int tune_models(Session& session, const std::vector<std::vector<Device>>& models, Hosts hosts,
                LateEnd& late) {
  std::mutex lock;
  std::deque<ModelRun> runs;  // None is ever removed.
  for (const std::vector<Device>& units : models) {
    runs.push_back({.model = db::device_model_key(units.front()), .units = units});
  }
  session.models = runs.size();
  const auto begin = [&](ModelRun& run) {
    run.thread = std::thread([&session, &run] {
      LateEnd unasked({}, 0);  // The command is at what its own thread is at.
      tune_model(session, run, {}, unasked);
    });
  };
  session.meet = [&](const Device& device) {
    const std::lock_guard guard(lock);
    const std::string model = db::device_model_key(device);
    if (std::ranges::find(runs, model, &ModelRun::model) != runs.end()) return;
    ++session.models;
    session.met.push_back(device);
    begin(runs.emplace_back(ModelRun{.model = model, .units = {device}}));
  };
  {
    const std::lock_guard guard(lock);
    for (std::size_t i = 1; i < runs.size(); ++i) begin(runs[i]);
  }
  tune_model(session, runs.front(), std::move(hosts), late);
  late.at("runs on other models");
  // A run is only met by one that goes on, and stands behind it.
  for (std::size_t i = 1;; ++i) {
    std::unique_lock guard(lock);
    if (i == runs.size()) break;
    std::thread& thread = runs[i].thread;
    guard.unlock();
    thread.join();
  }
  for (const ModelRun& run : runs) {
    if (run.error) std::rethrow_exception(run.error);
  }
  const auto failed =
      std::ranges::find_if(runs, [](const ModelRun& run) { return run.status != 0; });
  return failed == runs.end() ? 0 : failed->status;
}

void check_host_options(const TuneOptions& options) {
  if (options.device.hosts.empty()) {
    if (!options.device.host_program.empty()) throw InputError("--host-program needs --hosts");
    return;
  }
  if (options.dry_run)
    throw InputError(
        "--hosts and --dry-run cannot be used together: a dry run only compiles, and on this "
        "machine");
  if (options.with_host)
    throw InputError("--with-host times this machine and cannot be used with --hosts");
  const std::string& devices = options.device.devices;
  if (!devices.empty() && devices != "all") {
    throw InputError("--hosts uses all GPUs that the hosts show: leave --devices out, and set " +
                     std::string("CUDA_VISIBLE_DEVICES there"));
  }
  if (!options.device.device.empty() && options.device.device != "cpu") {
    throw InputError("--hosts uses all GPUs that the hosts show: of --device only cpu is possible");
  }
}

/// The best of the space on these devices' models, also of earlier runs.
void export_best(const TuneOptions& options, const Space& space,
                 const std::vector<Device>& devices) {
  const db::ResultStore store(options.database, db::ResultStore::Mode::read_only);
  std::set<std::string> models;
  for (const Device& device : devices) models.insert(db::device_model_key(device));
  std::vector<db::StoredResult> best = store.best({.space = space.name}, true);
  std::erase_if(best, [&](const db::StoredResult& stored) {
    return !models.contains(db::device_model_key(stored.device));
  });
  write_whole_file(options.export_file,
                   db::export_json(best, store.defaults({.space = space.name})));
}

}  // namespace

void add_tune_options(CLI::App& app, TuneOptions& options) {
  app.add_option(
         "--space", options.space,
         "Search space to tune: a JSON file, or the name of a space that comes with smemtune")
      ->type_name("FILE");
  app.add_option("--check", options.check,
                 "Only look for mistakes in this space file and measure nothing (the command "
                 "`smemtune check` measures the stored winner again)")
      ->type_name("FILE");
  app.add_option("--device", options.device.device,
                 "GPU by index, UUID or name; cpu; with --dry-run any known GPU, or sm_XX "
                 "[the first GPU; the CPU where there is none]")
      ->type_name("NAME");
  app.add_option(
         "--devices", options.device.devices,
         "Several GPUs of this machine at once: all, or indices and UUIDs separated by commas; "
         "GPUs of one model share the search, different models are tuned at the same time")
      ->type_name("LIST");
  app.add_option("--hosts", options.device.hosts,
                 "Several hosts at once: names for ssh separated by commas, or slurm inside an "
                 "allocation; their GPUs measure, their cores compile")
      ->type_name("LIST");
  app.add_option("--host-program", options.device.host_program,
                 "Where smemtune lies on the hosts [where it lies here]")
      ->type_name("PATH");
  add_no_wait(app, options.no_wait);
  add_repeatable(app, "--problem", options.problems,
                 "Problem to tune, as NAME=VALUE,...; may be repeated [those of the file]", "KEY");
  add_repeatable(app, "--kernel", options.kernels, "Only this kernel; may be repeated [all]",
                 "NAME");
  add_database(app, options.database);
  add_shared(app, options.no_shipped);
  app.add_option("--export", options.export_file,
                 "Write the best of this space and device as JSON when done, - for stdout")
      ->type_name("FILE");
  app.add_option("--strategy", options.tuning.strategy, strategies_text())->type_name("NAME");
  app.add_flag("--cold", options.tuning.cold,
               "Search without the results of other problems and devices");
  add_count(app, "--seed", options.tuning.seed, 0, UINT64_MAX,
            "Seed of the order and of the data [1]");
  add_count(app, "--max-evaluations", options.tuning.budget.max_evaluations, 1, UINT64_MAX,
            "Stop after this many configurations [all]");
  add_number(app, "--max-time", options.tuning.budget.max_seconds, 0.001, 1e9,
             "Stop after this many seconds [no limit]");
  add_number(app, "--max-gpu-time", options.tuning.budget.max_device_seconds, 0.001, 1e9,
             "Stop after the device has been busy for this many seconds [no limit]");
  add_number(app, "--min-occupancy", options.tuning.resource_limits.min_occupancy_percent, 0, 100,
             "Reject configurations below this occupancy, in percent [0]");
  app.add_flag_callback(
      "--no-static-reject", [&options] { options.tuning.static_reject = false; },
      "Also time configurations that spill far more than the fastest or serialize wgmma, and "
      "report what rejecting them would have lost");
  app.add_flag_callback(
      "--no-early-loss", [&options] { options.tuning.early_loss = false; },
      "Also verify and time in full configurations whose first launch is too slow to win");
  app.add_flag(
      "--with-host", options.with_host,
      "Also time the reference on one thread of the host, on a problem that takes seconds");
  app.add_flag("--with-transfers", options.tuning.with_transfers,
               "Also report the time including copies of inputs and outputs (pageable memory)");
  add_number(app, "--tie", options.tuning.tie_percent, 0, 100,
             "Finalists that differ by less than this, in percent, are tied [0.5]");
  add_count(app, "--jobs", options.device.compile_workers, 1, 1024,
            "Compile workers [one per core]");
  app.add_option("--limits-of", options.device.limits_of, "GPU whose limits the CPU device borrows")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_flag("--shuffle-threads", options.device.shuffle_threads,
               "CPU device: run a block's threads in random order, which finds missing barriers");
  add_nvrtc(app, options.device);
  app.add_flag("--dry-run", options.dry_run,
               "Do everything but launch: resources, occupancy and rejections; needs no GPU");
  app.add_option("--also-fits", options.also_fits,
                 "Compile the winners for these GPUs too, as in l4,h100, and say which would fit")
      ->type_name("NAMES");
  app.add_flag("--fresh", options.fresh, "Measure again what the database already knows");
  app.add_flag("--retry-quarantined", options.tuning.retry_quarantined,
               "Try again configurations that were running both times when the machine went down");
  app.add_flag("--json", options.json, "Print the result as JSON");
  app.add_flag("-q,--quiet", options.quiet, "Print only errors and the requested output");
  app.add_flag("--sparkline", options.sparkline,
               "On a terminal, draw the best time so far before the progress line");
  app.add_flag("-v,--verbose", options.verbose, "Print a line for every configuration");
}

int run_tune(const TuneOptions& options, const std::atomic<bool>& stop) {
  if (!options.check.empty() && !options.space.empty())
    throw InputError("--check and --space cannot be used together");
  if (!options.check.empty()) return check(find_space(options.check));
  if (options.space.empty()) throw InputError("--space FILE is missing; see smemtune --help");
  if (options.quiet && options.verbose)
    throw InputError("--quiet and --verbose cannot be used together");
  if (options.with_host && (options.quiet || options.json || options.dry_run)) {
    throw InputError(
        "--with-host only adds to the summary of a run: leave out --quiet, --json and --dry-run");
  }
  if (!options.device.devices.empty() && !options.device.device.empty())
    throw InputError("--device and --devices cannot be used together");
  check_host_options(options);
  if (!options.device.devices.empty() && options.dry_run)
    throw InputError("--devices is for measuring; with --dry-run use --device");
  if (!options.export_file.empty() && options.dry_run)
    throw InputError("--export writes what was measured; --dry-run measures nothing");

  LateEnd late(options.begun, options.tuning.budget.max_seconds);
  const auto say_if_late = [&] {
    if (const std::string text = late.text(); !text.empty()) say_unless_quiet(options, text);
  };
  late.at("reading the space");
  LoadedSpace loaded = load_space(find_space(options.space), share_folder());
  if (options.device.hosts.empty()) offer_compilers(options.device, loaded.space);
  TuningRequest request;
  request.space = &loaded.space;
  request.kernels = chosen_kernels(loaded.space, options.kernels);
  request.sources = loaded.sources;
  request.reference_in_double = loaded.reference_in_double;
  request.options = options.tuning;
  request.options.resume = !options.fresh;
  make_strategy(request.options.strategy, {}, 1);  // Refuses an unknown name before work begins.
  if (options.dry_run) {
    request.begun = options.begun;
    const int status = run_dry(options, loaded, request, late, stop);
    say_if_late();
    return status;
  }
  if (!options.export_file.empty()) check_writable(options.export_file);

  const std::vector<Device> also_on = also_fits_devices(options);
  const std::string purpose = "tuning " + loaded.space.name;
  const auto tell = [&](const std::string& line) { say_unless_quiet(options, line); };
  Session session = {
      .options = options, .loaded = loaded, .request = request, .also_on = also_on, .stop = stop};
  Hosts hosts;
  if (!options.device.hosts.empty()) {
    session.addresses =
        host_addresses(options.device, {.name = "",
                                        .limits_of = options.device.limits_of,
                                        .purpose = purpose,
                                        .waits = !options.no_wait,
                                        .nvrtc = absolute_paths(options.device.nvrtc)});
    const LateEnd::Clock::time_point called = LateEnd::Clock::now();
    hosts = connect_hosts(session.addresses, stop, tell);
    if (stop) return kInterrupted;
    late.leave_out(called, LateEnd::Clock::now());
    offer_compilers(options.device, nvrtc_versions(options.device, hosts), loaded.space);
  }
  late.at("looking for devices");
  ChosenDevices chosen =
      hosts.empty() ? choose_devices(options.device) : choose_devices(options.device, hosts);
  say_unless_quiet(options, chosen.notice);
  std::vector<DeviceLock> locks;  // Other hosts lock theirs.
  if (hosts.empty()) {
    const LateEnd::Clock::time_point asked = LateEnd::Clock::now();
    locks = lock_devices(chosen.devices, purpose, !options.no_wait, stop, tell);
    late.leave_out(asked, LateEnd::Clock::now());
  }
  if (stop) return kInterrupted;
  request.begun = late.begun();
  const int status = tune_models(session, by_model(chosen.devices), std::move(hosts), late);
  late.at("reading the database");
  std::ranges::move(session.met, std::back_inserter(chosen.devices));
  if (!options.export_file.empty()) export_best(options, loaded.space, chosen.devices);
  // Whoever cut it off or replaced it meanwhile: opening looks at the whole of it.
  db::ResultStore(options.database, db::ResultStore::Mode::read_only);
  say_if_late();
  if (!options.quiet && !options.json) {
    write_error("results are in " + options.database.string() + "\n");
  }
  return status;
}

}  // namespace smemtune::cli
