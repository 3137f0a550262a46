#include "reports/energy.h"
#include "reports/result_texts.h"
#include "reports/run_summary.h"
#include "reports/table.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/device_sharing.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/space_file.h"
#include "tuner/core/derived_tolerance.h"
#include "tuner/core/error.h"
#include "tuner/core/whole_file.h"
#include "tuner/engine/one_configuration.h"
#include "tuner/engine/variant.h"
#include "tuner/engine/worker_pool.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace smemtune::cli {
namespace {

struct RunOptions {
  std::filesystem::path space;
  std::string kernel;  ///< Empty: the only one that has the parameters of the configuration.
  std::string configuration;
  std::string problem;  ///< Empty: the first one of the file.
  std::filesystem::path database;
  std::filesystem::path keep;  ///< A folder; empty: nothing is kept.
  DeviceChoice device;
  std::uint64_t seed = 1;
  std::uint64_t samples = 31;
  bool profile = false;
  bool dry_run = false;
  bool counters = false;
  bool energy = false;
  bool no_wait = false;
  bool json = false;
};

constexpr int kDidNotWork = 3;

struct Wanted {
  LoadedSpace loaded;
  ChosenConfiguration chosen;
  Problem problem;

  std::string name() const { return loaded.space.name + "/" + chosen.kernel->name; }
};

Wanted find_wanted(const RunOptions& options, DeviceKind kind) {
  Wanted wanted = {
      .loaded = load_space(find_space(options.space), share_folder()), .chosen = {}, .problem = {}};
  offer_compilers(options.device, wanted.loaded.space);
  const Space& space = wanted.loaded.space;
  wanted.chosen = chosen_configuration(space, options.kernel, options.configuration);
  const std::vector<std::string> problems =
      options.problem.empty() ? std::vector<std::string>() : std::vector{options.problem};
  wanted.problem = chosen_problems(space, problems, kind).front();
  return wanted;
}

/// Returns the command that only launches this configuration.
std::string profile_command(const RunOptions& options, const Wanted& wanted, const Device& device) {
  std::vector<std::string> words = {executable().string(),
                                    "run",
                                    "--space",
                                    std::filesystem::absolute(options.space).string(),
                                    "--kernel",
                                    wanted.chosen.kernel->name,
                                    "--config",
                                    key(wanted.chosen.configuration),
                                    "--problem",
                                    key(wanted.problem),
                                    "--device",
                                    device.kind == DeviceKind::cpu ? "cpu" : device.uuid};
  if (device.kind == DeviceKind::cpu) {
    words.insert(words.end(), {"--limits-of", options.device.limits_of});
  }
  for (const std::string& path : options.device.nvrtc) {
    words.insert(words.end(), {"--nvrtc", std::filesystem::absolute(path).string()});
  }
  if (options.seed != 1) words.insert(words.end(), {"--seed", std::to_string(options.seed)});
  words.emplace_back("--profile");
  return shell_command(words);
}

/// Returns commands of tools that analyze the kernel.
std::vector<std::string> tool_commands(const RunOptions& options, const Wanted& wanted,
                                       const Device& device) {
  const std::string alone = profile_command(options, wanted, device);
  if (device.kind == DeviceKind::cpu) return {alone};
  std::string report;
  if (!options.keep.empty()) {
    const auto file = std::filesystem::absolute(options.keep) / wanted.chosen.kernel->name;
    report = "--force-overwrite -o " + shell_word(file.string()) + " ";
  }
  // The compiler was given texts instead of files, so ncu must be told where the sources are.
  const auto folder = options.keep.empty() ? std::filesystem::absolute(options.space).parent_path()
                                           : std::filesystem::absolute(options.keep) / "source";
  const std::string sources =
      "--import-source yes --source-folders " + shell_word(folder.string()) + " ";
  return {
      "ncu --set full " + sources + report + alone, "compute-sanitizer --tool memcheck " + alone,
      "compute-sanitizer --tool racecheck " + alone, "compute-sanitizer --tool initcheck " + alone,
      "compute-sanitizer --tool synccheck " + alone};
}

/// Returns the path of a source below the folder: the path by which it is included, but never
/// outside of the folder.
std::filesystem::path kept_name(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(name).lexically_normal();
  const bool inside = path.is_relative() && !path.empty() && *path.begin() != "..";
  return inside ? path : path.filename();
}

/// Writes files into the folder of --keep and records their names.
class Keeper {
 public:
  explicit Keeper(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void write(const std::filesystem::path& name, const std::string& text) {
    const std::filesystem::path file = folder_ / name;
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    if (error) {
      throw InputError("--keep: " + file.parent_path().string() + ": " + error.message());
    }
    write_whole_file(file, text);
    names_ += (names_.empty() ? "" : ", ") + name.string();
  }

  const std::string& names() const { return names_; }

 private:
  std::filesystem::path folder_;
  std::string names_;
};

TuningSummary as_summary(const OneResult& one) {
  const Result& result = one.result;
  TuningSummary summary;
  ProblemSummary& problem = summary.problems.emplace_back();
  problem.problem = result.problem;
  problem.results = {result};
  problem.derived = one.derived;
  problem.cartesian = problem.evaluated = summary.evaluated = 1;
  problem.valid = 1;
  if (result.timed()) problem.bests.kernels = {result};
  return summary;
}

std::string lines_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + "\n";
  return text;
}

/// Returns the compiler's report, without the entries of other configurations compiled together
/// with this one.
std::string own_report(const OneResult& one) {
  constexpr std::string_view kBegin = "Compiling entry function '";
  std::string text;
  bool is_own = true;
  std::istringstream lines(one.module->log);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t begin = line.find(kBegin); begin != line.npos) {
      const std::string rest = line.substr(begin + kBegin.size());
      is_own = std::ranges::any_of(one.request->name_expressions, [&](const std::string& name) {
        const CompiledEntry* const entry = one.module->entry(name);
        return entry != nullptr && rest.starts_with(entry->lowered_name + "'");
      });
    }
    if (is_own) text += line + "\n";
  }
  return text;
}

