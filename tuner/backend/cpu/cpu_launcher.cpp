#include "tuner/backend/cpu/cpu_launcher.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/cpu/host_compiler.h"
#include "tuner/backend/cpu/processor.h"
#include "tuner/backend/fresh_data.h"
#include "tuner/core/elapsed.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

namespace smemtune::cpu {

namespace {

constexpr std::int64_t kMaxThreadsPerBlock = 1024;
// Most data sets of a workload, and most bytes of their answers.
constexpr std::int64_t kMostDataSets = 4;
constexpr std::int64_t kMostDataBytes = 256 << 20;
// Buffers are filled before every launch; a sample fills at most this many bytes.
constexpr std::size_t kMostRefilledBytes = std::size_t{256} << 20;
constexpr std::int64_t kMaxFlushedBytes = 64 << 20;

using Clock = std::chrono::steady_clock;

/// Returns a stride, about the golden ratio of `count`, whose multiples modulo `count` reach
/// everything, and soon come near everything.
std::uint64_t spreading_stride(std::uint64_t count) {
  auto stride = std::max<std::uint64_t>(1, count * 89 / 144);
  while (std::gcd(stride, count) != 1) ++stride;
  return stride;
}

int core_count() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::map<std::string, EncodedArray> download(const std::vector<std::string>& names,
                                             const Buffers& buffers) {
  std::map<std::string, EncodedArray> all;
  for (const std::string& name : names) all[name] = buffers.elements(name);
  return all;
}

}  // namespace

Device cpu_device(const Device& limits) {
  Device device = limits;
  device.kind = DeviceKind::cpu;
  const int cores = core_count();
  device.name = processor_name() + ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
  device.uuid.clear();
  device.architecture = "host";
  device.memory_bytes = physical_memory_bytes();
  device.l2_bytes = last_level_cache_bytes();
  device.memory_bus_bits = 0;
  device.memory_clock_khz = 0;
  device.sm_clock_khz = 0;
  device.ecc = false;
  device.driver_version.clear();
  device.runtime_version.clear();
  device.limits_of = limits.name;
  return device;
}

CpuLauncher::CpuLauncher(const Device& limits, const CpuOptions& options)
    : device_(cpu_device(limits)),
      options_(options),
      pool_(options.threads > 0 ? options.threads : core_count()) {
  device_.uuid = options.uuid;
  for (int i = 0; i < pool_.size(); ++i) runners_.push_back(std::make_unique<BlockRunner>());
}

Outcome<std::int64_t> CpuLauncher::prepare(WorkloadId id, const Workload& workload) {
  workloads_.erase(id);
  const std::int64_t needed = Buffers::needed_bytes(workload);
  if (needed > device_.memory_bytes) {
    return failure({Status::runtime, "device_memory"},
                   "the buffers, their initial contents and a reference need " +
                       std::to_string(needed) + " bytes, the machine has " +
                       std::to_string(device_.memory_bytes));
  }
  if (workload.arguments.empty()) return std::int64_t{0};
  workloads_[id] = std::make_unique<Prepared>(workload);
  return needed;
}

Outcome<LoadedKernel> CpuLauncher::load(KernelHandle handle, const CompiledKernel& compiled,
                                        const std::vector<LaunchShape>& launches,
                                        const std::vector<Argument>& arguments) {
  if (handle >= 0) kernels_.erase(handle);
  if (launches.empty()) return LoadedKernel{.handle = handle, .launches = {}};
  const Image image = unpack(compiled.image);
  const auto fast = Module::load(image.fast);
  if (!fast) return fast.failure();
  const auto checked = Module::load(image.checked);
  if (!checked) return checked.failure();

  Kernel kernel;
  kernel.fast = *fast;
  kernel.checked = *checked;
  kernel.launches = launches;
  for (const Argument& argument : arguments) {
    if (!argument.members.empty()) {
      kernel.structs[argument.name] = argument;
    } else if (!argument.is_buffer()) {
      kernel.scalars[argument.name] = scalar_bytes(argument);
    }
    if (argument.is_texture()) kernel.textures.insert(argument.name);
    if (argument.is_buffer() && argument.is_scratch()) kernel.scratch.push_back(argument);
    if (!argument.in_constant_memory()) continue;
    for (const CompiledSymbol& symbol : compiled.symbols) {
      if (symbol.name_expression != argument.symbol) continue;
      kernel.symbols[argument.name] = symbol.lowered_name;
    }
    if (!kernel.symbols.contains(argument.name)) {
      return failure({Status::runtime, "arguments"}, "the module has no symbol " + argument.symbol);
    }
  }
  LoadedKernel loaded;
  for (const LaunchShape& launch : launches) {
    const CompiledEntry* const entry = compiled.entry(launch.name_expression);
    if (entry == nullptr) {
      return failure({Status::runtime, "arguments"},
                     "the module has no entry " + launch.name_expression);
    }
    if (auto failure = check_launch(kernel, launch, entry->lowered_name, arguments)) {
      return *failure;
    }
    kernel.lowered_names.push_back(entry->lowered_name);
    loaded.launches.push_back({.resources = entry->resources, .blocks_per_sm = -1});
  }
  kernel.turns = turns_of(launches);
  for (const Turn& turn : kernel.turns) {
    auto& scalars = kernel.scalars_of_turns.emplace_back();
    for (const Argument& scalar : turn.as.scalars) scalars[scalar.name] = scalar_bytes(scalar);
  }
  if (handle < 0) handle = kernels_.empty() ? 0 : kernels_.rbegin()->first + 1;
  kernels_[handle] = std::move(kernel);
  loaded.handle = handle;
  return loaded;
}

std::optional<Failure> CpuLauncher::check_launch(const Kernel& kernel, const LaunchShape& launch,
                                                 const std::string& lowered_name,
                                                 const std::vector<Argument>& arguments) const {
  const std::int64_t threads = launch.threads_per_block();
  if (threads < 1 || threads > kMaxThreadsPerBlock) {
    return failure({Status::runtime, "threads"},
                   "a block of " + std::to_string(threads) + " threads; 1 to " +
                       std::to_string(kMaxThreadsPerBlock) + " are possible");
  }
  for (const std::int64_t blocks : launch.grid) {
    if (blocks >= 1 && blocks <= std::numeric_limits<int>::max()) continue;
    return failure({Status::runtime, "grid"}, "a grid of " + std::to_string(launch.grid[0]) +
                                                  " x " + std::to_string(launch.grid[1]) + " x " +
                                                  std::to_string(launch.grid[2]) + " blocks");
  }
  const auto dynamic_limit = static_cast<std::int64_t>(kDynamicSharedBytes);
  if (launch.dynamic_shared_bytes < 0 || launch.dynamic_shared_bytes > dynamic_limit) {
    return failure({Status::runtime, "shared_bytes"},
                   std::to_string(launch.dynamic_shared_bytes) +
                       " bytes of dynamic shared memory, the CPU device has " +
                       std::to_string(dynamic_limit));
  }
  unsigned number = 0;
  for (const std::string& name : launch.arguments) {
    const Argument* const argument = find_argument(arguments, name);
    if (argument == nullptr)
      return failure({Status::runtime, "arguments"}, "no argument is called " + name);
    const long given = argument->is_buffer() ? static_cast<long>(sizeof(void*))
                                             : static_cast<long>(argument->bytes());
    const long taken = kernel.fast->parameter_bytes(lowered_name, number);
    if (given != taken) {
      const std::string takes =
          taken < 0 ? "has no such parameter" : "takes " + std::to_string(taken) + " bytes there";
      return failure({Status::runtime, "arguments"}, "argument " + std::to_string(number + 1) +
                                                         ", " + name + ", has " +
                                                         std::to_string(given) + " bytes, but " +
                                                         launch.name_expression + " " + takes);
    }
    ++number;
  }
  if (kernel.fast->parameter_bytes(lowered_name, number) >= 0) {
    return failure({Status::runtime, "arguments"}, launch.name_expression + " has more than the " +
                                                       std::to_string(number) +
                                                       " parameters that are given");
  }
  return std::nullopt;
}

std::vector<std::uint8_t> CpuLauncher::contents(WorkloadId workload, const std::string& argument) {
  return buffers_of(workload).initial(argument);
}

Outcome<RunReport> CpuLauncher::run(KernelHandle handle, const RunRequest& request) {
  const Kernel& kernel = kernel_of(handle);
  Buffers& buffers = *prepared(request.workload, kernel).buffers;
  buffers.fill();
  if (auto failure = launch_all(kernel, *kernel.checked, buffers)) return *failure;

  buffers.fill();
  RunReport report;
  report.before = download(request.download_before, buffers);
  const Clock::time_point start = Clock::now();
  if (auto failure = launch_all(kernel, *kernel.fast, buffers)) return *failure;
  report.elapsed_ms = ms_since(start);
  buffers.examine(request, report);
  if (request.as_reference && !report.mismatch) buffers.keep_reference(request.reference);
  report.after = download(request.download, buffers);
  return report;
}

Outcome<bool> CpuLauncher::draw_data(KernelHandle reference, WorkloadId id) {
  Kernel& kernel = kernel_of(reference);
  Prepared& on = prepared(id, kernel);
  Buffers& buffers = *on.buffers;
  const std::int64_t bytes = buffers.result_bytes();
  if (!buffers.can_redraw() || !buffers.has_reference() || bytes > kMostDataBytes) return false;
  const DataSet drawn = {.key = unforeseeable()};
  buffers.fill(drawn.key);
  if (auto failure = launch_all(kernel, *kernel.fast, buffers)) return *failure;
  const RunRequest request = {.as_reference = true, .tolerance = {}, .download = {}};
  if (buffers.examine(request, nullptr)) return !on.data_sets.empty();
  const auto most =
      std::clamp<std::int64_t>(kMostDataBytes / std::max<std::int64_t>(1, bytes), 1, kMostDataSets);
  if (static_cast<std::int64_t>(on.data_sets.size()) >= most) on.data_sets.pop_front();
  on.data_sets.push_back(buffers.answered(drawn.key));
  return true;
}

std::vector<KeptOutput> CpuLauncher::kept(WorkloadId workload) {
  return buffers_of(workload).kept();
}

std::vector<std::uint8_t> CpuLauncher::kept_elements(WorkloadId workload, const std::string& output,
                                                     std::span<const std::int64_t> at) {
  return buffers_of(workload).kept_elements(output, at);
}

Outcome<RunReport> CpuLauncher::compare(KernelHandle handle, const RunRequest& request,
                                        const std::vector<Edit>& edits) {
  Buffers& buffers = buffers_of(request.workload);
  buffers.fill();
  set_holders(kernel_of(handle), buffers);
  buffers.write_kept(edits);
  RunReport report;
  buffers.examine(request, report);
  return report;
}

void CpuLauncher::set_holders(const Kernel& kernel, Buffers& buffers) {
  if (!kernel.turns.empty()) buffers.set_holders(kernel.turns.back().as.renamed);
}

Outcome<TimeReport> CpuLauncher::time(KernelHandle handle, const TimeRequest& request) {
  Kernel& kernel = kernel_of(handle);
  Prepared& on = prepared(request.workload, kernel);

  if (request.each_launch) return time_launches(kernel, on, request);
  TimeReport report;
  if (request.with_transfers) report.transfers = Transfers{};  // The device is the host.
  if (auto failure = plan(kernel, on, request, report)) return *failure;
  const int launches = report.launches_per_sample;
  double sampled_ms = 0;
  for (int i = 0; i < request.samples && !report.mismatch; ++i) {
    const Outcome<Timed> sample = this->sample(kernel, on, request, launches);
    if (!sample) return sample.failure();
    report.mismatch = sample->mismatch;
    report.samples_ms.push_back(sample->elapsed_ms / launches);
    sampled_ms += sample->elapsed_ms;
    if (request.ends_after(report.samples_ms.back(), sampled_ms)) break;
  }
  return report;
}

/// Writes to `report` how many launches a sample will have, and the mismatch if one was found.
std::optional<Failure> CpuLauncher::plan(Kernel& kernel, Prepared& on, const TimeRequest& request,
                                         TimeReport& report) {
  report.launches_per_sample = request.launches_per_sample;
  if (request.launches_per_sample > 0) return std::nullopt;
  // The first launch takes pages and loads code; the second one, on the same data, tells how many
  // are needed.
  double once_us = 0;
  for (int i = 0; i < 2 && !report.mismatch; ++i) {
    const Outcome<Timed> once =
        timed_launch(kernel, on, request, {.compared = true, .own_data = true});
    if (!once) return once.failure();
    report.mismatch = once->mismatch;
    once_us = 1000 * once->elapsed_ms;
  }
  const double launches = std::ceil(request.min_sample_us / std::max(once_us, 0.001));
  const auto fillings = static_cast<std::int64_t>(kMostRefilledBytes / on.buffers->range().bytes);
  const auto most = std::min<std::int64_t>(request.max_launches_per_sample, fillings);
  report.launches_per_sample = static_cast<int>(
      std::clamp(launches, 1.0, static_cast<double>(std::max<std::int64_t>(1, most))));
  return std::nullopt;
}

/// Compares one launch of a sample, half of the time the last one.
Outcome<CpuLauncher::Timed> CpuLauncher::sample(Kernel& kernel, Prepared& on,
                                                const TimeRequest& request, int launches) {
  if (request.gap_ms > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(request.gap_ms));
  }
  const std::uint64_t random = unforeseeable();
  const auto count = static_cast<std::uint64_t>(launches);
  const std::uint64_t compared = (random >> 1) % 2 == 0 ? count - 1 : (random >> 2) % count;
  Timed sample;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Outcome<Timed> launch = timed_launch(
        kernel, on, request, {.cold = request.cold && i == 0, .compared = i == compared});
    if (!launch) return launch;
    sample.elapsed_ms += launch->elapsed_ms;
    if (launch->mismatch) sample.mismatch = launch->mismatch;
  }
  return sample;
}

