#include "db/json_forms.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/cli/selected_kernels.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/space_file.h"
#include "tuner/core/error.h"
#include "tuner/core/occupancy.h"
#include "tuner/core/text.h"
#include "tuner/engine/fit_check.h"
#include "tuner/engine/worker_pool.h"

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::cli {
namespace {

using db::Json;

constexpr int kUnlimited = std::numeric_limits<int>::max();

std::string number(std::int64_t value) { return format_count(static_cast<std::uint64_t>(value)); }

/// Returns text like `100 %`, `66.7 %`.
std::string percent_text(double percent) {
  const bool whole = std::abs(percent - std::round(percent)) < 0.05;
  return decimal(percent, whole ? 0 : 1) + " %";
}

/// Returns text like `1,024 threads`.
std::string amount(std::int64_t count, const std::string& noun) {
  return counted(static_cast<std::uint64_t>(count), noun);
}

std::int64_t warps_of(const Device& device, std::int64_t threads) {
  return (threads + device.warp_size - 1) / device.warp_size;
}

int max_warps(const Device& device) { return device.max_threads_per_sm / device.warp_size; }

std::string unit_text(const Device& device) {
  const AllocationUnits units = allocation_units(device);
  return "units of " + number(units.registers) +
         (units.registers_per_block ? " per block" : " per warp");
}

/// Returns the registers that are allocated to a block: in whole units per warp, or on compute
/// capability 1.x per block.
std::string registers_taken(const Device& device, const BlockNeeds& needs) {
  const AllocationUnits units = allocation_units(device);
  if (units.registers_per_block) {
    return number(allocated_registers(device, needs.threads, needs.registers_per_thread));
  }
  const std::int64_t of_warp = std::int64_t{needs.registers_per_thread} * device.warp_size;
  const std::int64_t allocated =
      (of_warp + units.registers - 1) / units.registers * units.registers;
  return amount(warps_of(device, needs.threads), "warp") + " x " + number(allocated);
}

std::string shared_taken(const Device& device, const BlockNeeds& needs) {
  std::string text = number(allocated_shared_bytes(device, needs.shared_bytes)) + " B";
  if (device.reserved_shared_bytes_per_block > 0) {
    text += " (" + number(device.reserved_shared_bytes_per_block) + " reserved)";
  }
  return text;
}

std::string blocks_text(int blocks, const Occupancy& reached) {
  if (blocks == kUnlimited) return "any";
  return std::to_string(blocks) + (blocks == reached.blocks_per_sm ? " <" : "  ");
}

std::string limits_table(const Device& device, const BlockNeeds& needs, const Occupancy& reached) {
  Table table({"limit", ">a block takes", ">a multiprocessor has", ">blocks  "});
  table.add_row({"threads", amount(warps_of(device, needs.threads), "warp"),
                 amount(max_warps(device), "warp"),
                 blocks_text(reached.blocks_by_threads, reached)});
  const bool known = needs.registers_per_thread > 0;
  table.add_row({"registers", known ? registers_taken(device, needs) : "not given",
                 number(device.registers_per_sm),
                 blocks_text(reached.blocks_by_registers, reached)});
  table.add_row({"shared", shared_taken(device, needs), number(device.shared_bytes_per_sm) + " B",
                 blocks_text(reached.blocks_by_shared, reached)});
  table.add_row({"blocks", "1", number(device.max_blocks_per_sm),
                 blocks_text(reached.blocks_by_limit, reached)});
  return table.text("    ");
}

/// Returns text like "at most 32 registers per thread instead of 40 and blocks of 128 threads
/// instead of 256".
std::string change_text(const BlockNeeds& now, const BlockNeeds& then) {
  std::vector<std::string> changes;
  if (then.threads != now.threads) {
    changes.push_back("blocks of " + amount(then.threads, "thread") + " instead of " +
                      number(now.threads));
  }
  if (then.registers_per_thread != now.registers_per_thread) {
    changes.push_back("at most " + amount(then.registers_per_thread, "register") +
                      " per thread instead of " + number(now.registers_per_thread));
  }
  if (then.shared_bytes != now.shared_bytes) {
    changes.push_back("at most " + number(then.shared_bytes) +
                      " bytes of shared memory instead of " + number(now.shared_bytes));
  }
  return joined(changes, " and ");
}

/// Returns the block sizes, in whole warps, that reach the target if nothing else limits them.
std::vector<std::int64_t> blocks_reaching(const Device& device, double target_percent) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t threads = device.warp_size; threads <= device.max_threads_per_block;
       threads += device.warp_size) {
    if (allowance(device, threads, target_percent)) sizes.push_back(threads);
  }
  return sizes;
}

