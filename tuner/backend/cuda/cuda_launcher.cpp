#include "tuner/backend/cuda/cuda_launcher.h"

#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/buffer_check.h"
#include "tuner/backend/cuda/devices.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/nvml.h"
#include "tuner/backend/cuda/power_meter.h"
#include "tuner/backend/fresh_data.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/error.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

namespace smemtune::cuda {
namespace {

// Returns kernels' faults as failures; errors of the machine are rethrown.
template <typename Function>
auto with_faults_as_data(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const CudaError& error) {
    if (auto fault = kernel_fault(error.code(), error.what())) return *fault;
    throw;
  }
}

/// Returns the facts of each launch, or why the machine tells none.
template <typename Function>
FactsReport facts_or_refusal(const Function& function) {
  try {
    return {.launches = function(), .refused = {}};
  } catch (const CudaError&) {
    throw;
  } catch (const UnavailableError& error) {
    return {.launches = {}, .refused = error.what()};
  }
}

// Most launches of a kernel, with repetitions, whose counters are read.
constexpr std::size_t kMostCounted = 256;

// Energy is read once the kernel has run for so long: boards average their power over up to a
// second, and it takes about that long until clocks are settled.
constexpr double kWarmUp_s = 1;
// The time that a GPU gets to become idle, and that its idle power is read.
constexpr double kIdle_s = 1;
// The energy counter moves at least this often.
constexpr double kCounterStep_s = 0.25;
// A batch of launches takes about so long, and has no more launches than a stream can queue twice.
constexpr double kBatch_ms = 20;
constexpr double kMostBatch = 256;
// Launches go around so many bytes of copies, in L2 caches, and as many copies at most.
constexpr std::int64_t kCachesOfCopies = 2;
constexpr std::int64_t kMostCopies = 64;
constexpr std::int64_t kMostCopyBytes = std::int64_t{2} << 30;

/// Returns the power of a GPU that does nothing; nullopt if NVML does not tell it.
std::optional<double> idle_watts(const PowerMeter& meter) {
  const auto wait = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return std::size_t{0};
  };
  wait(kIdle_s);
  try {
    const auto readings = meter.watch(kIdle_s + kCounterStep_s, 0, [&] { return wait(0.01); });
    return energy_use(readings).mean_watts;
  } catch (const UnavailableError&) {
    return std::nullopt;
  }
}

// Most data sets of a workload. Another one is drawn only if this many times its memory is free.
constexpr std::size_t kMostDataSets = 4;
constexpr std::int64_t kLeastFreeForData = 4;

// Returns why the request cannot be answered with this kernel on this workload.
std::optional<Failure> misfit(const RunRequest& request, const BoundKernel& bound,
                              const PreparedWorkload& workload) {
  const auto is_compared = [&](const DeviceBuffer* buffer) {
    return workload.expected.contains(buffer->argument().name);
  };
  if (!request.as_reference && std::ranges::none_of(bound.buffers(), is_compared)) {
    return argument_failure("the kernel has none of the outputs that the reference produced");
  }
  for (const std::vector<std::string>* names : {&request.download_before, &request.download}) {
    for (const std::string& name : *names) {
      if (!workload.buffers.contains(name) && !workload.constants.contains(name)) {
        return argument_failure("the problem has no " + name);
      }
    }
  }
  return std::nullopt;
}

// `bound`: the kernel whose launches have swapped buffers; null before the launches.
std::map<std::string, EncodedArray> downloads(const std::vector<std::string>& names,
                                              const PreparedWorkload& workload,
                                              const BoundKernel* bound, CUstream stream) {
  std::map<std::string, EncodedArray> all;
  for (const std::string& name : names) {
    if (const auto constant = workload.constants.find(name); constant != workload.constants.end()) {
      all[name] = {constant->second.argument.type, constant->second.contents};
      continue;
    }
    const DeviceBuffer& buffer = workload.buffers.at(name);
    const CUdeviceptr data = bound == nullptr ? buffer.data() : bound->result(buffer);
    all[name] = {buffer.argument().type, download(data, buffer.argument().bytes(), stream)};
  }
  return all;
}