/// Returns the newest data that this kernel has not met, else any; nullptr for the workload's own.
const DataSet* CpuLauncher::choose(Kernel& kernel, const Prepared& on) {
  if (on.data_sets.empty()) return nullptr;
  const DataSet* chosen = &on.data_sets[unforeseeable() / 2 % on.data_sets.size()];
  for (const DataSet& set : on.data_sets) {
    if (!kernel.met.contains(set.key)) chosen = &set;
  }
  kernel.met.insert(chosen->key);
  return chosen;
}

/// Calls `mark` before every turn and after the last one.
Outcome<CpuLauncher::Timed> CpuLauncher::timed_launch(Kernel& kernel, Prepared& on,
                                                      const TimeRequest& request, Wanted wanted,
                                                      const std::function<void()>& mark) {
  const bool compares = wanted.compared && on.buffers->has_reference();
  const DataSet* const set = compares && !wanted.own_data ? choose(kernel, on) : nullptr;
  const bool is_known = compares || wanted.own_data;
  on.buffers->fill(set != nullptr ? set->key : is_known ? 0 : unforeseeable());
  if (wanted.cold) flush_caches(*on.buffers);
  const Clock::time_point start = Clock::now();
  if (auto failure = launch_all(kernel, *kernel.fast, *on.buffers, mark)) return *failure;
  Timed timed = {.elapsed_ms = ms_since(start)};
  if (mark) mark();
  if (!compares) return timed;
  const RunRequest rules = {.tolerance = {}, .tolerances = request.tolerances, .download = {}};
  timed.mismatch = on.buffers->examine(rules, set);
  return timed;
}