Json needs_json(const BlockNeeds& needs) {
  Json json = {{"threads_per_block", needs.threads}};
  json["registers_per_thread"] =
      needs.registers_per_thread > 0 ? Json(needs.registers_per_thread) : Json(nullptr);
  json["shared_bytes_per_block"] = needs.shared_bytes;
  return json;
}

/// Returns text that explains how many blocks fit and what limits them: each resource's own limit,
/// idle threads, and the changes that lead to a higher occupancy.
std::string occupancy_text(const Device& device, const BlockNeeds& needs) {
  const Occupancy reached = occupancy(device, needs);
  std::string text = "  " + amount(needs.threads, "thread");
  if (needs.registers_per_thread > 0) {
    text += ", " + amount(needs.registers_per_thread, "register") + " per thread";
  }
  text += ", " + number(needs.shared_bytes) + " bytes of shared memory per block\n\n";
  const std::string limiters = joined(reached.limiters(), " and ");
  if (reached.blocks_per_sm == 0) {
    text += "  does not fit: not even one block, limited by " + limiters + "\n\n";
  } else {
    text += "  " + percent_text(reached.percent) +
            " occupancy: " + amount(reached.blocks_per_sm, "block") + ", " +
            std::to_string(reached.warps_per_sm) + " of " + amount(max_warps(device), "warp") +
            " per multiprocessor, limited by " + limiters + "\n\n";
  }
  text += limits_table(device, needs, reached);
  if (const std::int64_t idle = idle_threads(device, needs.threads); idle > 0) {
    text += "\n  wasted: " + number(idle) + " of " + number(needs.threads + idle) +
            " threads, a block takes whole warps of " + std::to_string(device.warp_size) + "\n";
  }
  const std::vector<OccupancyStep> steps = next_steps(device, needs);
  if (!steps.empty()) text += "\n";
  for (const OccupancyStep& step : steps) {
    text += "  " + percent_text(step.reached.percent) + " with " + change_text(needs, step.needs) +
            "\n";
  }
  return text;
}

/// Returns text about the resources that blocks of this many threads may use at `target_percent`,
/// or that they cannot reach it.
std::string allowance_text(const Device& device, std::int64_t threads_per_block,
                           double target_percent) {
  const auto most = allowance(device, threads_per_block, target_percent);
  if (!most) {
    const Occupancy reached = occupancy(device, threads_per_block, 0, 0);
    std::string text = "  " + percent_text(target_percent) + " is out of reach: blocks of " +
                       amount(threads_per_block, "thread") + " reach " +
                       percent_text(reached.percent) + " at most, limited by " +
                       joined(reached.limiters(), " and ") + "\n";
    const std::vector<std::int64_t> sizes = blocks_reaching(device, target_percent);
    if (!sizes.empty()) {
      text += "  block sizes that reach it: " +
              joined(sizes, ", ", [](std::int64_t size) { return std::to_string(size); }) + "\n";
    }
    return text;
  }
  std::string text =
      "  " + percent_text(target_percent) + " takes " + amount(most->blocks_per_sm, "block") +
      " of " + amount(threads_per_block, "thread") + " (" + std::to_string(most->warps_per_sm) +
      " of " + amount(max_warps(device), "warp") + "). What each block may use:\n";
  text += "    shared memory  " + number(most->shared_bytes) + " bytes per block at most";
  if (most->divided_shared_bytes != most->shared_bytes) {
    text += " (plain division: " + number(device.shared_bytes_per_sm) + " / " +
            std::to_string(most->blocks_per_sm) + " = " + number(most->divided_shared_bytes) +
            "; a block may have " + number(device.max_shared_bytes_per_block) + ", " +
            number(device.reserved_shared_bytes_per_block) + " are reserved, units of " +
            number(allocation_units(device).shared_bytes) + ")";
  }
  text +=
      "\n    registers      " + std::to_string(most->registers_per_thread) + " per thread at most";
  if (most->divided_registers != most->registers_per_thread) {
    text += " (plain division: " + number(device.registers_per_sm) + " / " +
            number(most->blocks_per_sm * threads_per_block) + " = " +
            number(most->divided_registers) + "; a thread may have " +
            std::to_string(allocation_units(device).max_registers_per_thread) + ", allocated in " +
            unit_text(device) + ")";
  }
  return text + "\n";
}