// Keeps the kernel's outputs, or the values that the request gives instead.
void keep_as_expected(const RunRequest& request, const BoundKernel& bound,
                      PreparedWorkload& workload, CUstream stream) {
  for (const DeviceBuffer* buffer : bound.buffers()) {
    if (!buffer->is_result()) continue;
    const std::string& name = buffer->argument().name;
    const auto given = request.reference.find(name);
    if (given == request.reference.end()) {
      buffer->keep_as_expected(bound.result(*buffer), stream);
    } else {
      buffer->keep_as_expected(encode(given->second, buffer->argument().type), stream);
    }
    workload.expected.insert(name);
  }
  synchronize(stream);
}

}  // namespace

CudaLauncher::CudaLauncher(int index, const std::shared_ptr<Compiler>& compiler) {
  const std::vector<Device> devices = cuda_devices();
  if (index < 0 || static_cast<std::size_t>(index) >= devices.size()) {
    throw UnavailableError("no GPU " + std::to_string(index) + ", only " +
                           std::to_string(devices.size()) + " are here");
  }
  device_ = devices[static_cast<std::size_t>(index)];
  auto compiled = compile_device_kernels(compiler, device_.architecture);
  check(cudaSetDevice(index), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");  // Makes the primary context current on every toolkit.
  driver_ = fetch_driver();
  stream_ = make_stream();
  device_kernels_ =
      std::make_unique<const DeviceKernels>(driver_, std::move(compiled), device_.sm_count);
  writer_ = std::make_unique<ContentsWriter>(*device_kernels_);
  refiller_ = std::make_unique<Refiller>(*device_kernels_, stream_.get());
  timer_ = std::make_unique<KernelTimer>(driver_, *device_kernels_, *refiller_, findings_,
                                         stream_.get(), device_);
}

CudaLauncher::~CudaLauncher() = default;

Outcome<std::int64_t> CudaLauncher::prepare(WorkloadId id, const Workload& workload) {
  return with_faults_as_data([&]() -> Outcome<std::int64_t> {
    workloads_.erase(id);
    for (auto& [other, prepared] : workloads_) {
      for (auto& [name, buffer] : prepared->buffers) buffer.drop_copies();
    }
    scratch_.clear();
    const std::int64_t needed = device_bytes(workload);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    if (needed > static_cast<std::int64_t>(free_bytes)) {
      return failure({Status::runtime, "device_memory"},
                     "the problem's buffers with their copies need " + std::to_string(needed) +
                         " bytes of device memory, " + std::to_string(free_bytes) + " are free");
    }
    workloads_[id] = std::make_unique<PreparedWorkload>(workload, ++workloads_so_far_, workloads_,
                                                        *writer_, stream_.get());
    return needed;
  });
}

Outcome<LoadedKernel> CudaLauncher::load(KernelHandle handle, const CompiledKernel& compiled,
                                         const std::vector<LaunchShape>& launches,
                                         const std::vector<Argument>& arguments) {
  return with_faults_as_data([&]() -> Outcome<LoadedKernel> {
    kernels_.erase(handle);
    if (launches.empty()) return LoadedKernel{.handle = handle, .launches = {}};
    auto loaded = load_kernel(driver_, compiled, launches, arguments);
    if (!loaded) return loaded.failure();
    if (auto failed = allow_shared_memory(driver_, **loaded, device_)) return *failed;
    if (auto failed = exceeds_clusters(driver_, **loaded)) return *failed;
    LoadedKernel described = describe(driver_, **loaded);
    if (handle < 0) handle = kernels_.empty() ? 0 : kernels_.rbegin()->first + 1;
    described.handle = handle;
    (*loaded)->is_settled = std::ranges::all_of(
        described.launches,
        [](const LoadedKernel::Launch& launch) { return launch.resources.stack_bytes == 0; });
    kernels_[handle] = std::move(*loaded);
    return described;
  });
}

PreparedWorkload& CudaLauncher::workload(WorkloadId id) {
  const auto found = workloads_.find(id);
  if (found == workloads_.end()) {
    throw Error("workload " + std::to_string(id) + " was not prepared");
  }
  return *found->second;
}

CudaKernel& CudaLauncher::kernel(KernelHandle handle) {
  const auto found = kernels_.find(handle);
  if (found == kernels_.end()) throw Error("kernel " + std::to_string(handle) + " is not loaded");
  return *found->second;
}

std::vector<std::uint8_t> CudaLauncher::contents(WorkloadId id, const std::string& argument) {
  const PreparedWorkload& prepared = workload(id);
  const auto constant = prepared.constants.find(argument);
  if (constant != prepared.constants.end()) return constant->second.contents;
  const DeviceBuffer& buffer = prepared.buffers.at(argument);
  if (!buffer.has_contents()) return {};
  return download(buffer.pristine(), buffer.argument().bytes(), stream_.get());
}

Outcome<RunReport> CudaLauncher::run(KernelHandle handle, const RunRequest& request) {
  return with_faults_as_data([&]() -> Outcome<RunReport> {
    const CUstream stream = stream_.get();
    PreparedWorkload& prepared = workload(request.workload);
    CudaKernel& launched = kernel(handle);
    const auto bound = BoundKernel::bind(launched, prepared, scratch_, stream);
    if (!bound) return bound.failure();
    if (auto failed = misfit(request, *bound, prepared)) return *failed;

    RunReport report;
    prepare_buffers(*refiller_, prepared, *bound);
    report.before = downloads(request.download_before, prepared, nullptr, stream);
    if (auto failed = launch(launched, *bound, report)) return *failed;
    report.after = downloads(request.download, prepared, &*bound, stream);
    const BufferCheck check(prepared, *bound, request);
    check.enqueue(*device_kernels_, findings_, stream);
    synchronize(stream);
    report.mismatch = check.judge(findings_, stream, report);
    if (request.as_reference) {
      prepared.expected.clear();
      prepared.data_sets.clear();
      if (!report.mismatch) keep_as_expected(request, *bound, prepared, stream);
    }
    return report;
  });
}

std::vector<KeptOutput> CudaLauncher::kept(WorkloadId id) {
  return kept_outputs(*device_kernels_, workload(id), stream_.get());
}

std::vector<std::uint8_t> CudaLauncher::kept_elements(WorkloadId id, const std::string& output,
                                                      std::span<const std::int64_t> at) {
  const CUstream stream = stream_.get();
  const PreparedWorkload& prepared = workload(id);
  if (!prepared.expected.contains(output)) return {};
  const DeviceBuffer& buffer = prepared.buffers.at(output);
  if (at.empty()) return download(buffer.expected(), buffer.argument().bytes(), stream);
  const auto size = static_cast<std::int64_t>(size_of(buffer.argument().type));
  const std::int64_t bytes = size * std::ssize(at);
  const DeviceMemory indices = allocate(at.size_bytes());
  const DeviceMemory elements = allocate(static_cast<std::size_t>(bytes));
  copy(indices.get(), at.data(), at.size_bytes(), cudaMemcpyHostToDevice, stream);
  device_kernels_->gather(stream, as_address(elements.get()), buffer.expected(),
                          as_address(indices.get()), std::ssize(at), static_cast<int>(size));
  return download(as_address(elements.get()), bytes, stream);
}

Outcome<RunReport> CudaLauncher::compare(KernelHandle handle, const RunRequest& request,
                                         const std::vector<Edit>& edits) {
  return with_faults_as_data([&]() -> Outcome<RunReport> {
    const CUstream stream = stream_.get();
    PreparedWorkload& prepared = workload(request.workload);
    const auto bound = BoundKernel::bind(kernel(handle), prepared, scratch_, stream);
    if (!bound) return bound.failure();
    RunReport report;
    prepare_buffers(*refiller_, prepared, *bound);
    write_kept(prepared, *bound, edits, stream);
    const BufferCheck check(prepared, *bound, request);
    check.enqueue(*device_kernels_, findings_, stream);
    synchronize(stream);
    report.mismatch = check.judge(findings_, stream, report);
    return report;
  });
}

Outcome<FactsReport> CudaLauncher::count(KernelHandle handle, WorkloadId id) {
  return with_faults_as_data([&]() -> Outcome<FactsReport> {
    PreparedWorkload& prepared = workload(id);
    const auto bound = BoundKernel::bind(kernel(handle), prepared, scratch_, stream_.get());
    if (!bound) return bound.failure();
    if (bound->turns().size() > kMostCounted) {
      return FactsReport{.launches = {},
                         .refused = "it has " + std::to_string(bound->turns().size()) +
                                    " launches, of which " + std::to_string(kMostCounted) +
                                    " are counted at most"};
    }
    return facts_or_refusal([&] { return count_launches(*bound, prepared); });
  });
}

std::vector<Facts> CudaLauncher::count_launches(const BoundKernel& bound,
                                                const PreparedWorkload& prepared) {
  const CUstream stream = stream_.get();
  if (!counters_) {
    const Cupti cupti = open_cupti();
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    counters_ = std::make_unique<const Counters>(cupti, chip_name(cupti, device));
  }
  CUcontext context = nullptr;
  driver_.check(driver_.ctx_get_current(&context), "cuCtxGetCurrent");
  const auto prepare = [&] {
    prepare_buffers(*refiller_, prepared, bound);
    timer_->flush_l2();
    synchronize(stream);
  };
  const auto pass = [&](const std::function<void()>& next) {
    const auto before_turn = [&](std::size_t /*turn*/) {
      synchronize(stream);
      next();
    };
    if (const auto failure = bound.enqueue(driver_, 0, stream, before_turn)) {
      throw UnavailableError(failure->detail);
    }
    synchronize(stream);
  };
  std::vector<std::size_t> launch_of;
  for (const Turn& turn : bound.turns()) launch_of.push_back(turn.launch);
  const auto rows = counters_->read(context, launch_of.size(), prepare, pass);
  return facts_of(counters_->metrics(), rows, launch_of, bound.launches());
}

Outcome<FactsReport> CudaLauncher::energy(KernelHandle handle, WorkloadId id, double seconds) {
  return with_faults_as_data([&]() -> Outcome<FactsReport> {
    PreparedWorkload& prepared = workload(id);
    CudaKernel& repeated = kernel(handle);
    auto bound = BoundKernel::bind(repeated, prepared, scratch_, stream_.get());
    if (!bound) return bound.failure();
    return facts_or_refusal([&] {
      std::vector<Facts> launches(bound->launches());
      launches.front() = energy_of(repeated, *bound, prepared, seconds);
      return launches;
    });
  });
}

Facts CudaLauncher::energy_of(CudaKernel& kernel, BoundKernel& bound,
                              const PreparedWorkload& prepared, double seconds) {
  const PowerMeter meter(device_.uuid);
  if (!idle_watts_) idle_watts_ = idle_watts(meter);
  prepare_buffers(*refiller_, prepared, bound);
  RunReport once;
  if (const auto failure = launch(kernel, bound, once)) throw UnavailableError(failure->detail);
  const std::int64_t bytes = std::max<std::int64_t>(bound.bytes(), 1);
  const std::int64_t wanted = std::min(
      {kCachesOfCopies * device_.l2_bytes / bytes + 1, kMostCopyBytes / bytes, kMostCopies});
  const std::size_t copies = bound.provide_copies(
      static_cast<std::size_t>(std::max<std::int64_t>(wanted, 1)), stream_.get());
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (const DeviceBuffer* buffer : bound.buffers()) refiller_->add(*buffer, copy, 0);
    for (const BoundKernel::Scratch& scratch : bound.scratch()) refiller_->add(scratch, copy);
  }
  refiller_->run();
  const double most = std::max(1.0, kMostBatch / static_cast<double>(bound.turns().size()));
  const auto batch = static_cast<std::size_t>(
      std::clamp(std::floor(kBatch_ms / std::max(once.elapsed_ms, 1e-3)), 1.0, most));
  RepeatedLaunches launches(driver_, bound, copies, batch, stream_.get());
  const auto step = [&launches] { return launches.step(); };
  const std::size_t before = meter.watch(kWarmUp_s, 0, step).back().launches;
  const auto readings = meter.watch(seconds + kCounterStep_s, before + 3 * batch, step);
  const std::optional<DeviceUse> use = gpu_use(device_.uuid);
  synchronize(stream_.get());

  Facts facts = energy_facts(readings);
  const std::string prefix = kEnergyFacts;
  if (idle_watts_) facts[prefix + "idle_watts"] = *idle_watts_;
  if (const auto watts = meter.limit_watts()) facts[prefix + "power_limit_watts"] = *watts;
  if (use && !use->processes.empty()) {
    facts[prefix + "other_processes"] =
        static_cast<double>(other_processes(use->processes, getpid(), getppid()));
  }
  return facts;
}