Outcome<TimeReport> CpuLauncher::time_launches(Kernel& kernel, Prepared& on,
                                               const TimeRequest& request) {
  TimeReport report;
  std::vector<std::vector<double>> passes_ms;
  double all_ms = 0;
  for (int pass = 0; pass < request.samples && !report.mismatch; ++pass) {
    std::vector<Clock::time_point> marks;
    const Outcome<Timed> launch =
        timed_launch(kernel, on, request, {.cold = request.cold, .compared = true},
                     [&marks] { marks.push_back(Clock::now()); });
    if (!launch) return launch.failure();
    report.mismatch = launch->mismatch;
    std::vector<double>& turns_ms = passes_ms.emplace_back();
    for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
      turns_ms.push_back(ms_between(marks[i], marks[i + 1]));
    }
    all_ms += launch->elapsed_ms;
    if (request.ends_after(launch->elapsed_ms, all_ms)) break;
  }
  report.launches_ms = launch_times_ms(kernel.turns, kernel.launches.size(), passes_ms);
  return report;
}

Outcome<LookReport> CpuLauncher::look(KernelHandle handle, WorkloadId workload, double seconds) {
  const Kernel& kernel = kernel_of(handle);
  Buffers& buffers = *prepared(workload, kernel).buffers;
  buffers.fill();
  Look look;
  look.until = Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  if (auto failure = launch_all(kernel, *kernel.checked, buffers, {}, &look)) return *failure;
  LookReport report = {.blocks = look.blocks, .blocks_total = 0};
  for (const Turn& turn : kernel.turns) {
    report.blocks_total += static_cast<std::uint64_t>(volume(turn.as.grid));
  }
  return report;
}