std::string keep(const RunOptions& options, const Wanted& wanted, const Device& device,
                 const OneResult& one) {
  Keeper keeper(options.keep);
  const std::string& kernel = wanted.chosen.kernel->name;
  for (const KernelSource::File& file : wanted.loaded.sources.at(kernel).files) {
    keeper.write("source" / kept_name(file.name), file.text);
  }
  if (one.request) {
    std::vector<std::string> options_and_names = {"architecture " + one.request->architecture};
    for (const std::string& option : one.request->options) {
      options_and_names.push_back("option " + option);
    }
    for (const std::string& name : one.request->name_expressions) {
      options_and_names.push_back("entry " + name);
    }
    keeper.write(kernel + ".compile.txt", lines_of(options_and_names));
  }
  if (one.module) {
    const std::string image(one.module->image.begin(), one.module->image.end());
    keeper.write(kernel + (device.kind == DeviceKind::cpu ? ".so" : ".cubin"), image);
    keeper.write(kernel + (device.kind == DeviceKind::cpu ? ".log.txt" : ".ptxas.txt"),
                 own_report(one));
  }
  if (!one.ptx.empty()) keeper.write(kernel + ".ptx", one.ptx);
  keeper.write(kernel + ".json", summary_json(wanted.loaded.space, as_summary(one), device, {}));
  if (!device.uuid.empty() || device.kind == DeviceKind::cpu) {
    keeper.write("commands.txt", lines_of(tool_commands(options, wanted, device)));
  }
  return keeper.names();
}

std::string launches_text(const Result& result, DeviceKind kind) {
  std::string text;
  for (const LaunchResult& launch : result.launches) {
    const LaunchShape& shape = launch.shape;
    text += "  " + shape.name_expression + "  grid " + extents_text(shape.grid) + ", block " +
            extents_text(shape.block) + ", " +
            format_bytes(static_cast<double>(launch.shared_bytes())) + " shared";
    if (launch.time_ms > 0) text += ", " + format_time(launch.time_ms);
    if (shape.times != 1) text += ", " + std::to_string(shape.times) + " times";
    if (shape.cooperative) text += ", cooperative";
    if (kind == DeviceKind::gpu) {
      const Resources& used = launch.resources;
      text += ", " + std::to_string(used.registers_per_thread) + " registers, " +
              std::to_string(used.spill_store_bytes + used.spill_load_bytes) + " bytes spilled, " +
              decimal(launch.occupancy.percent, 0) + " % occupancy";
    }
    text += "\n";
  }
  return text;
}