/// Returns the same information as JSON.
Json occupancy_json(const Device& device, const BlockNeeds& needs) {
  const Occupancy reached = occupancy(device, needs);
  Json json = needs_json(needs);
  json["occupancy"] = db::occupancy_json(reached);
  json["max_warps_per_sm"] = max_warps(device);
  json["idle_threads_per_block"] = idle_threads(device, needs.threads);
  json["next"] = db::list_json(next_steps(device, needs), [](const OccupancyStep& step) {
    Json next = needs_json(step.needs);
    next["occupancy"] = db::occupancy_json(step.reached);
    return next;
  });
  return json;
}

Json allowance_json(const Device& device, std::int64_t threads_per_block, double target_percent) {
  Json json = {{"target_percent", target_percent}, {"threads_per_block", threads_per_block}};
  const auto most = allowance(device, threads_per_block, target_percent);
  json["reachable"] = most.has_value();
  if (!most) {
    json["most_percent"] = occupancy(device, threads_per_block, 0, 0).percent;
    json["threads_that_reach_it"] = blocks_reaching(device, target_percent);
    return json;
  }
  json["occupancy_percent"] = most->percent;
  json["blocks_per_sm"] = most->blocks_per_sm;
  json["warps_per_sm"] = most->warps_per_sm;
  json["most_shared_bytes_per_block"] = most->shared_bytes;
  json["most_registers_per_thread"] = most->registers_per_thread;
  json["by_plain_division"] = {{"shared_bytes_per_block", most->divided_shared_bytes},
                               {"registers_per_thread", most->divided_registers}};
  return json;
}

/// Either the resources of a block, or a configuration of a space's kernel.
struct OccupancyOptions {
  std::string threads;                     ///< `256` or `16x16`.
  std::optional<std::uint64_t> registers;  ///< Per thread.
  std::optional<std::uint64_t> shared;     ///< Bytes per block, static and dynamic.
  std::optional<double> target;  ///< In per cent: ask which resources a block may use to reach it.
  std::filesystem::path space;
  std::string kernel;         ///< Empty: every kernel that has the parameters of the configuration.
  std::string configuration;  ///< Parameters that it leaves out have their default values.
  std::string problem;        ///< Empty: the first one of the file.
  std::string device;
  std::filesystem::path database;
  bool json = false;
};

constexpr int kNothingCompiled = 3;
constexpr const char* kFormat = "smemtune-occupancy";
constexpr int kVersion = 2;

std::string capability(const Device& device) {
  return "compute capability " + capability_text(device);
}

std::string heading(const Device& device) {
  const std::string of = capability(device);
  return device.name == of ? of : device.name + ", " + of;
}

[[noreturn]] void beyond(const std::string& option, const std::string& text, const Device& device,
                         std::int64_t most, const std::string& what) {
  throw InputError(option + ": '" + text + "' is too large: " + capability(device) + " allows " +
                   std::to_string(most) + " " + what);
}