std::optional<Failure> CpuLauncher::fill_symbols(const Kernel& kernel, Module& module,
                                                 const Buffers& buffers) {
  for (const auto& [argument, lowered_name] : kernel.symbols) {
    const Module::Symbol symbol = module.symbol(lowered_name);
    if (buffers.argument(argument) == nullptr) {
      return failure({Status::runtime, "arguments"}, "the workload has no argument " + argument);
    }
    const std::vector<std::uint8_t>& contents = buffers.initial(argument);
    if (symbol.address == nullptr || symbol.bytes < contents.size()) {
      return failure({Status::runtime, "arguments"},
                     argument + " has " + std::to_string(contents.size()) + " bytes, its symbol " +
                         std::to_string(symbol.bytes));
    }
    std::memcpy(symbol.address, contents.data(), contents.size());
  }
  return std::nullopt;
}

/// Returns where an argument's bytes lie; nullptr if the workload has none of that name. Structs are
/// made in `structs`.
// NOLINTNEXTLINE(misc-no-recursion): a struct stands behind its members.
void* CpuLauncher::kernel_argument(const Kernel& kernel, const Scalars& own,
                                   const std::string& name, Buffers& buffers,
                                   std::deque<std::vector<std::uint8_t>>& structs) {
  if (const auto made = kernel.structs.find(name); made != kernel.structs.end()) {
    bool is_whole = true;
    auto bytes = struct_bytes(made->second, [&](const std::string& member) {
      const void* const data = kernel_argument(kernel, own, member, buffers, structs);
      is_whole = is_whole && data != nullptr;
      const std::size_t size = data == nullptr ? 0 : bytes_of_argument(kernel, own, member);
      return std::span(static_cast<const std::uint8_t*>(data), size);
    });
    return is_whole ? structs.emplace_back(std::move(bytes)).data() : nullptr;
  }
  const auto changed = own.find(name);
  const auto scalar = changed != own.end() ? changed : kernel.scalars.find(name);
  if (changed == own.end() && scalar == kernel.scalars.end()) {
    return buffers.kernel_argument(name, kernel.textures.contains(name));
  }
  return const_cast<std::uint8_t*>(scalar->second.data());
}