/// Returns the text with each line indented.
std::string indented(std::string_view text) {
  std::string result;
  while (text.ends_with('\n')) text.remove_suffix(1);
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    result += printable(std::string(text.substr(0, end))) + "\n    ";
    text.remove_prefix(end + 1);
  }
  return result + printable(std::string(text));
}

/// Lists what hardware counters said of each launch, or why there are none.
std::string counters_text(const OneResult& one) {
  if (!one.no_counters.empty()) return "  no counters: " + printable(one.no_counters) + "\n";
  std::string text;
  for (const LaunchResult& launch : one.result.launches) {
    Table table({"counter of " + launch.shape.name_expression, ">value"});
    bool has_any = false;
    for (const auto& [name, value] : launch.facts) {
      if (!name.starts_with(kCounterFacts)) continue;
      has_any = true;
      table.add_row({name.substr(std::string_view(kCounterFacts).size()), significant(value, 6)});
    }
    if (has_any) text += table.text("  ");
  }
  return text;
}

std::string result_text(const Wanted& wanted, const Device& device, const OneResult& one,
                        bool launched) {
  const Result& result = one.result;
  std::string text = wanted.name() + " " + key(result.configuration) + "  " + key(result.problem) +
                     "  on " + (device.uuid.empty() ? device.name : device_text(device)) + "\n" +
                     launches_text(result, device.kind);
  if (result.failed()) {
    return text + "  " + status_text(result) + ": " + indented(result.detail) + "\n";
  }
  if (!launched) return text + "  compiled and not launched\n";
  const Measurement& time = result.measurement;
  for (const DerivedTolerance& derived : one.derived) {
    text += "  tolerance of " + describe(derived) + "\n";
  }
  text += "  correct: largest error " + significant(result.max_absolute_error, 3) + " absolute, " +
          significant(result.max_relative_error, 3) + " relative; compared with " +
          to_text(result.coverage()) + "\n";
  text += "  " + format_time(time.median_ms) + " (" + format_time(time.median_low_ms) + " to " +
          format_time(time.median_high_ms) + ", " + std::to_string(time.samples_ms.size()) +
          " samples)";
  if (const std::string rate = rates(result); !rate.empty()) text += ", " + rate;
  text += "\n" + (result.detail.empty() ? "" : "  " + printable(result.detail) + "\n");
  if (!one.no_energy.empty()) text += "  no energy: " + printable(one.no_energy) + "\n";
  return text + energy_line(result) + counters_text(one);
}

int profile(const RunOptions& options) {
  const ChosenDevices chosen = choose_devices(options.device);
  const Device& device = chosen.devices.front();
  const Wanted wanted = find_wanted(options, device.kind);
  const KernelTemplate& kernel = *wanted.chosen.kernel;
  KernelOnProblems bound;
  bound.bound.emplace_back(wanted.loaded.space, kernel, wanted.problem, device);
  bound.source = &wanted.loaded.sources.at(kernel.name);
  const Outcome<Variant> variant =
      plan(bound, {.problems = {wanted.problem}}, wanted.chosen.configuration, device);
  if (!variant) throw InputError(variant.failure().detail);
  CompileRequest request = variant->requests.front();
  // Allows profilers to show lines of the source; the generated code is the same.
  static const std::string kLines = "-lineinfo";
  const bool has_lines = std::ranges::find(request.options, kLines) != request.options.end();
  if (device.kind == DeviceKind::gpu && !has_lines) request.options.push_back(kLines);
  launch_alone(options.device, device, request, variant->instances.front(), options.seed);
  return 0;
}

int finish(const RunOptions& options, const Wanted& wanted, const Device& device,
           const OneResult& one) {
  if (one.interrupted) return kInterrupted;
  std::string text = result_text(wanted, device, one, !options.dry_run);
  if (!options.keep.empty()) {
    text += "  kept in " + options.keep.string() + ": " + keep(options, wanted, device, one) + "\n";
  }
  if (one.result.status == Status::correct && !options.dry_run) {
    text += "  to launch only this:\n";
    for (const std::string& line : tool_commands(options, wanted, device)) {
      text += "    " + line + "\n";
    }
  }
  if (options.json) {
    write_document(summary_json(wanted.loaded.space, as_summary(one), device, {}));
  } else {
    write_out(text);
  }
  return one.result.failed() ? kDidNotWork : 0;
}

