#include "tuner/cli/model_runs.h"

#include "db/process_name.h"
#include "db/result_store.h"
#include "db/rows.h"
#include "db/run_log.h"
#include "reports/run_summary.h"
#include "tuner/cli/device_sharing.h"
#include "tuner/cli/options.h"
#include "tuner/cli/progress.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/engine/fit_check.h"
#include "tuner/engine/worker_pool.h"
#include "tuner/search/strategy.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

namespace smemtune::cli {
namespace {

// How often the hosts that a run waits for are stored for others to see.
constexpr auto kHostsInterval = std::chrono::seconds(5);

/// Returns an observer whose calls are serialized with those of other runs. If there are several
/// runs, its notes begin with the label.
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

/// Stores regularly that the run goes on and which hosts it waits for, for `smemtune list` on any
/// machine.
void note_alive(Observer& observer, db::ResultStore& store, const std::string& run_id) {
  using Steady = std::chrono::steady_clock;
  observer.progress = [&store, run_id, tell = observer.progress, noted = std::string(),
                       noted_at = Steady::now()](const Progress& progress) mutable {
    tell(progress);
    const Steady::duration since = Steady::now() - noted_at;
    if (since < kHostsInterval) return;
    std::string state = hosts_text(progress);
    if (state == noted && since < std::chrono::duration<double>(db::kSignInterval_s)) return;
    store.note_alive(run_id, state);
    noted = std::move(state);
    noted_at = Steady::now();
  };
}

FitQuestion question(const TuningRequest& request, const Result& winner) {
  return {.kernel = request.space->kernel(winner.kernel),
          .problem = winner.problem,
          .configuration = winner.configuration};
}

std::vector<Result> compile_for(const TuningRequest& request, const std::vector<Result>& all,
                                const Device& device, const DeviceChoice& choice) {
  std::vector<FitQuestion> questions;
  for (const Result& winner : all) questions.push_back(question(request, winner));
  const auto pool = std::make_shared<WorkerPool>(compile_workers_for(choice, device));
  return check_fit(*request.space, request.sources, questions, device, *pool);
}

/// Judges a winner by the resources that it uses on the device where it was tuned.
Result judge_by_resources(const TuningRequest& request, const Result& winner,
                          const Device& device) {
  std::vector<Resources> resources;
  for (const LaunchResult& launch : winner.launches) resources.push_back(launch.resources);
  return judge_fit(*request.space, question(request, winner), resources, device);
}

AlsoFits check(const TuningRequest& request, const std::vector<Result>& all, DeviceKind tuned_on,
               const Device& device, const DeviceChoice& choice) {
  AlsoFits fits;
  fits.device = device;
  std::vector<Result> there;
  try {
    there = compile_for(request, all, device, choice);
  } catch (const UnavailableError& error) {
    fits.not_compiled = error.what();
    fits.registers_known = tuned_on == DeviceKind::gpu;
    for (const Result& winner : all) there.push_back(judge_by_resources(request, winner, device));
  }
  for (std::size_t i = 0; i < all.size(); ++i) fits.winners.push_back({all[i], there[i]});
  return fits;
}

/// Compiles the winners of all problems for each device and checks whether they fit there.
std::vector<AlsoFits> check_also_fits(const TuningRequest& request, const TuningSummary& summary,
                                      DeviceKind tuned_on, const std::vector<Device>& devices,
                                      const DeviceChoice& choice) {
  std::vector<Result> all;
  for (const ProblemSummary& problem : summary.problems) {
    const std::vector<Result> of_problem = winners(problem);
    all.insert(all.end(), of_problem.begin(), of_problem.end());
  }
  std::vector<AlsoFits> result;
  if (all.empty()) return result;
  for (const Device& device : devices) {
    result.push_back(check(request, all, tuned_on, device, choice));
  }
  return result;
}

/// Returns true if a run of the space on this model was complete, so that another one may have
/// nothing to do.
bool was_complete(const db::ResultStore& store, const Space& space, const Device& device) {
  const auto is_complete = [](const db::StoredRun& run) {
    return run.outcome == "complete" && run.imported_from.empty();
  };
  return std::ranges::any_of(store.runs({.space = space.name, .device = device.name}), is_complete);
}

/// Runs the search over all problems on the units of one model. `hosts`: where the units are;
/// empty: this machine.
int tune_on(Session& session, const std::vector<Device>& units, const Hosts& hosts,
            OverrunTimer& late) {
  const TuneOptions& options = session.options;
  const LoadedSpace& loaded = session.loaded;
  const std::atomic<bool>& stop = session.stop;
  TuningRequest request = session.request;
  request.problems = chosen_problems(loaded.space, options.problems, units.front().kind);
  if (units.front().kind == DeviceKind::gpu) request.cpu = cpu_beside(units.front());
  ProgressLine progress(verbosity(options), can_redraw(STDERR_FILENO), colors(STDERR_FILENO),
                        units.front().kind, session.models > 1 ? units.front().name : "");
  Observer observer = labelled(progress.observer(), units.front().name, session);
  // Other users of devices on other hosts cannot be seen from here.
  StartupCheck startup(hosts.empty() ? units : std::vector<Device>{}, device_use, observer.note,
                       StartupCheck::Clock::now());
  late.phase("reading the database");
  db::ResultStore store(options.database);
  late.phase("starting workers");
  WorkerCommand command = hosts.empty() ? workers_for(options.device, units, session.models)
                                        : workers_for(options.device, hosts, units, session.models,
                                                      observer.note, session.meet);
  if (hosts.empty() && was_complete(store, loaded.space, units.front())) {
    start_when_needed(command, options.device);
  }
  const auto pool = start_workers(std::move(command), &stop);
  if (stop) return kInterrupted;
  const DeviceGreeting& hello = pool->greeting();

  Run run = run_now(loaded, hello);
  if (!hosts.empty()) run.host = names_of(hosts);
  run.strategy = request.options.strategy;
  run.seed = request.options.seed;
  run.command_line = options.command_line;

  late.phase("reading the database");
  const auto log = store.begin_run(run);
  if (!request.options.cold && strategy_info(request.options.strategy).looks_elsewhere) {
    request.elsewhere = store.prior_timings(run.space, run.device, request.problems);
    request.further_elsewhere = [&] {
      auto shared = open_shared(options.no_shipped, run.space)
                        .prior_timings(run.space, run.device, request.problems);
      if (!shared.from.empty()) {
        observer.note("the search starts with what is known from " + joined(shared.from, ", "));
      }
      return std::move(shared.prior_timings);
    };
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
  late.phase("writing to the database");
  const std::lock_guard lock(session.output);
  progress.clear();
  store.end_run(run.id, summary.interrupted     ? "interrupted"
                        : summary.out_of_budget ? "budget"
                                                : "complete");
  std::vector<AlsoFits> also_fits;
  if (!summary.interrupted) {
    late.phase("compiling for --also-fits");
    also_fits =
        check_also_fits(request, summary, units.front().kind, session.also_on, options.device);
  }
  const int status = finish(options, loaded.space, summary, hello.devices.front(), also_fits);
  late.phase("ending the workers");
  return status;
}

/// A model and the state of its run.
struct ModelRun {
  std::string model;
  std::vector<Device> units;
  int status = 0;
  std::exception_ptr error = nullptr;
  std::thread thread = {};
};

/// Tunes one model. If `hosts` is empty but the session has addresses, connects to them: a link
/// belongs to one run.
void tune_model(Session& session, ModelRun& run, Hosts hosts, OverrunTimer& late) {
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

}  // namespace

Run run_now(const LoadedSpace& loaded, const DeviceGreeting& hello) {
  Run run;
  run.id = random_id();
  run.space = loaded.space.name;
  run.space_sha256 = loaded.sha256;
  run.space_json = loaded.text;
  run.device = hello.devices.front();
  run.compiler = hello.compiler;
  run.compiler_sha256 = hello.compiler_sha256;
  run.tool_version = SMEMTUNE_VERSION;
  run.host = db::host_name();
  run.started_unix = db::unix_now();
  return run;
}

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

int tune_models(Session& session, const std::vector<std::vector<Device>>& models, Hosts hosts,
                OverrunTimer& late) {
  std::mutex lock;
  std::deque<ModelRun> runs;  // A deque, because references to its elements must stay valid.
  for (const std::vector<Device>& units : models) {
    runs.push_back({.model = db::device_model_key(units.front()), .units = units});
  }
  session.models = runs.size();
  const auto begin = [&](ModelRun& run) {
    run.thread = std::thread([&session, &run] {
      OverrunTimer not_shown({}, 0);  // Only the command's own thread reports its activity.
      tune_model(session, run, {}, not_shown);
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
  late.phase("runs on other models");
  // New runs are only added by runs that are still active, and only at the end.
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

namespace {

constexpr int kNothingWorked = 3;

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

}  // namespace

void say_unless_quiet(const TuneOptions& options, const std::string& line) {
  if (!options.quiet) cli::say(line);
}

Verbosity verbosity(const TuneOptions& options) {
  if (options.quiet) return Verbosity::quiet;
  return options.verbose ? Verbosity::verbose : Verbosity::normal;
}

void follow(Observer& observer, OverrunTimer& late) {
  late.phase("listing the valid configurations");
  observer.progress = [&late, tell = observer.progress](const Progress& progress) {
    late.phase(progress.phase == "prepare"  ? "preparing the reference"
               : progress.phase == "finals" ? "the finals"
                                            : "the search");
    tell(progress);
  };
}

Objective objective_of(const TuneOptions& options, const Space& space) {
  std::set<std::string> metrics;
  for (const KernelTemplate& kernel : space.kernels) {
    for (const auto& [name, expression] : kernel.metrics) metrics.insert(name);
  }
  return Objective(options.objective, metrics);
}

int finish(const TuneOptions& options, const Space& space, const TuningSummary& summary,
           const Device& device, const std::vector<AlsoFits>& also_fits) {
  if (options.json) {
    write_document(summary_json(space, summary, device, also_fits, objective_of(options, space)));
  } else if (!options.quiet) {
    write_out(options.dry_run ? dry_run_text(space, summary, device)
                              : summary_text(space, summary, device, objective_of(options, space)) +
                                    also_fits_text(also_fits));
  }
  say_unless_quiet(options, unverified_warning(space, summary));
  const int status = exit_status(summary);
  if (status == kNothingWorked) report_nothing_worked(summary);
  return status;
}

}  // namespace smemtune::cli
