#include "tuner/backend/fake/fake_launcher_test_support.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/fake/fake_module_test_support.h"
#include "tuner/core/device.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/occupancy.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace smemtune::fake {

namespace {

EncodedArray encoded(const HostArray& array) {
  return {array.type, encode(array.elements, array.type)};
}

// Period of the drift, in samples.
constexpr double kDriftPeriod = 300;

constexpr double kClock_mhz = 1500;

constexpr std::array<const char*, 5> kMismatches = {"mismatch", "nan", "unwritten", "overrun",
                                                    "input_modified"};

/// Returns a number between -1 and 1.
double noise(std::uint64_t seed, std::uint64_t i) {
  return static_cast<double>(random_bits(seed, i) >> 11) * 0x1p-52 - 1;
}

}  // namespace

Device fake_device(int unit) {
  Device device = h200_limits();
  device.name = "Fake 90";
  device.uuid = "GPU-fake";
  if (unit > 0) device.uuid += "-" + std::to_string(unit);
  device.sm_count = 100;
  device.memory_bytes = std::int64_t{1} << 36;
  device.l2_bytes = std::int64_t{1} << 25;
  device.memory_bus_bits = 4096;
  device.memory_clock_khz = 1'000'000;
  device.sm_clock_khz = static_cast<int>(1e3 * kClock_mhz);
  return device;
}

Outcome<std::int64_t> FakeLauncher::prepare(WorkloadId id, const Workload& workload) {
  workloads_.erase(id);
  const std::int64_t bytes = total_bytes(workload.arguments);
  if (bytes > fake_device().memory_bytes) {
    return failure({Status::runtime, "device_memory"},
                   std::to_string(bytes) + " bytes of buffers, the device has " +
                       std::to_string(fake_device().memory_bytes));
  }
  if (!workload.arguments.empty()) {
    workloads_[id] = workload;
    note_filled();
  }
  return bytes;
}

Outcome<LoadedKernel> FakeLauncher::load(KernelHandle handle, const CompiledKernel& compiled,
                                         const std::vector<LaunchShape>& launches,
                                         const std::vector<Argument>& arguments) {
  if (handle >= 0) loaded_.erase(handle);
  if (launches.empty()) return LoadedKernel{.handle = handle, .launches = {}};
  if (loaded_.size() >= kMaxLoaded) {
    return failure({Status::runtime, "device_memory"}, "no room for another module");
  }
  const FakeModule module = from_image(compiled.image);
  Loaded kernel = {.name = launches.front().name_expression,
                   .script = parse_script(module.script),
                   .bindings = {},
                   .launches = launches};
  for (const std::string& option : module.options) kernel.name += " " + option;
  kernel.bindings = bindings_of(kernel.script, launches.front().name_expression, module.options);
  kernel.bindings["UNIT"] = std::int64_t{unit_};
  LoadedKernel loaded;
  for (const LaunchShape& launch : launches) {
    const CompiledEntry* entry = compiled.entry(launch.name_expression);
    if (entry == nullptr) throw UnavailableError("no entry " + launch.name_expression);
    for (const std::string& name : launch.arguments) {
      if (!find_argument(arguments, name)) throw UnavailableError("no argument " + name);
    }
    Resources resources = entry->resources;
    if (!kernel.script.driver_registers.empty()) {
      resources.registers_per_thread =
          static_cast<int>(evaluate(kernel.script.driver_registers, kernel.bindings));
    }
    const Occupancy reached =
        occupancy(fake_device(), launch.threads_per_block(), resources.registers_per_thread,
                  resources.static_shared_bytes + launch.dynamic_shared_bytes);
    loaded.launches.push_back({.resources = resources, .blocks_per_sm = reached.blocks_per_sm});
  }
  if (const auto fault = fault_at(kernel.script, "load", kernel.bindings)) {
    if (auto struck = strike(*fault)) return *struck;
  }
  loaded.handle = handle >= 0 ? handle : ++last_handle_;
  loaded_[loaded.handle] = std::move(kernel);
  return loaded;
}

const FakeLauncher::Loaded& FakeLauncher::loaded_kernel(KernelHandle handle) const {
  const auto found = loaded_.find(handle);
  if (found == loaded_.end()) throw UnavailableError("no kernel " + std::to_string(handle));
  return found->second;
}

const Workload& FakeLauncher::workload(WorkloadId id) const {
  const auto found = workloads_.find(id);
  if (found == workloads_.end()) throw UnavailableError("no workload " + std::to_string(id));
  return found->second;
}

Bindings FakeLauncher::bindings_for(const Loaded& kernel, const Workload& workload) {
  Bindings bindings = kernel.bindings;
  bindings["SEED"] = static_cast<std::int64_t>(workload.seed);
  bindings["RUNS"] = runs_[kernel.name];
  bindings["TIMES"] = times_[kernel.name];
  for (const Argument& argument : workload.arguments) {
    if (!argument.is_buffer() && !is_floating(argument.type)) {
      bindings[argument.name] = argument.integer;
    }
  }
  return bindings;
}

