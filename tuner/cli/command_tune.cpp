#include "tuner/cli/command_tune.h"

#include "db/export_formats.h"
#include "db/result_store.h"
#include "db/rows.h"
#include "reports/result_texts.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/device_sharing.h"
#include "tuner/cli/hosts.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/model_runs.h"
#include "tuner/cli/options.h"
#include "tuner/cli/progress.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/shared_results.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/devices_file.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/whole_file.h"
#include "tuner/engine/fit_check.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/engine/variant.h"
#include "tuner/engine/worker_pool.h"
#include "tuner/search/strategy.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace smemtune::cli {
namespace {

std::string strategies_text() {
  std::string text = "Order of the search [auto]:";
  for (const StrategyInfo& strategy : strategies()) {
    text += "\n  " + strategy.name + ": " + strategy.description;
  }
  return text;
}

/// The state of the default configurations of all kernels.
struct DefaultCheck {
  std::vector<std::string> faults;  ///< Contradictions between the space and the source.
  std::vector<std::string> notes;   ///< Checks that were not possible, with the reason.
};

/// The known device with the largest limits.
constexpr const char* kDevice = "h200";

/// Returns true if no device, whatever its features, allows the launch.
bool is_never_launched(const Failure& failure) {
  constexpr std::array<std::string_view, 8> kReasons = {
      "block_dim", "cluster_dim",   "constant_bytes", "expression",
      "grid_dim",  "launch_bounds", "shared_bytes",   "threads"};
  return failure.status == Status::constraints &&
         std::ranges::find(kReasons, failure.reason) != kReasons.end();
}

std::string of_kernel(const std::string& kernel) { return "kernel '" + kernel + "': "; }

std::string cannot_be_launched(const Configuration& configuration, const std::string& why) {
  return "its default " + key(configuration) + " cannot be launched: " + why;
}

/// Reports for each kernel the first problem on which its default cannot be launched.
void add_launch_faults(const Space& space, const Device& device, DefaultCheck& check) {
  for (const KernelTemplate& kernel : space.kernels) {
    const Configuration& configuration = kernel.default_configuration;
    for (const Problem& problem : space.problems) {
      const KernelBinding bound(space, kernel, problem, device);
      if (!bound.satisfies_constraints(configuration)) continue;
      const std::optional<Failure> failure = cannot_launch(bound, configuration, device);
      if (!failure || !is_never_launched(*failure)) continue;
      check.faults.push_back(of_kernel(kernel.name) +
                             cannot_be_launched(configuration, failure->detail) + " (on " +
                             key(problem) + ")");
      break;
    }
  }
}

void add_faults(const Result& result, const Device& device, DefaultCheck& check) {
  const std::string kernel = of_kernel(result.kernel);
  if (!result.failed()) return;
  const Failure failure = {.status = result.status, .reason = result.reason, .detail = {}};
  const bool is_gpu = device.kind == DeviceKind::gpu;
  if (result.status == Status::compile && result.reason == "signature") {
    std::istringstream lines(result.detail);
    for (std::string fault; std::getline(lines, fault);) check.faults.push_back(kernel + fault);
  } else if (is_gpu && result.status == Status::compile && result.reason == "error") {
    check.faults.push_back(kernel + "its default " + key(result.configuration) +
                           " does not compile: " + telling_line(result));
  } else if (result.reason == "declared_shared_bytes") {
    check.faults.push_back(kernel + result.detail);
  } else if (is_never_launched(failure)) {
    check.faults.push_back(kernel + cannot_be_launched(result.configuration, telling_line(result)));
  } else {
    check.notes.push_back(kernel + "its default was not compiled for " +
                          (is_gpu ? kDevice : "the CPU device") + " (" + status_text(result) +
                          "): " + telling_line(result));
  }
}

/// Returns the default of every kernel, with the first problem of the file whose constraints it
/// satisfies.
std::vector<FitQuestion> defaults_of(const Space& space, const Device& device) {
  std::vector<Problem> problems = space.problems;
  for (const auto& more : {space.cpu_problems, space.verify.also}) {
    problems.insert(problems.end(), more.begin(), more.end());
  }
  std::vector<FitQuestion> questions;
  for (const KernelTemplate& kernel : space.kernels) {
    const Configuration& configuration = kernel.default_configuration;
    const auto problem = std::ranges::find_if(problems, [&](const Problem& one) {
      return KernelBinding(space, kernel, one, device).satisfies_constraints(configuration);
    });
    // load_space() has found such a problem with the limits of the H200.
    if (problem == problems.end()) continue;
    questions.push_back({.kernel = &kernel, .problem = *problem, .configuration = configuration});
  }
  return questions;
}

void compile_defaults(const LoadedSpace& loaded, const Device& device, DefaultCheck& check) {
  const auto pool = std::make_shared<WorkerPool>(compile_workers_for({}, device));
  for (const Result& result :
       check_fit(loaded.space, loaded.sources, defaults_of(loaded.space, device), device, *pool)) {
    add_faults(result, device, check);
  }
}

/// Checks the default of every kernel against the limits of the largest known device on every
/// problem, and compiles it for the first problem that it applies to: whether it compiles, takes
/// the arguments that the space passes (backend/signature.h), and has the declared amount of static
/// shared memory. Without NVRTC, the CPU device's compiler is used, whose errors only become notes.
/// Launches nothing.
DefaultCheck check_defaults(const LoadedSpace& loaded) {
  DefaultCheck check;
  const Device device = find_device(published_devices(), kDevice);
  add_launch_faults(loaded.space, device, check);
  if (!check.faults.empty()) return check;
  std::string why = "this smemtune was built without the CUDA back end";
  try {
    if (has_cuda()) {
      compile_defaults(loaded, device, check);
      return check;
    }
  } catch (const UnavailableError& error) {
    why = error.what();
  }
  check.notes.push_back("compiled for the CPU device only: " + why);
  try {
    compile_defaults(loaded, cpu_device(kDevice), check);
  } catch (const UnavailableError& error) {
    check.notes.push_back(std::string("not compiled for it either: ") + error.what());
  }
  return check;
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

/// Returns the number in the value of `--until`, with or without its sign.
double parse_until(std::string text) {
  constexpr double kMost = 100;
  if (!text.empty() && text.back() == '%') text.pop_back();
  double percent = 0;
  if (!CLI::detail::lexical_cast(text, percent) || !(percent >= 0.1 && percent <= kMost)) {
    throw CLI::ValidationError("--until: " + quote(text) +
                               " is not a percentage from 0.1 to 100, like 1%");
  }
  return percent;
}

/// Returns the devices of an option like `--also-fits l4,h100`.
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

int run_dry(const TuneOptions& options, const LoadedSpace& loaded, TuningRequest request,
            OverrunTimer& late, const std::atomic<bool>& stop) {
  if (!options.also_fits.empty()) {
    throw InputError("--also-fits is about the winners of a run; with --dry-run use --device");
  }
  const Device device = options.device.device == "cpu"
                            ? cpu_device(options.device.limits_of)
                            : device_to_check(options.device.device, options.database);
  request.problems = chosen_problems(loaded.space, options.problems, device.kind);
  ProgressLine progress(verbosity(options), can_redraw(STDERR_FILENO), colors(STDERR_FILENO),
                        device.kind);
  late.phase("starting workers");
  const auto pool = start_workers(compile_workers_for(options.device, device), &stop);
  if (stop) return kInterrupted;
  Observer observer = progress.observer();
  follow(observer, late);
  const TuningSummary summary = dry_run(request, device, *pool, observer, stop);
  progress.clear();
  late.phase("ending the workers");
  return finish(options, loaded.space, summary, device);
}

bool reads_energy(const TuneOptions& options) {
  return options.tuning.energy || options.tuning.energy_within > 0;
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
  const std::string& devices = options.device.devices;
  if (!devices.empty() && devices != "all") {
    throw InputError("--hosts uses all GPUs that the hosts show: leave --devices out, and set " +
                     std::string("CUDA_VISIBLE_DEVICES there"));
  }
  if (!options.device.device.empty() && options.device.device != "cpu") {
    throw InputError("--hosts uses all GPUs that the hosts show: of --device only cpu is possible");
  }
}

/// Exports the best results of the space on these devices' models, including those of earlier runs.
void export_best(const TuneOptions& options, const Space& space,
                 const std::vector<Device>& devices) {
  const db::ResultStore store(options.database, db::ResultStore::Mode::read_only);
  std::set<std::string> models;
  for (const Device& device : devices) models.insert(db::device_model_key(device));
  const auto of_models = [&](std::vector<db::StoredResult> results) {
    std::erase_if(results, [&](const db::StoredResult& stored) {
      return !models.contains(db::device_model_key(stored.device));
    });
    return results;
  };
  const db::Query query = {.space = space.name};
  write_whole_file(options.export_file,
                   db::export_json(of_models(store.best(query, true)), store.defaults(query),
                                   of_models(store.candidates(query))));
}

}  // namespace

void add_tune_options(CLI::App& app, TuneOptions& options) {
  add_value(app, "--space", options.space,
            "Search space to tune: a JSON file, or the name of a space that comes with smemtune",
            "FILE");
  add_value(app, "--check", options.check,
            "Only look for mistakes in this space file and measure nothing (the command "
            "`smemtune check` measures the stored winner again)",
            "FILE");
  add_value(app, "--device", options.device.device,
            "GPU by index, UUID or name; cpu; with --dry-run any known GPU, or sm_XX "
            "[the first GPU; the CPU where there is none]",
            "NAME");
  add_value(app, "--devices", options.device.devices,
            "Several GPUs of this machine at once: all, or indices and UUIDs separated by commas; "
            "GPUs of one model share the search, different models are tuned at the same time",
            "LIST");
  add_value(app, "--hosts", options.device.hosts,
            "Several hosts at once: names for ssh separated by commas, or slurm inside an "
            "allocation; their GPUs measure, their cores compile",
            "LIST");
  add_value(app, "--host-program", options.device.host_program,
            "Where smemtune lies on the hosts [where it lies here]", "PATH");
  add_no_wait(app, options.no_wait);
  add_repeatable(app, "--problem", options.problems,
                 "Problem to tune, as NAME=VALUE,...; may be repeated [those of the file]", "KEY");
  add_repeatable(app, "--kernel", options.kernels, "Only this kernel; may be repeated [all]",
                 "NAME");
  add_database(app, options.database);
  add_shared(app, options.no_shipped);
  add_value(app, "--export", options.export_file,
            "Write the best of this space and device as JSON when done, - for stdout", "FILE");
  add_value(app, "--strategy", options.tuning.strategy, strategies_text(), "NAME");
  app.add_flag("--cold", options.tuning.cold,
               "Search without the results of other problems and devices");
  add_count(app, "--seed", options.tuning.seed, 0, UINT64_MAX,
            "Seed of the order and of the data [1]");
  app.add_option_function<std::string>(
         "--until",
         [&options](const std::string& text) {
           options.tuning.budget.until_percent = parse_until(text);
         },
         "Stop when it is 95 % sure that nothing is faster by more than this, as in 2% [1%; none "
         "with another limit]")
      ->type_name("PERCENT");
  app.add_flag_callback(
         "--exhaustive", [&options] { options.tuning.budget.until_percent = 0; },
         "Evaluate all configurations, or as many as the limits allow")
      ->excludes("--until");
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
  app.add_flag("--with-transfers", options.tuning.with_transfers,
               "Also report the time including copies of inputs and outputs (pageable memory)");
  app.add_flag("--counters", options.tuning.counters,
               "Also read hardware counters of the finalists, after all times (needs CUPTI of CUDA "
               "12.6 and the right to)");
  app.add_flag("--energy", options.tuning.energy,
               "Also repeat each finalist for 2 seconds, after all times, and read the energy that "
               "the GPU takes (NVML)");
  add_number(app, "--energy-within", options.tuning.energy_within, 1, 1e9,
             "Also read the energy of all configurations that take at most X times the time of the "
             "best, 3 seconds or more each; includes --energy [finalists only]");
  add_objective(
      app, options.objective,
      "Rank the finalists at the end by time, energy, edp (energy x time) or an expression over "
      "what is known of them; includes --energy and --counters where it uses them [time]");
  add_number(app, "--tie", options.tuning.tie_percent, 0, 100,
             "Finalists that differ by less than this, in percent, are tied [0.5]");
  add_count(app, "--jobs", options.device.compile_workers, 1, 1024,
            "Compile workers [one per core]");
  add_limits_of(app, options.device);
  app.add_flag("--shuffle-threads", options.device.shuffle_threads,
               "CPU device: run a block's threads in random order, which finds missing barriers");
  add_nvrtc(app, options.device);
  app.add_flag("--dry-run", options.dry_run,
               "Do everything but launch: resources, occupancy and rejections; needs no GPU");
  add_value(app, "--also-fits", options.also_fits,
            "Compile the winners for these GPUs too, as in l4,h100, and say which would fit",
            "NAMES");
  app.add_flag("--fresh", options.fresh, "Measure again what the database already knows");
  app.add_flag("--retry-quarantined", options.tuning.retry_quarantined,
               "Try again configurations that were running both times when the machine went down");
  app.add_flag("--json", options.json, "Print the result as JSON");
  app.add_flag("-q,--quiet", options.quiet, "Print only errors and the requested output");
  app.add_flag("-v,--verbose", options.verbose, "Print a line for every configuration");
}

int run_tune(const TuneOptions& options) {
  if (!options.check.empty() && !options.space.empty())
    throw InputError("--check and --space cannot be used together");
  if (!options.check.empty()) return check(find_space(options.check));
  const std::atomic<bool>& stop = stop_on_signals();
  if (options.space.empty()) throw InputError("--space FILE is missing; see smemtune --help");
  if (options.quiet && options.verbose)
    throw InputError("--quiet and --verbose cannot be used together");
  if (!options.device.devices.empty() && !options.device.device.empty())
    throw InputError("--device and --devices cannot be used together");
  check_host_options(options);
  if (!options.device.devices.empty() && options.dry_run)
    throw InputError("--devices is for measuring; with --dry-run use --device");
  const bool is_ranked = options.objective != "time";
  if (options.dry_run && (is_ranked || reads_energy(options) || options.tuning.counters)) {
    throw InputError(
        "--counters, --energy and --objective are for measuring; --dry-run measures nothing");
  }
  if (!options.export_file.empty() && options.dry_run)
    throw InputError("--export writes what was measured; --dry-run measures nothing");

  OverrunTimer late(options.begun, options.tuning.budget.max_seconds);
  const auto say_if_late = [&] {
    if (const std::string text = late.text(); !text.empty()) say_unless_quiet(options, text);
  };
  late.phase("reading the space");
  LoadedSpace loaded = load_space(find_space(options.space), share_folder());
  if (options.device.hosts.empty()) offer_compilers(options.device, loaded.space);
  TuningRequest request;
  request.space = &loaded.space;
  request.kernels = chosen_kernels(loaded.space, options.kernels);
  // Throws for an invalid problem.
  chosen_problems(loaded.space, options.problems, DeviceKind::gpu);
  request.sources = loaded.sources;
  request.reference_in_double = loaded.reference_in_double;
  request.options = options.tuning;
  request.options.resume = !options.fresh;
  const Objective objective = objective_of(options, loaded.space);
  request.options.energy = reads_energy(options) || objective.uses(kEnergyFacts);
  request.options.counters = options.tuning.counters || objective.uses(kCounterFacts);
  make_strategy(request.options.strategy, {}, 1);  // Throws for an unknown name before work begins.
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
    const OverrunTimer::Clock::time_point called = OverrunTimer::Clock::now();
    hosts = connect_hosts(session.addresses, stop, tell);
    if (stop) return kInterrupted;
    late.leave_out(called, OverrunTimer::Clock::now());
    offer_compilers(options.device, nvrtc_versions(options.device, hosts), loaded.space);
  }
  late.phase("looking for devices");
  const std::string fingerprint = gpu_fingerprint();
  const auto present = [&] {
    std::vector<Device> remembered = take_remembered_gpus(fingerprint);
    return remembered.empty() ? present_gpus() : remembered;
  };
  ChosenDevices chosen = hosts.empty() ? choose_devices(options.device, present)
                                       : choose_devices(options.device, hosts);
  say_unless_quiet(options, chosen.notice);
  std::vector<DeviceLock> locks;  // Other hosts lock their own devices.
  if (hosts.empty()) {
    const OverrunTimer::Clock::time_point asked = OverrunTimer::Clock::now();
    locks = lock_devices(chosen.devices, purpose, !options.no_wait, stop, tell);
    late.leave_out(asked, OverrunTimer::Clock::now());
  }
  if (stop) return kInterrupted;
  request.begun = late.begun();
  const int status = tune_models(session, by_model(chosen.devices), std::move(hosts), late);
  if (status == 0) remember_gpus(fingerprint, chosen.present);
  late.phase("reading the database");
  std::ranges::move(session.met, std::back_inserter(chosen.devices));
  if (!options.export_file.empty()) export_best(options, loaded.space, chosen.devices);
  // Opening checks the whole database, in case another program truncated or replaced it meanwhile.
  db::ResultStore(options.database, db::ResultStore::Mode::read_only);
  say_if_late();
  if (!options.quiet && !options.json) {
    write_error("results are in " + options.database.string() + "\n");
  }
  return status;
}

}  // namespace smemtune::cli