std::optional<Failure> CudaLauncher::launch(CudaKernel& kernel, const BoundKernel& bound,
                                            RunReport& report) {
  const CUstream stream = stream_.get();
  const Event start = make_event();
  const Event stop = make_event();
  check(cudaEventRecord(start.get(), stream), "cudaEventRecord");
  if (auto failure = bound.enqueue(driver_, 0, stream)) {
    synchronize(stream);  // An earlier launch of the same kernel may still be running.
    return failure;
  }
  check(cudaEventRecord(stop.get(), stream), "cudaEventRecord");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after the launch");
  kernel.is_settled = true;
  float elapsed_ms = 0;
  check(cudaEventElapsedTime(&elapsed_ms, start.get(), stop.get()), "cudaEventElapsedTime");
  report.elapsed_ms = kernel.run_ms = elapsed_ms;
  return std::nullopt;
}

Outcome<bool> CudaLauncher::draw_data(KernelHandle reference, WorkloadId id) {
  return with_faults_as_data([&]() -> Outcome<bool> {
    const CUstream stream = stream_.get();
    PreparedWorkload& prepared = workload(id);
    CudaKernel& launched = kernel(reference);
    const auto bound = BoundKernel::bind(launched, prepared, scratch_, stream);
    if (!bound) return bound.failure();
    if (!make_room(prepared, bound->buffers())) return !prepared.data_sets.empty();
    DataSet& set = prepared.data_sets.back();
    prepare_buffers(*refiller_, prepared, *bound, set.key);
    RunReport report;
    if (auto failed = launch(launched, *bound, report)) return *failed;
    const RunRequest request = {.as_reference = true, .tolerance = {}, .download = {}};
    const BufferCheck check(prepared, *bound, request, 0, nullptr);
    check.enqueue(*device_kernels_, findings_, stream);
    for (auto& [name, answer] : set.answers) {
      const DeviceBuffer& buffer = prepared.buffers.at(name);
      device_kernels_->apply_mask(stream, as_address(answer.get()), bound->result(buffer),
                                  buffer.argument().bytes(), set.mask);
    }
    synchronize(stream);
    if (check.judge(findings_, stream, report)) prepared.data_sets.pop_back();
    return !prepared.data_sets.empty();
  });
}