std::optional<Failure> FakeLauncher::strike(const std::string& fault) const {
  if (fault == "error") {
    return failure({Status::runtime, "launch"}, "too many resources");
  }
  if (fault == "device_memory") {
    return failure({Status::runtime, "device_memory"}, "out of memory");
  }
  if (fault == "context_lost") {
    return failure({Status::runtime, "illegal_address"}, "an illegal memory access was encountered",
                   true);
  }
  commit(fault, reply_descriptor_);
  return std::nullopt;
}

std::optional<Mismatch> FakeLauncher::wrong_result(const std::optional<std::string>& fault) {
  if (!fault || std::ranges::find(kMismatches, *fault) == kMismatches.end()) return std::nullopt;
  return Mismatch{.argument = "out",
                  .reason = *fault,
                  .index = 3,
                  .value = *fault == "nan" ? std::nan("") : 1.5,
                  .expected = 1,
                  .count = 1};
}

std::vector<std::uint8_t> FakeLauncher::contents(WorkloadId id, const std::string& argument) {
  const Workload& data = workload(id);
  return initial_contents(*find_argument(data.arguments, argument), data.seed);
}

Outcome<RunReport> FakeLauncher::run(KernelHandle handle, const RunRequest& request) {
  const Loaded& kernel = loaded_kernel(handle);
  const Workload& data = workload(request.workload);
  const Bindings bindings = bindings_for(kernel, data);
  const auto fault = fault_at(kernel.script, "run", bindings);
  ++runs_[kernel.name];
  RunReport report;
  report.elapsed_ms = 1e-6 * static_cast<double>(evaluate(kernel.script.time_ns, bindings));
  if (fault) {
    if (auto struck = strike(*fault)) return *struck;
    // A run that becomes the reference is compared with nothing.
    if (!request.as_reference || *fault != "mismatch") report.mismatch = wrong_result(fault);
  }
  if (request.as_reference) references_[request.workload] = kernel;
  compute(kernel, data, request, report);
  return report;
}

std::vector<std::uint8_t> FakeLauncher::kept_elements(WorkloadId id, const std::string& output,
                                                      std::span<const std::int64_t> at) {
  RunReport report;
  compute(references_.at(id), workload(id), {.workload = id, .tolerance = {}, .download = {output}},
          report);
  const EncodedArray& all = report.after.at(output);
  return elements_at(all.bytes, size_of(all.type), at);
}

Outcome<FactsReport> FakeLauncher::count(KernelHandle handle, WorkloadId id) {
  const Loaded& kernel = loaded_kernel(handle);
  const Bindings bindings = bindings_for(kernel, workload(id));
  FactsReport report;
  if (const auto fault = fault_at(kernel.script, "count", bindings)) {
    if (*fault == "refused") return FactsReport{.launches = {}, .refused = "not allowed"};
    if (auto struck = strike(*fault)) return *struck;
  }
  const auto time_ns = static_cast<double>(evaluate(kernel.script.time_ns, bindings));
  report.launches.assign(kernel.launches.size(), {{"counter.duration_ns", time_ns}});
  return report;
}

Outcome<FactsReport> FakeLauncher::energy(KernelHandle handle, WorkloadId id, double seconds) {
  const Loaded& kernel = loaded_kernel(handle);
  const Bindings bindings = bindings_for(kernel, workload(id));
  double launch_ms = 1e-6 * static_cast<double>(evaluate(kernel.script.time_ns, bindings));
  if (const auto fault = fault_at(kernel.script, "energy", bindings)) {
    if (*fault == "refused") return FactsReport{.launches = {}, .refused = "not allowed"};
    if (*fault == "idle") {
      launch_ms /= 10;
    } else if (auto struck = strike(*fault)) {
      return *struck;
    }
  }
  FactsReport report;
  report.launches.resize(kernel.launches.size());
  report.launches.front() = {{"energy.joules_per_launch", 0.2 * launch_ms},
                             {"energy.mean_watts", 200},
                             {"energy.launch_ms", launch_ms},
                             {"energy.measured_s", seconds}};
  return report;
}

Outcome<LookReport> FakeLauncher::look(KernelHandle handle, WorkloadId id, double /*seconds*/) {
  const Loaded& kernel = loaded_kernel(handle);
  const auto fault = fault_at(kernel.script, "look", bindings_for(kernel, workload(id)));
  if (fault == "race") return failure({Status::correctness, "race"}, "reads what another wrote");
  if (fault) {
    if (auto struck = strike(*fault)) return *struck;
  }
  LookReport report;
  for (const Turn& turn : turns_of(kernel.launches)) {
    report.blocks_total += static_cast<std::uint64_t>(volume(turn.as.grid));
  }
  report.blocks = report.blocks_total;
  return report;
}

