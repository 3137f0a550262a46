#include "tuner/backend/cuda/cuda_launcher.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/cuda/devices.h"
#include "tuner/backend/cuda/faults.h"
#include "tuner/core/error.h"
#include "tuner/core/measurement.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <thread>
#include <utility>

namespace smemtune::cuda {

struct CudaLauncher::Prepared {
  struct Constant {
    Argument argument;
    std::vector<std::uint8_t> contents;
  };
  std::uint64_t generation = 0;
  std::map<std::string, DeviceBuffer> buffers;
  std::map<std::string, Constant> constants;
  std::set<std::string> expected;  ///< Names of the buffers that a reference run has filled.
};

struct CudaLauncher::Kernel {
  struct Launch {
    CUfunction function = nullptr;
    LaunchShape shape;
  };
  struct Constant {
    Argument argument;
    CUdeviceptr address = 0;
  };
  Module module;
  std::vector<Launch> launches;
  std::vector<Argument> arguments;
  std::vector<Constant> constants;
  std::uint64_t constants_of = 0;  ///< Generation of the workload whose constants it holds.
  double clock_mhz = 0;            ///< The highest median clock that it ran at; 0: not timed yet.
  bool was_launched = false;
};

struct CudaLauncher::Bound {
  struct Scratch {
    Argument argument;
    std::vector<GuardedMemory>* copies = nullptr;
    std::uint32_t salt = 0;
  };
  struct Source {
    enum class Kind { buffer, texture, scratch, scalar };
    Kind kind = Kind::scalar;
    std::size_t index = 0;  ///< In buffers (of a texture, too), scratch or scalars.
  };
  const Kernel* kernel = nullptr;
  std::vector<DeviceBuffer*> buffers;
  std::vector<Scratch> scratch;
  std::vector<std::vector<std::uint8_t>> scalars;
  std::vector<std::vector<Source>> sources;  ///< Of each launch's arguments.

  bool has_inout() const {
    return std::ranges::any_of(
        buffers, [](const DeviceBuffer* buffer) { return buffer->argument().role == Role::inout; });
  }

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const DeviceBuffer* buffer : buffers) sum += buffer->argument().bytes();
    for (const Scratch& one : scratch) sum += one.argument.bytes();
    return sum;
  }
};

/// So many launches of the whole kernel per sample, over so many copies of its buffers in turn.
struct CudaLauncher::Sampling {
  int launches = 1;
  std::size_t copies = 1;
};

namespace {

// Samples whose clock is below this share of the reference are repeated.
constexpr double kMinClockShare = 0.97;
constexpr int kMaxDiscarded = 20;
// After so many in a row the clock is what this kernel's own power draw leaves.
constexpr int kMaxDiscardedInARow = 3;
constexpr double kBackOffMs = 5;
// %globaltimer may tick in microseconds: a shorter interval tells the clock no better than 1 %.
constexpr double kMinClockIntervalMs = 0.2;
// Sustained work beyond this lets boards lower their clock.
constexpr double kMaxBusyMs = 5;
constexpr double kMinGapMs = 1;
constexpr int kMaxLateSamples = 3;
// Never shorter than the resolution of an event (0.5 us), so that a time is never 0.
constexpr double kMinElapsedMs = 5e-4;
// Salts of different buffers differ in all bits, not in low ones only.
constexpr std::uint32_t kSaltStep = 0x9E3779B9u;
constexpr std::int64_t kDefaultDynamicSharedBytes = 49152;

// Turns what a kernel did into data; errors of the machine go on.
template <typename Function>
auto with_faults_as_data(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const CudaError& error) {
    if (auto fault = kernel_fault(error.code(), error.what())) return *fault;
    throw;
  }
}

Failure argument_failure(std::string detail) {
  return failure({Status::runtime, "arguments"}, std::move(detail));
}

std::string describe(const Argument& argument) {
  return std::string(cuda_name(argument.type)) + " of " + std::to_string(argument.bytes()) +
         " bytes";
}

std::optional<Failure> exceeds_texture(const Argument& argument) {
  const std::int64_t texels = argument.elements() / argument.texel_elements();
  const std::int64_t allowed = max_texels();
  if (texels <= allowed) return std::nullopt;
  return failure({Status::runtime, "texture_width"},
                 "the texture " + argument.name + " has " + std::to_string(texels) +
                     " texels, the device's linear textures at most " + std::to_string(allowed));
}

const Argument* find_argument(const std::vector<Argument>& arguments, const std::string& name) {
  const auto found = std::ranges::find(arguments, name, &Argument::name);
  return found == arguments.end() ? nullptr : &*found;
}

bool begins_with_contents(const Argument& argument) {
  return argument.role == Role::input || argument.role == Role::inout ||
         argument.init.kind != Init::Kind::none;
}