std::size_t CpuLauncher::bytes_of_argument(const Kernel& kernel, const Scalars& own,
                                           const std::string& name) {
  if (const auto made = kernel.structs.find(name); made != kernel.structs.end()) {
    return static_cast<std::size_t>(made->second.raw_bytes);
  }
  if (const auto changed = own.find(name); changed != own.end()) return changed->second.size();
  const auto scalar = kernel.scalars.find(name);
  return scalar == kernel.scalars.end() ? sizeof(void*) : scalar->second.size();
}

std::optional<Failure> CpuLauncher::launch_all(const Kernel& kernel, Module& module,
                                               Buffers& buffers,
                                               const std::function<void()>& before_turn,
                                               Look* look) {
  if (auto failure = fill_symbols(kernel, module, buffers)) return failure;
  set_holders(kernel, buffers);
  for (std::size_t i = 0; i < kernel.turns.size(); ++i) {
    const LaunchShape& shape = kernel.launches[kernel.turns[i].launch];
    const Repetition& turn = kernel.turns[i].as;
    const auto& own_scalars = kernel.scalars_of_turns[i];
    std::vector<void*> arguments;
    std::deque<std::vector<std::uint8_t>> structs;
    for (const std::string& name : turn.arguments) {
      arguments.push_back(kernel_argument(kernel, own_scalars, name, buffers, structs));
      if (arguments.back() == nullptr) {
        return failure({Status::runtime, "arguments"}, "the workload has no argument " + name);
      }
    }
    Grid grid = {.kernel = shape.name_expression,
                 .module = &module,
                 .entry = module.entry(kernel.lowered_names[kernel.turns[i].launch]),
                 .arguments = arguments.data(),
                 .buffers = &buffers,
                 .grid = turn.grid,
                 .block = turn.block,
                 .dynamic_shared_bytes = static_cast<std::size_t>(turn.dynamic_shared_bytes),
                 .shuffle_seed = std::nullopt};
    if (grid.entry == nullptr) {
      return failure({Status::runtime, "arguments"},
                     "the module has no entry " + shape.name_expression);
    }
    if (options_.shuffle_threads) grid.shuffle_seed = options_.seed;
    grid.seeks_races = look != nullptr;
    if (before_turn) before_turn();
    const std::uint64_t blocks_before = look == nullptr ? 0 : look->blocks.load();
    if (auto failure = launch(grid, look)) return failure;
    // Later launches would read what was not written.
    if (look != nullptr && look->blocks - blocks_before < grid.blocks()) break;
  }
  return std::nullopt;
}