void add_run_options(CLI::App& app, RunOptions& options) {
  add_value(app, "--space", options.space,
            "The search space: a JSON file, or the name of a space that comes with smemtune",
            "FILE")
      ->required();
  add_value(app, "--config", options.configuration,
            "The configuration, as NAME=VALUE,...; parameters left out have their default values",
            "KEY")
      ->required();
  add_value(app, "--kernel", options.kernel, "The kernel [the one with these parameters]", "NAME");
  add_value(app, "--problem", options.problem, "The problem, as NAME=VALUE,... [the file's first]",
            "KEY");
  add_value(app, "--device", options.device.device,
            "GPU by index, UUID or name; cpu; with --dry-run any known GPU, or sm_XX "
            "[the first GPU; the CPU where there is none]",
            "NAME");
  add_limits_of(app, options.device);
  add_nvrtc(app, options.device);
  add_value(app, "--keep", options.keep,
            "Keep source, PTX, cubin, ptxas report, the result as JSON and the commands of "
            "profilers in this folder",
            "DIR");
  app.add_flag("--profile", options.profile,
               "Launch it once, in this process, and do nothing else: for ncu, compute-sanitizer "
               "and debuggers");
  app.add_flag("--dry-run", options.dry_run, "Compile it and launch nothing; needs no GPU");
  app.add_flag("--counters", options.counters,
               "Also read hardware counters of its launches, after its times");
  app.add_flag("--energy", options.energy,
               "Also repeat it for 2 seconds, after its times, and read the energy that the GPU "
               "takes (NVML)");
  add_count(app, "--samples", options.samples, 1, 100000, "How many samples to take [31]");
  add_count(app, "--seed", options.seed, 0, UINT64_MAX, "Seed of the data [1]");
  add_database(app, options.database);
  add_no_wait(app, options.no_wait);
  app.add_flag("--json", options.json, "Print the result as JSON");
}

/// Runs a single configuration: compiles, verifies and times it in workers; with `profile`, only
/// compiles it and launches it once in this process; with `dry_run`, only compiles it. Returns the
/// exit status: 0, 3 if the configuration does not work, 130 if it was asked to stop. Throws Error.
int run_run(const RunOptions& options) {
  const std::atomic<bool>& stop = stop_on_signals();
  if (options.profile && options.dry_run) {
    throw InputError("--profile and --dry-run cannot be used together: a dry run launches nothing");
  }
  if ((options.counters || options.energy) && (options.profile || options.dry_run)) {
    throw InputError(
        "--counters and --energy are for a run that takes times: not with --profile or --dry-run");
  }
  if (options.profile && !options.keep.empty()) {
    throw InputError("--profile and --keep cannot be used together");
  }
  if (options.profile) return profile(options);

  Device device;
  if (options.dry_run) {
    device = options.device.device == "cpu"
                 ? cpu_device(options.device.limits_of)
                 : device_to_check(options.device.device, options.database);
  } else {
    const ChosenDevices chosen = choose_devices(options.device);
    say(chosen.notice);
    device = chosen.devices.front();
  }
  const Wanted wanted = find_wanted(options, device.kind);
  TuningRequest request;
  request.space = &wanted.loaded.space;
  request.sources = wanted.loaded.sources;
  request.reference_in_double = wanted.loaded.reference_in_double;
  request.options.seed = options.seed;
  std::vector<DeviceLock> locks;
  if (!options.dry_run)
    locks = lock_devices({device}, "running " + wanted.name(), !options.no_wait, stop, say);
  if (stop) return kInterrupted;
  const auto pool = start_workers(options.dry_run ? compile_workers_for(options.device, device)
                                                  : workers_for(options.device, {&device, 1}),
                                  &stop);
  if (stop) return kInterrupted;
  if (!options.dry_run) device = pool->greeting().devices.front();
  Observer observer;
  observer.note = say;
  const OneResult one = run_one(request,
                                {.kernel = wanted.chosen.kernel,
                                 .problem = wanted.problem,
                                 .configuration = wanted.chosen.configuration,
                                 .samples = static_cast<int>(options.samples),
                                 .launch = !options.dry_run,
                                 .want_ptx = !options.keep.empty(),
                                 .counters = options.counters,
                                 .energy = options.energy},
                                device, *pool, observer, stop);
  return finish(options, wanted, device, one);
}

}  // namespace

void add_run_command(Commands& commands) {
  commands.add<RunOptions>("run",
                           "Verify and time one configuration, and keep what the compiler made",
                           add_run_options, run_run);
}

}  // namespace smemtune::cli