CompareRule compare_rule(Tolerance tolerance, ScalarType type, bool poisoned) {
  tolerance = tolerance_for(tolerance, type);
  const LastPlace place = last_place(type);
  return {.absolute = tolerance.absolute.value_or(0),
          .relative = tolerance.relative.value_or(0),
          .ulps = tolerance.ulps.value_or(0),
          .digits = place.digits,
          .least_exponent = place.least_exponent,
          .poisoned = poisoned};
}

std::vector<std::uint8_t> download(CUdeviceptr from, std::int64_t bytes, CUstream stream) {
  std::vector<std::uint8_t> host(static_cast<std::size_t>(bytes));
  check(cudaMemcpyAsync(host.data(), as_pointer(from), host.size(), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return host;
}

double element(CUdeviceptr buffer, std::int64_t index, ScalarType type, CUstream stream) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  const auto bytes = download(buffer + static_cast<CUdeviceptr>(index * size), size, stream);
  return to_doubles(bytes, type).front();
}

// Rounds down, for offsets before a buffer.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

int attribute(const Driver& driver, CUfunction function, CUfunction_attribute name) {
  int value = 0;
  driver.check(driver.func_get_attribute(&value, name, function), "cuFuncGetAttribute");
  return value;
}

// A launch's dimensions as the driver takes them, or nullopt.
std::optional<std::array<unsigned, 3>> dimensions(const Dim3& shape) {
  std::array<unsigned, 3> narrow = {};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!std::in_range<unsigned>(shape[i])) return std::nullopt;
    narrow[i] = static_cast<unsigned>(shape[i]);
  }
  return narrow;
}

}  // namespace