/// Adds a data set without answers, in the memory of the oldest one if there are enough sets.
/// Returns false if there is nothing to draw or no memory.
bool CudaLauncher::make_room(PreparedWorkload& workload,
                             const std::vector<DeviceBuffer*>& buffers) {
  if (std::ranges::none_of(buffers, &DeviceBuffer::can_redraw)) return false;
  std::int64_t needed = 0;
  for (const DeviceBuffer* buffer : buffers) {
    if (workload.expected.contains(buffer->argument().name)) needed += buffer->argument().bytes();
  }
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  const bool fits = needed * kLeastFreeForData <= static_cast<std::int64_t>(free_bytes);
  std::deque<DataSet>& sets = workload.data_sets;
  if (needed == 0 || (sets.empty() && !fits)) return false;
  DataSet set;
  if (sets.size() == kMostDataSets || !fits) {
    set = std::move(sets.front());
    sets.pop_front();
  } else {
    for (const DeviceBuffer* buffer : buffers) {
      const Argument& argument = buffer->argument();
      if (!workload.expected.contains(argument.name)) continue;
      set.answers[argument.name] = allocate(static_cast<std::size_t>(argument.bytes() + 8));
    }
  }
  set.key = unforeseeable();
  set.mask = unforeseeable();
  sets.push_back(std::move(set));
  return true;
}

void CudaLauncher::warm_up() { timer_->warm_up(); }

Outcome<TimeReport> CudaLauncher::time(KernelHandle handle, const TimeRequest& request) {
  return with_faults_as_data([&]() -> Outcome<TimeReport> {
    CudaKernel& timed = kernel(handle);
    PreparedWorkload& prepared = workload(request.workload);
    auto bound = BoundKernel::bind(timed, prepared, scratch_, stream_.get());
    if (!bound) return bound.failure();
    return timer_->time(timed, *bound, prepared, request);
  });
}

}  // namespace smemtune::cuda