/// Parses text like `256`, `16x16`, `8x8x4`.
std::int64_t parse_threads(const std::string& text, const Device& device) {
  constexpr std::uint64_t kMost = 1 << 20;
  std::uint64_t threads = 1;
  const std::vector<std::string> sizes = split(text, 'x');
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (axis == 3) throw InputError("--threads: '" + text + "' has more than three dimensions");
    const std::uint64_t size = parse_count("--threads", sizes[axis], 1, UINT64_MAX);
    const auto most = static_cast<std::uint64_t>(device.max_block_dim[axis]);
    if (sizes.size() > 1 && size > most) {
      beyond("--threads", text, device, device.max_block_dim[axis],
             std::string("threads per block in ") + "xyz"[axis]);
    }
    threads *= std::min(size, kMost);
  }
  if (threads > static_cast<std::uint64_t>(device.max_threads_per_block)) {
    beyond("--threads", text, device, device.max_threads_per_block, "threads per block");
  }
  return static_cast<std::int64_t>(threads);
}

BlockNeeds needs_of(const OccupancyOptions& options, const Device& device) {
  BlockNeeds needs;
  needs.threads = parse_threads(options.threads, device);
  if (options.registers) {
    const int most = allocation_units(device).max_registers_per_thread;
    if (*options.registers > static_cast<std::uint64_t>(most)) {
      beyond("--registers", std::to_string(*options.registers), device, most,
             "registers per thread");
    }
    needs.registers_per_thread = static_cast<int>(*options.registers);
  }
  needs.shared_bytes = static_cast<std::int64_t>(options.shared.value_or(0));
  return needs;
}

int answer_numbers(const OccupancyOptions& options, const Device& device) {
  const BlockNeeds needs = needs_of(options, device);
  // With only a target, the question is what a block may use, not the occupancy of an empty block.
  const bool forward = !options.target || options.registers || options.shared;
  if (options.json) {
    Json json = {{"device", db::device_json(device)}};
    if (forward) json.update(occupancy_json(device, needs));
    if (options.target) json["allowance"] = allowance_json(device, needs.threads, *options.target);
    write_document(db::document_text(kFormat, kVersion, json));
    return 0;
  }
  std::string text = heading(device) + "\n";
  if (forward) text += occupancy_text(device, needs);
  if (options.target) {
    text += (forward ? "\n" : "") + allowance_text(device, needs.threads, *options.target);
  }
  write_out(text);
  return 0;
}

/// Returns a question for each kernel that is meant: the named one, or all that have the
/// parameters.
std::vector<FitQuestion> questions(const OccupancyOptions& options, const Space& space) {
  const Problem problem =
      options.problem.empty() ? space.problems.front() : parse_problem(space, options.problem);
  std::vector<FitQuestion> result;
  std::string first_fault;
  for (const KernelTemplate& kernel : space.kernels) {
    if (!options.kernel.empty() && kernel.name != options.kernel) continue;
    try {
      result.push_back({.kernel = &kernel,
                        .problem = problem,
                        .configuration = parse_configuration(kernel, options.configuration)});
    } catch (const InputError& error) {
      if (first_fault.empty()) first_fault = error.what();
    }
  }
  if (!result.empty()) return result;
  if (!first_fault.empty()) throw InputError("--config: " + first_fault);
  chosen_kernel(space, options.kernel);  // Throws, because no kernel has this name.
  return result;
}

BlockNeeds needs_of(const LaunchResult& launch) {
  return {.threads = launch.shape.threads_per_block(),
          .registers_per_thread = launch.resources.registers_per_thread,
          .shared_bytes = launch.shared_bytes()};
}

std::string kernel_text(const OccupancyOptions& options, const Device& device,
                        const Result& result) {
  std::string text =
      result.kernel + " " + key(result.configuration) + "  on " + key(result.problem) + "\n";
  if (result.failed()) {
    text += "  rejected (" + status_text(result) + "): " + result.detail + "\n";
  }
  for (const LaunchResult& launch : result.launches) {
    text += "  " + launch.shape.name_expression + ": stack " +
            std::to_string(launch.resources.stack_bytes) + " bytes, spilled " +
            std::to_string(launch.resources.spill_store_bytes + launch.resources.spill_load_bytes) +
            " bytes\n" + occupancy_text(device, needs_of(launch));
    if (options.target) {
      text += "\n" + allowance_text(device, launch.shape.threads_per_block(), *options.target);
    }
  }
  return text;
}