CudaLauncher::CudaLauncher(int index, Compiler& compiler) {
  const std::vector<Device> devices = cuda_devices();
  if (index < 0 || static_cast<std::size_t>(index) >= devices.size()) {
    throw UnavailableError("no GPU " + std::to_string(index) + ", only " +
                           std::to_string(devices.size()) + " are here");
  }
  device_ = devices[static_cast<std::size_t>(index)];
  check(cudaSetDevice(index), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");  // Makes the primary context current on every toolkit.
  driver_ = fetch_driver();
  stream_ = make_stream();
  device_kernels_ = std::make_unique<const DeviceKernels>(driver_, compiler, device_.architecture,
                                                          device_.sm_count);
  stopwatch_ = std::make_unique<Stopwatch>(*device_kernels_, stream_.get(), device_.sm_count,
                                           device_.l2_bytes);
}

CudaLauncher::~CudaLauncher() = default;

Outcome<std::int64_t> CudaLauncher::prepare(WorkloadId id, const Workload& workload) {
  return with_faults_as_data([&]() -> Outcome<std::int64_t> {
    workloads_.erase(id);
    drop_copies();
    std::int64_t needed = 0;
    for (const Argument& argument : workload.arguments) {
      if (!argument.is_buffer() || argument.in_constant_memory() ||
          argument.role == Role::scratch) {
        continue;
      }
      needed += DeviceBuffer::device_bytes(argument, begins_with_contents(argument));
    }
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    if (needed > static_cast<std::int64_t>(free_bytes)) {
      return failure({Status::runtime, "device_memory"},
                     "the problem's buffers with their copies need " + std::to_string(needed) +
                         " bytes of device memory, " + std::to_string(free_bytes) + " are free");
    }

    auto prepared = std::make_unique<Prepared>();
    prepared->generation = ++generation_;
    std::uint32_t salt = static_cast<std::uint32_t>(generation_) * 1000u;
    for (const Argument& argument : workload.arguments) {
      if (!argument.is_buffer()) continue;
      if (argument.in_constant_memory()) {
        prepared->constants[argument.name] = {argument, initial_contents(argument, workload.seed)};
      } else if (argument.role != Role::scratch) {
        std::vector<std::uint8_t> contents;
        if (begins_with_contents(argument)) contents = initial_contents(argument, workload.seed);
        salt += 1;
        prepared->buffers.try_emplace(argument.name, argument, contents, salt * kSaltStep,
                                      stream_.get());
      }
    }
    workloads_[id] = std::move(prepared);
    return needed;
  });
}

Outcome<LoadedKernel> CudaLauncher::load(KernelHandle handle, const CompiledKernel& compiled,
                                         const std::vector<LaunchShape>& launches,
                                         const std::vector<Argument>& arguments) {
  return with_faults_as_data([&]() -> Outcome<LoadedKernel> {
    kernels_.erase(handle);
    if (launches.empty()) return LoadedKernel{.handle = handle, .launches = {}};
    auto made = make_kernel(compiled, launches, arguments);
    if (!made) return made.failure();
    auto described = describe(**made);
    if (!described) return described.failure();
    if (handle < 0) handle = kernels_.empty() ? 0 : kernels_.rbegin()->first + 1;
    described->handle = handle;
    kernels_[handle] = std::move(*made);
    return described;
  });
}

Outcome<std::unique_ptr<CudaLauncher::Kernel>> CudaLauncher::make_kernel(
    const CompiledKernel& compiled, const std::vector<LaunchShape>& launches,
    const std::vector<Argument>& arguments) {
  auto kernel = std::make_unique<Kernel>();
  kernel->arguments = arguments;
  CUmodule module = nullptr;
  const CUresult loaded = driver_.module_load_data(&module, compiled.image.data());
  if (loaded != CUDA_SUCCESS) {
    const std::string message = "cuModuleLoadData: " + driver_.text(loaded);
    if (auto fault = kernel_fault(static_cast<int>(loaded), message)) return *fault;
    return failure({Status::runtime, "load"}, message);
  }
  kernel->module = Module(module, ModuleUnloader{driver_.module_unload});

  for (const LaunchShape& shape : launches) {
    const CompiledEntry* const entry = compiled.entry(shape.name_expression);
    if (entry == nullptr) throw Error(shape.name_expression + " was not compiled");
    for (const std::string& name : shape.arguments) {
      if (find_argument(arguments, name) == nullptr) throw Error("no argument is named " + name);
    }
    Kernel::Launch launch = {.function = nullptr, .shape = shape};
    driver_.check(
        driver_.module_get_function(&launch.function, module, entry->lowered_name.c_str()),
        "cuModuleGetFunction");
    kernel->launches.push_back(std::move(launch));
  }

  for (const Argument& argument : arguments) {
    if (!argument.in_constant_memory()) continue;
    const std::string& expression = argument.symbol.empty() ? argument.name : argument.symbol;
    const CompiledSymbol* symbol = compiled.symbol(expression);
    if (symbol == nullptr) throw Error("symbol " + expression + " was not compiled");
    Kernel::Constant constant = {.argument = argument};
    std::size_t bytes = 0;
    driver_.check(
        driver_.module_get_global(&constant.address, &bytes, module, symbol->lowered_name.c_str()),
        "cuModuleGetGlobal");
    if (static_cast<std::int64_t>(bytes) < argument.bytes()) {
      return argument_failure("the __constant__ symbol " + expression + " has " +
                              std::to_string(bytes) + " bytes, its argument " +
                              std::to_string(argument.bytes()));
    }
    kernel->constants.push_back(std::move(constant));
  }
  return kernel;
}

Outcome<LoadedKernel> CudaLauncher::describe(const Kernel& kernel) const {
  LoadedKernel loaded;
  for (const Kernel::Launch& launch : kernel.launches) {
    const std::int64_t dynamic = launch.shape.dynamic_shared_bytes;
    LoadedKernel::Launch& described = loaded.launches.emplace_back();
    Resources& resources = described.resources;
    resources.registers_per_thread =
        attribute(driver_, launch.function, CU_FUNC_ATTRIBUTE_NUM_REGS);
    resources.static_shared_bytes =
        attribute(driver_, launch.function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    resources.stack_bytes = attribute(driver_, launch.function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    resources.constant_bytes =
        attribute(driver_, launch.function, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    resources.max_threads_per_block =
        attribute(driver_, launch.function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);

    // Only ever raised: two launches may share a function.
    constexpr auto kMaxDynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    if (dynamic + resources.static_shared_bytes > kDefaultDynamicSharedBytes &&
        dynamic > attribute(driver_, launch.function, kMaxDynamic)) {
      const CUresult set =
          std::in_range<int>(dynamic)
              ? driver_.func_set_attribute(launch.function, kMaxDynamic, static_cast<int>(dynamic))
              : CUDA_ERROR_INVALID_VALUE;
      if (set != CUDA_SUCCESS) {
        const std::string message =
            std::to_string(resources.static_shared_bytes) + " + " + std::to_string(dynamic) +
            " bytes of shared memory per block, device allows " +
            std::to_string(device_.max_shared_bytes_per_block) + ": " + driver_.text(set);
        if (auto fault = kernel_fault(static_cast<int>(set), message)) return *fault;
        return failure({Status::runtime, "shared_bytes"}, message);
      }
    }
    int blocks = 0;
    const std::int64_t threads = launch.shape.threads_per_block();
    const bool known =
        std::in_range<int>(threads) && dynamic >= 0 &&
        driver_.occupancy_max_active_blocks(&blocks, launch.function, static_cast<int>(threads),
                                            static_cast<std::size_t>(dynamic)) == CUDA_SUCCESS;
    described.blocks_per_sm = known ? blocks : -1;
  }
  return loaded;
}

CudaLauncher::Prepared& CudaLauncher::workload(WorkloadId id) {
  const auto found = workloads_.find(id);
  if (found == workloads_.end()) {
    throw Error("workload " + std::to_string(id) + " was not prepared");
  }
  return *found->second;
}

CudaLauncher::Kernel& CudaLauncher::kernel(KernelHandle handle) {
  const auto found = kernels_.find(handle);
  if (found == kernels_.end()) throw Error("kernel " + std::to_string(handle) + " is not loaded");
  return *found->second;
}

void CudaLauncher::drop_copies() {
  for (auto& [id, prepared] : workloads_) {
    for (auto& [name, buffer] : prepared->buffers) buffer.drop_copies();
  }
  scratch_.clear();
}

Outcome<CudaLauncher::Bound> CudaLauncher::bind(Kernel& kernel, Prepared& prepared) {
  Bound bound;
  bound.kernel = &kernel;
  std::map<std::string, Bound::Source> known;
  for (const Kernel::Launch& launch : kernel.launches) {
    std::vector<Bound::Source>& sources = bound.sources.emplace_back();
    for (const std::string& name : launch.shape.arguments) {
      if (const auto found = known.find(name); found != known.end()) {
        sources.push_back(found->second);
        continue;
      }
      const Argument& argument = *find_argument(kernel.arguments, name);
      Bound::Source source;
      if (!argument.is_buffer()) {
        source = {Bound::Source::Kind::scalar, bound.scalars.size()};
        bound.scalars.push_back(scalar_bytes(argument));
      } else if (argument.role == Role::scratch) {
        source = {Bound::Source::Kind::scratch, bound.scratch.size()};
        const auto salt = static_cast<std::uint32_t>(bound.scratch.size() + 1);
        bound.scratch.push_back({argument, nullptr, ~(salt * kSaltStep)});
      } else {
        const auto buffer = prepared.buffers.find(name);
        if (buffer == prepared.buffers.end()) {
          return argument_failure("the problem has no buffer " + name);
        }
        const Argument& theirs = buffer->second.argument();
        if (theirs.type != argument.type || theirs.bytes() != argument.bytes()) {
          return argument_failure("the kernel takes " + name + " as " + cuda::describe(argument) +
                                  ", the problem's is " + cuda::describe(theirs));
        }
        source = {Bound::Source::Kind::buffer, bound.buffers.size()};
        if (argument.is_texture()) {
          if (const auto failure = exceeds_texture(argument)) return *failure;
          buffer->second.provide_textures();
          source.kind = Bound::Source::Kind::texture;
        }
        bound.buffers.push_back(&buffer->second);
      }
      known[name] = source;
      sources.push_back(source);
    }
  }

  for (std::size_t i = 0; i < bound.scratch.size(); ++i) {
    if (scratch_.size() <= i) scratch_.emplace_back();
    std::vector<GuardedMemory>& copies = scratch_[i];
    const std::int64_t bytes = bound.scratch[i].argument.bytes();
    if (copies.empty() || copies.front().capacity() < bytes) {
      copies.clear();
      copies.emplace_back(bytes);
    }
  }
  // Only now, when scratch_ grows no more.
  for (std::size_t i = 0; i < bound.scratch.size(); ++i) bound.scratch[i].copies = &scratch_[i];

  if (kernel.constants_of != prepared.generation) {
    for (const Kernel::Constant& constant : kernel.constants) {
      const std::string& name = constant.argument.name;
      const auto found = prepared.constants.find(name);
      if (found == prepared.constants.end()) {
        return argument_failure("the problem has no argument " + name + " in constant memory");
      }
      const Argument& theirs = found->second.argument;
      if (theirs.type != constant.argument.type || theirs.bytes() != constant.argument.bytes()) {
        return argument_failure("the kernel takes " + name + " as " +
                                cuda::describe(constant.argument) + ", the problem's is " +
                                cuda::describe(theirs));
      }
      const std::vector<std::uint8_t>& contents = found->second.contents;
      check(cudaMemcpyAsync(as_pointer(constant.address), contents.data(), contents.size(),
                            cudaMemcpyHostToDevice, stream_.get()),
            "cudaMemcpyAsync");
    }
    kernel.constants_of = prepared.generation;
  }
  return bound;
}

std::optional<Failure> CudaLauncher::enqueue(const Bound& bound, std::size_t copy) const {
  for (std::size_t i = 0; i < bound.kernel->launches.size(); ++i) {
    const Kernel::Launch& launch = bound.kernel->launches[i];
    const std::vector<Bound::Source>& sources = bound.sources[i];
    std::vector<CUdeviceptr> addresses(sources.size());
    std::vector<void*> parameters(sources.size());
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const std::size_t index = sources[k].index;
      parameters[k] = &addresses[k];
      if (sources[k].kind == Bound::Source::Kind::scalar) {
        parameters[k] = const_cast<std::uint8_t*>(bound.scalars[index].data());
      } else if (sources[k].kind == Bound::Source::Kind::buffer) {
        addresses[k] = bound.buffers[index]->data(copy);
      } else if (sources[k].kind == Bound::Source::Kind::texture) {
        addresses[k] = bound.buffers[index]->texture(copy);
      } else {
        addresses[k] = (*bound.scratch[index].copies)[copy].data();
      }
    }
    const auto grid = dimensions(launch.shape.grid);
    const auto block = dimensions(launch.shape.block);
    const auto dynamic = launch.shape.dynamic_shared_bytes;
    CUresult code = CUDA_ERROR_INVALID_VALUE;
    if (grid && block && std::in_range<unsigned>(dynamic)) {
      code = driver_.launch_kernel(launch.function, (*grid)[0], (*grid)[1], (*grid)[2], (*block)[0],
                                   (*block)[1], (*block)[2], static_cast<unsigned>(dynamic),
                                   stream_.get(), parameters.data(), nullptr);
    }
    if (code != CUDA_SUCCESS) {
      return refused_launch(
          static_cast<int>(code),
          "cuLaunchKernel of " + launch.shape.name_expression + ": " + driver_.text(code));
    }
  }
  return std::nullopt;
}

Outcome<RunReport> CudaLauncher::run(KernelHandle handle, const RunRequest& request) {
  return with_faults_as_data([&]() -> Outcome<RunReport> {
    Prepared& prepared = workload(request.workload);
    Kernel& launched = kernel(handle);
    const auto bound = bind(launched, prepared);
    if (!bound) return bound.failure();
    if (!request.as_reference &&
        std::ranges::none_of(bound->buffers, [&](const DeviceBuffer* buffer) {
          return prepared.expected.contains(buffer->argument().name);
        })) {
      return argument_failure("the kernel takes none of the outputs that the reference gave");
    }
    for (const std::string& name : request.download) {
      if (!prepared.buffers.contains(name) && !prepared.constants.contains(name)) {
        return argument_failure("the problem has no " + name);
      }
    }
    const CUstream stream = stream_.get();
    const auto downloads = [&] {
      std::map<std::string, std::vector<double>> arrays;
      for (const std::string& name : request.download) {
        if (const auto constant = prepared.constants.find(name);
            constant != prepared.constants.end()) {
          const auto& [argument, bytes] = constant->second;
          arrays[name] = to_doubles(bytes, argument.type);
          continue;
        }
        const DeviceBuffer& buffer = prepared.buffers.at(name);
        arrays[name] = to_doubles(download(buffer.data(), buffer.argument().bytes(), stream),
                                  buffer.argument().type);
      }
      return arrays;
    };

    for (const auto& [name, buffer] : prepared.buffers) {
      buffer.restore(0, stream);
      device_kernels_->fill_guards(stream, buffer.data(), buffer.argument().bytes(),
                                   buffer.bytes_after(), buffer.salt());
    }
    for (const Bound::Scratch& scratch : bound->scratch) {
      const GuardedMemory& memory = scratch.copies->front();
      const std::int64_t bytes = scratch.argument.bytes();
      check(
          cudaMemsetAsync(as_pointer(memory.data()), 0xFF, static_cast<std::size_t>(bytes), stream),
          "cudaMemsetAsync");
      device_kernels_->fill_guards(stream, memory.data(), bytes, memory.bytes_after(bytes),
                                   scratch.salt);
    }
    RunReport report;
    report.before = downloads();

    const Event start = make_event();
    const Event stop = make_event();
    check(cudaEventRecord(start.get(), stream), "cudaEventRecord");
    if (const auto failure = enqueue(*bound, 0)) {
      // An earlier launch of the same kernel may be running still.
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      return *failure;
    }
    check(cudaEventRecord(stop.get(), stream), "cudaEventRecord");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize after the launch");
    launched.was_launched = true;
    float elapsed_ms = 0;
    check(cudaEventElapsedTime(&elapsed_ms, start.get(), stop.get()), "cudaEventElapsedTime");
    report.elapsed_ms = elapsed_ms;

    report.after = downloads();
    report.mismatch = findings(*bound, prepared, request, report);
    if (request.as_reference) {
      prepared.expected.clear();
      if (report.mismatch) return report;
      for (const DeviceBuffer* buffer : bound->buffers) {
        if (!buffer->is_result()) continue;
        const std::string& name = buffer->argument().name;
        const auto given = request.reference.find(name);
        if (given == request.reference.end()) {
          buffer->keep_as_expected(stream);
        } else {
          buffer->keep_as_expected(encode(given->second, buffer->argument().type), stream);
        }
        prepared.expected.insert(name);
      }
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    return report;
  });
}

// Guard zones first: what else is wrong may follow from a write beyond a buffer.
std::optional<Mismatch> CudaLauncher::findings(const Bound& bound, const Prepared& prepared,
                                               const RunRequest& request, RunReport& report) const {
  const CUstream stream = stream_.get();
  std::vector<const DeviceBuffer*> results;
  for (const DeviceBuffer* buffer : bound.buffers) {
    const bool compared =
        request.as_reference || prepared.expected.contains(buffer->argument().name);
    if (buffer->is_result() && compared) results.push_back(buffer);
  }
  std::vector<const DeviceBuffer*> inputs;
  for (const auto& [name, buffer] : prepared.buffers) {
    if (buffer.argument().role == Role::input && buffer.has_contents()) inputs.push_back(&buffer);
  }

  // On the device: the comparisons of the results, then the differences of the guard zones (of the
  // workload's buffers, of scratch) and of the inputs.
  std::vector<Comparison> comparisons(results.size());
  std::vector<ByteDifference> differences(prepared.buffers.size() + bound.scratch.size() +
                                          inputs.size());
  const std::size_t comparison_bytes = comparisons.size() * sizeof(Comparison);
  const std::size_t difference_bytes = differences.size() * sizeof(ByteDifference);
  const DeviceMemory memory = allocate(comparison_bytes + difference_bytes + 1);
  auto* const on_device = static_cast<std::uint8_t*>(memory.get());
  check(cudaMemcpyAsync(on_device, comparisons.data(), comparison_bytes, cudaMemcpyHostToDevice,
                        stream),
        "cudaMemcpyAsync");
  check(cudaMemcpyAsync(on_device + comparison_bytes, differences.data(), difference_bytes,
                        cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");

  auto comparison = as_address(on_device);
  for (const DeviceBuffer* buffer : results) {
    const Argument& argument = buffer->argument();
    // A reference is compared with itself: that finds what is not finite, and what it did not
    // write.
    const CUdeviceptr expected = request.as_reference ? buffer->data() : buffer->expected();
    CompareRule rule =
        compare_rule(request.tolerance_of(argument.name), argument.type, !buffer->has_contents());
    if (argument.compares_sum) rule.absolute = std::numeric_limits<double>::infinity();
    device_kernels_->compare(stream, argument.type, buffer->data(), expected, argument.elements(),
                             rule, comparison);
    comparison += sizeof(Comparison);
  }
  auto difference = as_address(on_device + comparison_bytes);
  for (const auto& [name, buffer] : prepared.buffers) {
    device_kernels_->check_guards(stream, buffer.data(), buffer.argument().bytes(),
                                  buffer.bytes_after(), buffer.salt(), difference);
    difference += sizeof(ByteDifference);
  }
  for (const Bound::Scratch& scratch : bound.scratch) {
    const GuardedMemory& guarded = scratch.copies->front();
    const std::int64_t bytes = scratch.argument.bytes();
    device_kernels_->check_guards(stream, guarded.data(), bytes, guarded.bytes_after(bytes),
                                  scratch.salt, difference);
    difference += sizeof(ByteDifference);
  }
  for (const DeviceBuffer* buffer : inputs) {
    device_kernels_->compare_bytes(stream, buffer->data(), buffer->pristine(),
                                   buffer->argument().bytes(), difference);
    difference += sizeof(ByteDifference);
  }
  check(cudaMemcpyAsync(comparisons.data(), on_device, comparison_bytes, cudaMemcpyDeviceToHost,
                        stream),
        "cudaMemcpyAsync");
  check(cudaMemcpyAsync(differences.data(), on_device + comparison_bytes, difference_bytes,
                        cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");

  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    if (results[i]->argument().compares_sum) continue;
    const Comparison& one = comparisons[i];
    report.max_absolute_error =
        std::max(report.max_absolute_error, std::bit_cast<double>(one.max_absolute_bits));
    report.max_relative_error =
        std::max(report.max_relative_error, std::bit_cast<double>(one.max_relative_bits));
  }

  // In elements, of which the bytes may be parts.
  const auto byte_mismatch = [](const Argument& argument, const Reason& reason,
                                const ByteDifference& found) {
    const auto size = static_cast<std::int64_t>(size_of(argument.type));
    Mismatch mismatch;
    mismatch.argument = argument.name;
    mismatch.reason = reason.word();
    mismatch.index = floor_div(found.first, size);
    mismatch.count = (static_cast<std::int64_t>(found.count) + size - 1) / size;
    return mismatch;
  };
  constexpr Reason kOverrun(Status::correctness, "overrun");
  auto found = differences.begin();
  for (const auto& [name, buffer] : prepared.buffers) {
    if (found->count > 0) return byte_mismatch(buffer.argument(), kOverrun, *found);
    ++found;
  }
  for (const Bound::Scratch& scratch : bound.scratch) {
    if (found->count > 0) return byte_mismatch(scratch.argument, kOverrun, *found);
    ++found;
  }
  for (const DeviceBuffer* buffer : inputs) {
    if (found->count > 0) {
      const Argument& argument = buffer->argument();
      Mismatch mismatch = byte_mismatch(argument, {Status::correctness, "input_modified"}, *found);
      mismatch.value = element(buffer->data(), mismatch.index, argument.type, stream);
      mismatch.expected = element(buffer->pristine(), mismatch.index, argument.type, stream);
      return mismatch;
    }
    ++found;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Argument& argument = results[i]->argument();
    const std::array kinds = {
        std::pair(Reason(Status::correctness, "unwritten"), &comparisons[i].unwritten),
        std::pair(Reason(Status::correctness, "nan"), &comparisons[i].not_finite),
        std::pair(Reason(Status::correctness, "mismatch"), &comparisons[i].mismatch)};
    for (const auto& [reason, kind] : kinds) {
      if (kind->count == 0) continue;
      Mismatch mismatch;
      mismatch.argument = argument.name;
      mismatch.reason = reason.word();
      mismatch.index = static_cast<std::int64_t>(kind->first);
      mismatch.count = static_cast<std::int64_t>(kind->count);
      mismatch.value = element(results[i]->data(), mismatch.index, argument.type, stream);
      mismatch.expected = std::numeric_limits<double>::quiet_NaN();
      if (!request.as_reference) {
        mismatch.expected = element(results[i]->expected(), mismatch.index, argument.type, stream);
      }
      return mismatch;
    }
    if (!argument.compares_sum || request.as_reference) continue;
    const auto sum = [&](CUdeviceptr data) {
      return sum_of(download(data, argument.bytes(), stream), argument.type);
    };
    if (auto wrong = wrong_sum(argument, sum(results[i]->data()), sum(results[i]->expected()),
                               request.tolerance_of(argument.name), report)) {
      return wrong;
    }
  }
  return std::nullopt;
}

Outcome<TimeReport> CudaLauncher::time(KernelHandle handle, const TimeRequest& request) {
  return with_faults_as_data([&]() -> Outcome<TimeReport> {
    Prepared& prepared = workload(request.workload);
    Kernel& timed = kernel(handle);
    auto bound = bind(timed, prepared);
    if (!bound) return bound.failure();
    if (reference_clock_mhz_ == 0) reference_clock_mhz_ = stopwatch_->warm_up();

    TimeReport report;
    if (request.with_transfers) report.transfers = time_transfers(*bound);
    std::vector<double> clocks_mhz;
    std::vector<double> trusted_clocks_mhz;
    bool discards = true;
    // One sample at full clock, or what comes nearest.
    const auto take = [&](const Sampling& sampling) -> Outcome<Interval> {
      int late = 0;
      int in_a_row = 0;
      while (true) {
        auto interval = sample(*bound, request, sampling);
        if (!interval) return interval;
        if (interval->late) {
          if (++late < kMaxLateSamples) continue;
          throw UnavailableError("the host is too slow to queue the launches of one sample");
        }
        const double own_mhz = timed.clock_mhz > 0 ? timed.clock_mhz : reference_clock_mhz_;
        const bool trusted =
            interval->sm_clock_mhz > 0 && interval->elapsed_ms >= kMinClockIntervalMs;
        if (in_a_row == kMaxDiscardedInARow || report.discarded == kMaxDiscarded) discards = false;
        const bool is_low = trusted && interval->sm_clock_mhz < kMinClockShare * own_mhz;
        if (!discards || !is_low) {
          report.throttled = report.throttled || is_low;
          if (interval->sm_clock_mhz > 0) clocks_mhz.push_back(interval->sm_clock_mhz);
          if (trusted) trusted_clocks_mhz.push_back(interval->sm_clock_mhz);
          return interval;
        }
        ++report.discarded;
        ++in_a_row;
        pause(kBackOffMs);
      }
    };
    double sampled_ms = 0;
    const auto add = [&](const Interval& interval, int launches) {
      report.samples_ms.push_back(std::max(interval.elapsed_ms, kMinElapsedMs) / launches);
      sampled_ms += interval.elapsed_ms;
      return request.ends_after(report.samples_ms.back(), sampled_ms);
    };

    // What an earlier kernel, found wrong, did to the buffers. Further copies were only ever given
    // to kernels that were timed.
    for (const DeviceBuffer* buffer : bound->buffers) {
      if (buffer->has_contents()) buffer->restore(0, stream_.get());
    }
    // A first launch may have to allocate local memory, which waits for the stream: not while it is
    // held.
    if (!timed.was_launched) {
      if (const auto failure = enqueue(*bound, 0)) return *failure;
      check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize after the launch");
      timed.was_launched = true;
    }
    Sampling sampling = plan(*bound, request, std::max(request.launches_per_sample, 1));
    bool stop = false;
    if (request.launches_per_sample <= 0) {
      const auto first = take(sampling);
      if (!first) return first.failure();
      stop = add(*first, 1);
      const double launches =
          std::ceil(request.min_sample_us / 1000 / std::max(first->elapsed_ms, kMinElapsedMs));
      if (!stop && launches > 1 && request.max_launches_per_sample > 1) {
        sampling =
            plan(*bound, request,
                 static_cast<int>(std::min<double>(launches, request.max_launches_per_sample)));
        if (sampling.launches > 1) {
          report.samples_ms.clear();
          sampled_ms = 0;
        }
      }
    }
    report.launches_per_sample = sampling.launches;
    while (!stop && report.samples_ms.size() < static_cast<std::size_t>(request.samples)) {
      const auto interval = take(sampling);
      if (!interval) return interval.failure();
      stop = add(*interval, sampling.launches);
    }
    if (!clocks_mhz.empty()) report.sm_clock_mhz = quantile(clocks_mhz, 0.5);
    if (!trusted_clocks_mhz.empty()) {
      const double median_mhz = quantile(trusted_clocks_mhz, 0.5);
      timed.clock_mhz = std::max(timed.clock_mhz, median_mhz);
      reference_clock_mhz_ = std::max(reference_clock_mhz_, median_mhz);
    }
    return report;
  });
}

// As a program would have it whose arrays are ordinary vectors. The host's pages are touched
// before.
Transfers CudaLauncher::time_transfers(const Bound& bound) const {
  using Clock = std::chrono::steady_clock;
  const auto copy = [this](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const Clock::time_point start = Clock::now();
    check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  Transfers transfers;
  for (const DeviceBuffer* buffer : bound.buffers) {
    const Argument& argument = buffer->argument();
    buffer->restore(0, stream_.get());
    std::vector<std::uint8_t> host = download(buffer->data(), argument.bytes(), stream_.get());
    if (argument.role == Role::input || argument.role == Role::inout) {
      transfers.to_device_ms +=
          copy(as_pointer(buffer->data()), host.data(), host.size(), cudaMemcpyHostToDevice);
      transfers.to_device_bytes += argument.bytes();
    }
    if (buffer->is_result()) {
      transfers.to_host_ms +=
          copy(host.data(), as_pointer(buffer->data()), host.size(), cudaMemcpyDeviceToHost);
      transfers.to_host_bytes += argument.bytes();
    }
  }
  return transfers;
}

// A launch that finds its buffers in the L2 cache is not cold, and one that finds what it changed
// is not the same work: so launches take turns on copies of the buffers. Where a kernel changes a
// buffer in place each launch needs a copy of its own; otherwise as many as exceed twice the cache.
CudaLauncher::Sampling CudaLauncher::plan(Bound& bound, const TimeRequest& request, int launches) {
  const int per_launch = static_cast<int>(bound.kernel->launches.size());
  Sampling sampling = {
      .launches = std::clamp(launches, 1, std::max(1, kMaxPendingLaunches / per_launch)),
      .copies = 1};
  if (sampling.launches == 1) return sampling;
  const std::int64_t bytes = std::max<std::int64_t>(bound.bytes(), 1);
  const std::int64_t beyond_cache = 2 * device_.l2_bytes / bytes + 1;
  const auto all = static_cast<std::size_t>(sampling.launches);
  std::size_t wanted = 1;
  if (request.cold) wanted = std::min(all, static_cast<std::size_t>(beyond_cache));
  if (bound.has_inout()) wanted = all;
  sampling.copies = provide_copies(bound, wanted);
  if (sampling.copies < wanted) sampling.launches = static_cast<int>(sampling.copies);
  return sampling;
}

// As many of the wanted copies as there is memory for, at least one.
std::size_t CudaLauncher::provide_copies(Bound& bound, std::size_t wanted) {
  const CUstream stream = stream_.get();
  std::size_t provided = wanted;
  try {
    for (DeviceBuffer* buffer : bound.buffers) buffer->provide_copies(wanted, stream);
    for (const Bound::Scratch& scratch : bound.scratch) {
      const std::int64_t capacity = scratch.copies->front().capacity();
      while (scratch.copies->size() < wanted) scratch.copies->emplace_back(capacity);
    }
  } catch (const CudaError& error) {
    if (error.code() != cudaErrorMemoryAllocation) throw;
    for (const DeviceBuffer* buffer : bound.buffers) {
      provided = std::min(provided, buffer->copies());
    }
    for (const Bound::Scratch& scratch : bound.scratch) {
      provided = std::min(provided, scratch.copies->size());
    }
  }
  return provided;
}

Outcome<Interval> CudaLauncher::sample(const Bound& bound, const TimeRequest& request,
                                       const Sampling& sampling) {
  pause(request.gap_ms);
  if (!request.cold) {
    if (const auto failure = enqueue(bound, 0)) return *failure;
  }
  for (const DeviceBuffer* buffer : bound.buffers) {
    if (buffer->argument().role != Role::inout) continue;
    for (std::size_t copy = 0; copy < sampling.copies; ++copy) {
      buffer->restore(copy, stream_.get());
    }
  }
  if (request.cold) stopwatch_->flush_l2();
  auto interval = stopwatch_->time([&]() -> std::optional<Failure> {
    for (int i = 0; i < sampling.launches; ++i) {
      const std::size_t copy = static_cast<std::size_t>(i) % sampling.copies;
      if (auto failure = enqueue(bound, copy)) return failure;
    }
    return std::nullopt;
  });
  if (interval) busy_ms_ += interval->elapsed_ms;
  return interval;
}

void CudaLauncher::pause(double gap_ms) {
  if (busy_ms_ >= kMaxBusyMs) gap_ms = std::max(gap_ms, kMinGapMs);
  if (gap_ms <= 0) return;
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(gap_ms));
  busy_ms_ = 0;
}

}  // namespace smemtune::cuda