std::optional<Failure> CpuLauncher::launch(const Grid& grid, Look* look) {
  const std::uint64_t blocks = grid.blocks();
  // A portion is a sixteenth of a thread's share: few fetches, and still evenly spread.
  const auto threads = static_cast<std::uint64_t>(pool_.size());
  const std::uint64_t portion =
      look != nullptr ? 1 : std::max<std::uint64_t>(1, blocks / (threads * 16));
  const std::uint64_t stride = look != nullptr ? spreading_stride(blocks) : 1;
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  std::optional<Failure> failure;
  std::uint64_t failed_block = 0;

  const auto run_blocks = [&](int number) {
    const SignalStack signal_stack;
    BlockRunner& runner = *runners_[static_cast<std::size_t>(number)];
    for (;;) {
      const std::uint64_t first = next.fetch_add(portion);
      for (std::uint64_t i = first; i < std::min(first + portion, blocks); ++i) {
        if (look != nullptr && i > 0 && Clock::now() >= look->until) return;
        // Spread blocks go backwards, because the last block is the one that is seldom full.
        const std::uint64_t block = look != nullptr ? blocks - 1 - i * stride % blocks : i;
        auto found = runner.run(grid, block);
        if (look != nullptr) ++look->blocks;
        if (!found) continue;
        next = blocks;
        const std::lock_guard lock(mutex);
        if (!failure || block < failed_block) {
          failure = std::move(found);
          failed_block = block;
        }
        return;
      }
      if (first + portion >= blocks) return;
    }
  };
  const FaultSignals signals;
  if (blocks == 1 || threads == 1) {
    run_blocks(0);
  } else {
    pool_.run(run_blocks);
  }
  return failure;
}

/// Flushes the buffers from the caches: line by line where they are small, else by writing to twice
/// the size of the last-level cache, each core to its share.
void CpuLauncher::flush_caches(const Buffers& buffers) {
  const auto filling = static_cast<std::size_t>(
      std::clamp<std::int64_t>(2 * device_.l2_bytes, 1 << 20, kMaxFlushedBytes));
  if (buffers.flush_from_caches(filling / 4)) return;
  flushed_.resize(filling);
  const std::size_t share = flushed_.size() / static_cast<std::size_t>(pool_.size());
  pool_.run([&](int number) {
    unsigned char* const begin = flushed_.data() + share * static_cast<std::size_t>(number);
    for (std::size_t i = 0; i < share; i += 64) ++begin[i];
  });
}

CpuLauncher::Prepared& CpuLauncher::prepared(WorkloadId id) {
  const auto found = workloads_.find(id);
  if (found == workloads_.end()) {
    throw UnavailableError("workload " + std::to_string(id) + " was not prepared");
  }
  return *found->second;
}

CpuLauncher::Prepared& CpuLauncher::prepared(WorkloadId id, const Kernel& kernel) {
  Prepared& on = prepared(id);
  bool fits = true;
  for (const Argument& scratch : kernel.scratch) {
    if (on.buffers->resize(scratch)) continue;
    *std::ranges::find(on.workload.arguments, scratch.name, &Argument::name) = scratch;
    fits = false;
  }
  if (!fits) {
    auto larger = std::make_unique<Buffers>(on.workload);
    larger->take_reference(*on.buffers);
    on.buffers = std::move(larger);
  }
  return on;
}

CpuLauncher::Kernel& CpuLauncher::kernel_of(KernelHandle handle) {
  const auto found = kernels_.find(handle);
  if (found == kernels_.end()) {
    throw UnavailableError("no kernel is loaded with the handle " + std::to_string(handle));
  }
  return found->second;
}

}  // namespace smemtune::cpu