Json kernel_json(const OccupancyOptions& options, const Device& device, const Result& result) {
  Json json = db::result_json(result);
  for (std::size_t i = 0; i < result.launches.size(); ++i) {
    const LaunchResult& launch = result.launches[i];
    Json& entry = json["launches"][i];
    entry.update(occupancy_json(device, needs_of(launch)));
    if (options.target) {
      entry["allowance"] =
          allowance_json(device, launch.shape.threads_per_block(), *options.target);
    }
  }
  return json;
}

int answer_kernels(const OccupancyOptions& options, const Device& device) {
  const LoadedSpace loaded = load_space(find_space(options.space), share_folder());
  const std::vector<FitQuestion> asked = questions(options, loaded.space);
  const auto pool = start_workers(compile_workers_for({}, device));
  const std::vector<Result> results = check_fit(loaded.space, loaded.sources, asked, device, *pool);
  const bool compiled =
      std::ranges::any_of(results, [](const Result& result) { return !result.launches.empty(); });
  if (!compiled && results.size() == 1 && results.front().reason == "constraint") {
    throw InputError("--config: " + key(results.front().configuration) + ": " +
                     results.front().detail);
  }
  std::string text = heading(device) + "\n";
  Json json = {{"device", db::device_json(device)}};
  for (const Result& result : results) {
    text += "\n" + kernel_text(options, device, result);
    json["kernels"].push_back(kernel_json(options, device, result));
  }
  if (options.json) {
    write_document(db::document_text(kFormat, kVersion, json));
  } else {
    write_out(text);
  }
  return compiled ? 0 : kNothingCompiled;
}

void add_occupancy_options(CLI::App& app, OccupancyOptions& options) {
  add_value(app, "--threads", options.threads, "Threads per block: 256, or 16x16", "N");
  add_count(app, "--registers", options.registers, 1, UINT32_MAX,
            "Registers per thread [no limit by registers]");
  add_count(app, "--shared", options.shared, 0, UINT32_MAX,
            "Shared memory per block, static and dynamic [0]", "BYTES");
  add_number(app, "--target", options.target, 0.1, 100,
             "Show how much shared memory and how many registers allow this occupancy", "PERCENT");
  add_value(app, "--device", options.device,
            "Any known GPU, sm_XX, or a compute capability such as 1.3 [the first "
            "GPU; the H200 where there is none]",
            "NAME");
  add_value(app, "--space", options.space, "Compile a kernel of this space instead", "FILE");
  add_value(app, "--config", options.configuration,
            "With --space: NAME=VALUE,...; parameters left out have their default values", "KEY");
  add_value(app, "--kernel", options.kernel,
            "With --space: only this kernel [every kernel with these parameters]", "NAME");
  add_value(app, "--problem", options.problem, "With --space: NAME=VALUE,... [the file's first]",
            "KEY");
  add_database(app, options.database);
  app.add_flag("--json", options.json, "Print as JSON");
}

/// Answers without a GPU. Returns 0, or 3 if no configuration compiled. Throws InputError, and
/// UnavailableError if a kernel cannot be compiled here.
int run_occupancy(const OccupancyOptions& options) {
  const bool of_kernel = !options.space.empty();
  if (of_kernel && (!options.threads.empty() || options.registers || options.shared)) {
    throw InputError(
        "with --space, threads, registers and shared memory come from the compiler: leave out "
        "--threads, --registers and --shared");
  }
  if (!of_kernel && options.threads.empty()) {
    throw InputError("--threads N or --space FILE is missing; see smemtune occupancy --help");
  }
  if (!of_kernel && !(options.configuration + options.kernel + options.problem).empty()) {
    throw InputError("--config, --kernel and --problem need --space FILE");
  }
  if (options.device == "cpu") {
    throw InputError("--device: the CPU has no occupancy; name a GPU, such as h200");
  }
  const Device device = device_to_check(options.device, options.database);
  return of_kernel ? answer_kernels(options, device) : answer_numbers(options, device);
}

}  // namespace

void add_occupancy_command(Commands& commands) {
  commands.add<OccupancyOptions>("occupancy",
                                 "Show how many warps fit a multiprocessor, and what limits them",
                                 add_occupancy_options, run_occupancy);
}

}  // namespace smemtune::cli