void FakeLauncher::compute(const Loaded& kernel, const Workload& workload,
                           const RunRequest& request, RunReport& report) const {
  if (request.download.empty() && request.download_before.empty()) return;
  std::map<std::string, HostArray> arrays;
  std::map<std::string, std::size_t> dimensions;
  std::map<std::string, double> scalars;
  std::vector<std::string> scalar_names;
  for (const Argument& argument : workload.arguments) {
    if (argument.is_scratch()) continue;  // Its contents may not be read.
    if (argument.is_buffer()) {
      const auto bytes = initial_contents(argument, workload.seed);
      arrays[argument.name] = {argument.shape, to_doubles(bytes, argument.type), argument.type};
      dimensions[argument.name] = argument.shape.size();
    } else {
      scalar_names.push_back(argument.name);
      scalars[argument.name] =
          is_floating(argument.type) ? argument.number : static_cast<double>(argument.integer);
    }
  }
  for (const std::string& name : request.download_before) {
    report.before[name] = encoded(arrays.at(name));
  }
  for (const std::string& name : request.download) report.after[name] = encoded(arrays.at(name));
  for (const std::string& text : kernel.script.definitions) {
    const Definition definition =
        Definition::compile(text, kernel.bindings, dimensions, scalar_names);
    if (report.after.contains(definition.output())) {
      report.after[definition.output()] = encoded(definition.evaluate(arrays, scalars));
    }
  }
}

/// Takes a sample as CudaLauncher does: one at a low clock is repeated, but only a few times in a
/// row.
double FakeLauncher::sample_ms(const Loaded& kernel, const Bindings& bindings, TimeReport& report) {
  constexpr int kMaxDiscardedInARow = 3;
  Bindings now = bindings;
  for (int in_a_row = 0;; ++in_a_row) {
    now["DISCARDED"] = std::int64_t{report.discarded};
    const auto clock_mhz = static_cast<double>(evaluate(kernel.script.clock_mhz, now));
    const double time_ms = undisturbed_ms(kernel, bindings) * kClock_mhz / clock_mhz;
    const bool is_low = clock_mhz < 0.97 * kClock_mhz;
    if (is_low && in_a_row < kMaxDiscardedInARow) {
      ++report.discarded;
      continue;
    }
    report.throttled = report.throttled || is_low;
    report.sm_clock_mhz = clock_mhz;
    return time_ms;
  }
}

double FakeLauncher::undisturbed_ms(const Loaded& kernel, const Bindings& bindings) {
  const auto i = static_cast<double>(++samples_);
  const double true_ms = 1e-6 * static_cast<double>(evaluate(kernel.script.time_ns, bindings));
  const double drift = std::sin(2 * 3.14159265358979 * i / kDriftPeriod);
  return true_ms * (1 + kernel.script.noise_percent / 100 * noise(seed_, samples_)) *
         (1 + kernel.script.drift_percent / 100 * drift);
}

/// Returns times of the launches that add up to `all_ms`: the second turn takes twice as long as
/// the first, the third three times, and so on.
std::vector<double> FakeLauncher::times_of_launches(const Loaded& kernel, double all_ms) {
  const std::vector<Turn> turns = turns_of(kernel.launches);
  const auto count = static_cast<double>(turns.size());
  std::vector<double> pass_ms;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    pass_ms.push_back(all_ms * static_cast<double>(i + 1) / (count * (count + 1) / 2));
  }
  return launch_times_ms(turns, kernel.launches.size(), {pass_ms});
}

Outcome<bool> FakeLauncher::draw_data(KernelHandle reference, WorkloadId id) {
  const Loaded& kernel = loaded_kernel(reference);
  if (const auto fault = fault_at(kernel.script, "draw", bindings_for(kernel, workload(id)))) {
    if (auto struck = strike(*fault)) return *struck;
  }
  return true;
}

Outcome<TimeReport> FakeLauncher::time(KernelHandle handle, const TimeRequest& request) {
  const Loaded& kernel = loaded_kernel(handle);
  const Bindings bindings = bindings_for(kernel, workload(request.workload));
  const auto fault = fault_at(kernel.script, "time", bindings);
  ++times_[kernel.name];
  if (fault) {
    if (auto struck = strike(*fault)) return *struck;
  }
  TimeReport report;
  report.mismatch = wrong_result(fault);
  if (request.with_transfers) {
    report.transfers = Transfers{
        .to_device_ms = 3, .to_host_ms = 2, .to_device_bytes = 30000000, .to_host_bytes = 20000000};
  }
  const double first_ms = 1e-6 * static_cast<double>(evaluate(kernel.script.time_ns, bindings));
  if (request.each_launch) {
    report.launches_ms = times_of_launches(kernel, first_ms);
    return report;
  }
  report.launches_per_sample = request.launches_per_sample;
  if (report.launches_per_sample == 0) {
    const double wanted = std::ceil(1e-3 * request.min_sample_us / first_ms);
    report.launches_per_sample = static_cast<int>(
        std::clamp(wanted, 1.0, static_cast<double>(request.max_launches_per_sample)));
  }
  double sampled_ms = 0;
  for (int i = 0; i < request.samples; ++i) {
    report.samples_ms.push_back(sample_ms(kernel, bindings, report));
    sampled_ms += report.samples_ms.back() * report.launches_per_sample;
    if (request.ends_after(report.samples_ms.back(), sampled_ms)) break;
  }
  return report;
}

}  // namespace smemtune::fake
