#include "tuner/cli/backends.h"

#include "tuner/backend/cpu/cpu_launcher.h"
#include "tuner/backend/cpu/host_compiler.h"
#include "tuner/cli/known_devices.h"
#include "tuner/cli/options.h"
#include "tuner/config/devices_file.h"
#include "tuner/core/compiler_options.h"
#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/core/usable_cores.h"
#include "tuner/engine/cached_compiler.h"
#include "tuner/engine/several_compilers.h"
#include "tuner/engine/worker_channel.h"
#include "tuner/engine/workers.h"

#if SMEMTUNE_CUDA_BUILD
#include "tuner/backend/cuda/cuda_launcher.h"
#include "tuner/backend/cuda/devices.h"
#include "tuner/backend/cuda/nvml.h"
#include "tuner/backend/cuda/nvrtc_compiler.h"
#include "tuner/backend/cuda/plain_kernel.h"
#endif

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace smemtune::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCuda = "cuda";
constexpr const char* kCpu = "cpu";

[[maybe_unused]] constexpr const char* kNoCudaBuild =
    "this smemtune was built without the CUDA back end; what works without: --device cpu, --check, "
    "best, list, export, compare, devices --known";

/// Returns the command of a worker. It runs the program that is running now, even if another one
/// has replaced its file: a restarted worker must be of the same build.
std::vector<std::string> worker_words(const std::string& role, const std::string& backend) {
  return {"/proc/self/exe", "__worker", role, backend};
}

int worker_count(std::uint64_t asked) {
  return static_cast<int>(asked == 0 ? usable_cores() : asked);
}

constexpr const char* kShuffle = "shuffle";
constexpr const char* kBackground = "background";
constexpr int kBackgroundNiceness = 15;

/// Returns the arguments of a device worker that follow its role and back end.
std::vector<std::string> device_words(const DeviceChoice& choice, const Device& device) {
  if (device.kind == DeviceKind::gpu) return {device.uuid};
  const char* const way = choice.in_background     ? kBackground
                          : choice.shuffle_threads ? kShuffle
                                                   : "in-order";
  return {choice.limits_of, way, device.uuid};
}

bool gpu_seems_present() {
#if SMEMTUNE_CUDA_BUILD
  return cuda::nvidia_device_present();
#else
  return std::filesystem::exists("/dev/nvidia0");
#endif
}

Device published_device(const std::string& name) { return find_device(published_devices(), name); }

const Device& select_gpu(const std::vector<Device>& gpus,
                         [[maybe_unused]] const std::string& name) {
#if SMEMTUNE_CUDA_BUILD
  return gpus[static_cast<std::size_t>(cuda::select_device(gpus, name))];
#else
  return gpus.front();
#endif
}

std::vector<Device> select_gpus(const std::vector<Device>& gpus, const std::string& list) {
  if (list == "all") return gpus;
  std::vector<Device> chosen;
  for (const std::string& name : CLI::detail::split(list, ',')) {
    if (name.empty()) throw InputError("--devices: '" + list + "' has an empty name");
    const Device& gpu = select_gpu(gpus, name);
    if (std::ranges::find(chosen, gpu.uuid, &Device::uuid) != chosen.end()) {
      throw InputError("--devices: '" + list + "' names " + gpu.name + " (" + gpu.uuid + ") twice");
    }
    chosen.push_back(gpu);
  }
  return chosen;
}

std::unique_ptr<Compiler> cached(std::unique_ptr<Compiler> compiler) {
  const std::filesystem::path folder = default_cache_folder();
  if (folder.empty()) return compiler;
  return std::make_unique<CachedCompiler>(std::move(compiler), folder);
}

#if SMEMTUNE_CUDA_BUILD
/// Returns a compiler for the given NVRTC libraries, or without any for the one that is found.
std::unique_ptr<Compiler> make_nvrtc_compiler(std::span<const std::string> paths) {
  if (paths.empty()) return cached(std::make_unique<cuda::NvrtcCompiler>());
  std::map<std::int64_t, std::unique_ptr<Compiler>> by_version;
  std::int64_t first = 0;
  for (const std::string& path : paths) {
    cuda::Nvrtc nvrtc = cuda::open_nvrtc_at(path);
    const std::int64_t version = cuda::version_number(nvrtc);
    if (by_version.empty()) first = version;
    by_version.emplace(version, cached(std::make_unique<cuda::NvrtcCompiler>(std::move(nvrtc))));
  }
  return std::make_unique<SeveralCompilers>(std::move(by_version), first);
}
#endif

std::unique_ptr<Compiler> make_compiler(const std::string& backend,
                                        [[maybe_unused]] std::span<const std::string> nvrtc) {
  if (backend == kCpu) return cached(std::make_unique<cpu::HostCompiler>());
#if SMEMTUNE_CUDA_BUILD
  if (backend == kCuda) return make_nvrtc_compiler(nvrtc);
#endif
  throw UnavailableError(kNoCudaBuild);
}

std::unique_ptr<Launcher> make_launcher(const std::vector<std::string>& arguments) {
  const std::string& backend = arguments.at(1);
  if (backend == kCpu) {
    cpu::CpuOptions options;
    options.shuffle_threads = arguments.at(3) == kShuffle;
    if (arguments.at(3) == kBackground) lower_priority(kBackgroundNiceness);
    options.uuid = arguments.at(4);
    return std::make_unique<cpu::CpuLauncher>(published_device(arguments.at(2)), options);
  }
#if SMEMTUNE_CUDA_BUILD
  if (backend == kCuda) {
    const auto nvrtc = std::span(arguments).subspan(3);
    std::shared_ptr<Compiler> compiler =
        make_nvrtc_compiler(nvrtc.first(std::min<std::size_t>(nvrtc.size(), 1)));
    return std::make_unique<cuda::CudaLauncher>(
        cuda::select_device(cuda::cuda_devices(), arguments.at(2)), std::move(compiler));
  }
#endif
  throw UnavailableError(kNoCudaBuild);
}

}  // namespace

void add_limits_of(CLI::App& app, DeviceChoice& choice) {
  add_value(app, "--limits-of", choice.limits_of, "GPU whose limits the CPU device borrows", "NAME")
      ->capture_default_str();
}

void add_device(CLI::App& app, DeviceChoice& choice) {
  add_value(app, "--device", choice.device,
            "GPU by index, UUID or name; cpu [the first GPU; the CPU where there is none]", "NAME");
  add_limits_of(app, choice);
}

void add_nvrtc(CLI::App& app, DeviceChoice& choice) {
  add_repeatable(app, "--nvrtc", choice.nvrtc,
                 "Compile with this NVRTC, a library or a toolkit's folder; if repeated, the "
                 "search also chooses among them [the newest that is found]",
                 "PATH");
}

namespace {

std::vector<std::int64_t> nvrtc_versions([[maybe_unused]] std::span<const std::string> paths) {
  std::vector<std::int64_t> versions;
#if SMEMTUNE_CUDA_BUILD
  for (const std::string& path : paths) {
    versions.push_back(cuda::version_number(cuda::open_nvrtc_at(path)));
  }
#else
  if (!paths.empty()) throw UnavailableError(kNoCudaBuild);
#endif
  return versions;
}

}  // namespace

void offer_compilers(const DeviceChoice& choice, Space& space) {
  offer_compilers(choice, nvrtc_versions(choice.nvrtc), space);
}

void offer_compilers(const DeviceChoice& choice, const std::vector<std::int64_t>& versions,
                     Space& space) {
  for (auto version = versions.begin(); version != versions.end(); ++version) {
    const auto same = std::find(versions.begin(), version, *version);
    if (same == version) continue;
    const auto path = [&](auto its) {
      return choice.nvrtc[static_cast<std::size_t>(its - versions.begin())];
    };
    throw InputError("--nvrtc: " + path(same) + " and " + path(version) + " are both NVRTC " +
                     compiler_version_text(*version) + "; give one of each version");
  }
  if (versions.size() > 1) choose_among(space, versions);
}

std::vector<std::string> absolute_paths(std::span<const std::string> paths) {
  std::vector<std::string> absolute;
  for (const std::string& path : paths) absolute.push_back(fs::absolute(path).string());
  return absolute;
}

bool has_cuda() { return SMEMTUNE_CUDA_BUILD; }

ChosenDevices choose_devices(const DeviceChoice& choice,
                             const std::function<std::vector<Device>()>& present) {
  const bool by_default = choice.device.empty() && choice.devices.empty();
  if (choice.device == kCpu) return {.devices = {cpu_device(choice.limits_of)}, .notice = {}};
  if (choice.shuffle_threads) throw InputError("--shuffle-threads is for --device cpu");
  if (by_default && !gpu_seems_present()) {
    const Device device = cpu_device(choice.limits_of);
    return {.devices = {device},
            .notice = "*** No NVIDIA GPU here: tuning on the CPU device, with the limits of " +
                      device.limits_of +
                      ".\n*** Its times say nothing about a GPU; correctness does."};
  }
  if (!has_cuda()) {
    const std::string asked =
        choice.devices.empty() ? "--device " + choice.device : "--devices " + choice.devices;
    throw UnavailableError((by_default ? "there is an NVIDIA GPU, but " : asked + ": ") +
                           std::string(kNoCudaBuild));
  }
  std::vector<std::string> known = {kCpu};
  try {
    const std::vector<Device> gpus = present();
    for (const Device& gpu : gpus) known.push_back(gpu.name);
    if (!choice.devices.empty()) {
      return {.devices = select_gpus(gpus, choice.devices), .notice = {}, .present = gpus};
    }
    return {.devices = {select_gpu(gpus, choice.device)}, .notice = {}, .present = gpus};
  } catch (const UnavailableError& error) {
    throw UnavailableError(error.what() + suggested_device(choice.device, known));
  }
}

std::uint64_t compile_address_space([[maybe_unused]] int workers,
                                    [[maybe_unused]] std::uint64_t memory_bytes) {
#ifdef SMEMTUNE_SANITIZED
  return 0;
#else
  constexpr std::uint64_t kLeast = std::uint64_t{4} << 30;
  rlimit ours = {};
  if (getrlimit(RLIMIT_AS, &ours) != 0) return 0;
  return std::min<std::uint64_t>(
      ours.rlim_cur, std::max(kLeast, memory_bytes / 4 * 3 / static_cast<std::uint64_t>(workers)));
#endif
}

WorkerCommand workers_for(const DeviceChoice& choice, std::span<const Device> devices,
                          std::size_t share) {
  const std::string backend = devices.front().kind == DeviceKind::cpu ? kCpu : kCuda;
  if (!choice.nvrtc.empty() && backend == kCpu) {
    throw InputError("--nvrtc: the CPU device's kernels are compiled by the host compiler");
  }
  const std::vector<std::string> nvrtc = absolute_paths(choice.nvrtc);
  WorkerCommand command;
  command.compile = worker_words("compile", backend);
  std::ranges::copy(nvrtc, std::back_inserter(command.compile));
  for (const Device& device : devices) {
    command.devices.push_back(worker_words("device", backend));
    for (std::string& word : device_words(choice, device)) {
      command.devices.back().push_back(std::move(word));
    }
    std::ranges::copy(nvrtc, std::back_inserter(command.devices.back()));
  }
  command.known_devices.assign(devices.begin(), devices.end());
  const int workers = worker_count(choice.compile_workers);
  command.compile_address_space = compile_address_space(workers, usable_memory_bytes());
  command.compile_workers = std::max(1, workers / static_cast<int>(share));
  return command;
}

void start_when_needed(WorkerCommand& command, const DeviceChoice& choice) {
  const bool on_cpu = command.known_devices.front().kind == DeviceKind::cpu;
  const auto compiler = make_compiler(on_cpu ? kCpu : kCuda, absolute_paths(choice.nvrtc));
  command.known_compiler = {.version = compiler->version(), .sha256 = compiler->sha256()};
}

HostHello describe_host(const HostWelcome& welcome) {
  HostHello hello = {.cores = usable_cores(),
                     .memory_bytes = usable_memory_bytes(),
                     .gpus = {},
                     .why_no_gpu = {},
                     .cpu = cpu_device(welcome.limits_of),
                     .compilers = {},
                     .lacking = {},
                     .nvrtc_versions = {}};
  hello.cpu.uuid = welcome.name;
#if SMEMTUNE_CUDA_BUILD
  if (gpu_seems_present()) {
    cuda::GpusHere here = cuda::find_gpus();
    hello.gpus = std::move(here.gpus);
    hello.why_no_gpu = std::move(here.why_none);  // It can compile nevertheless.
  }
#endif
  for (const char* const backend : {kCuda, kCpu}) {
    try {
      const std::unique_ptr<Compiler> compiler = make_compiler(backend, welcome.nvrtc);
      hello.compilers[backend] = {.version = compiler->version(), .sha256 = compiler->sha256()};
    } catch (const Error& error) {
      hello.lacking[backend] = error.what();
    }
  }
  if (hello.compilers.contains(kCuda)) hello.nvrtc_versions = nvrtc_versions(welcome.nvrtc);
  return hello;
}

WorkerCommand compile_workers_for(const DeviceChoice& choice, const Device& device) {
  if (device.kind == DeviceKind::gpu && !has_cuda()) throw UnavailableError(kNoCudaBuild);
  WorkerCommand command = workers_for(choice, {&device, 1});
  command.devices.clear();
  command.known_devices.clear();
  return command;
}

std::shared_ptr<WorkerPool> start_workers(WorkerCommand command, const std::atomic<bool>* stop) {
  return {new WorkerPool(std::move(command), stop), [](WorkerPool* pool) {
            delete pool;
            remove_abandoned_folders();
          }};
}

WorkerCommand background_workers(const Device& cpu) {
  DeviceChoice choice;
  choice.compile_workers = 1;
  choice.in_background = true;
  return workers_for(choice, {&cpu, 1});
}

CpuBeside cpu_beside(const Device& gpu) {
  // The device's limits decide what is valid; those that its worker is given do not matter.
  CpuBeside beside = {.device = cpu::cpu_device(gpu), .start = {}};
  beside.start = [device = beside.device] { return start_workers(background_workers(device)); };
  return beside;
}

DeviceUse device_use(const Device& device) {
#if SMEMTUNE_CUDA_BUILD
  if (device.kind == DeviceKind::gpu) {
    DeviceUse use = cuda::gpu_use(device.uuid).value_or(DeviceUse{});
    // A program that uses the GPU and has started this one, such as Python, waits for it.
    std::erase_if(use.processes, [](const DeviceProcess& one) { return one.id == getppid(); });
    return use;
  }
#else
  (void)device;
#endif
  return {};
}

int run_worker(const std::vector<std::string>& arguments) {
  const auto descriptor = worker_descriptor();
  if (!descriptor || arguments.size() < 2) {
    throw InputError("__worker is how smemtune starts its own workers, not a command");
  }
  // The name in ps and top, because the path says `exe`. It cannot fail.
  prctl(PR_SET_NAME, "smemtune");
  if (arguments.front() == "compile") {
    return compile_worker_main(
        [&] { return make_compiler(arguments.at(1), std::span(arguments).subspan(2)); },
        *descriptor);
  }
  return device_worker_main([&] { return make_launcher(arguments); }, *descriptor);
}

void launch_alone(const DeviceChoice& choice, const Device& device, const CompileRequest& request,
                  const KernelInstance& instance, std::uint64_t seed) {
  const bool on_cpu = device.kind == DeviceKind::cpu;
  const Outcome<CompiledKernel> compiled =
      make_compiler(on_cpu ? kCpu : kCuda, choice.nvrtc)->compile(request);
  if (!compiled) throw InputError("it does not compile: " + compiled.failure().detail);
  if (!on_cpu) {
#if SMEMTUNE_CUDA_BUILD
    cuda::launch_once(cuda::select_device(cuda::cuda_devices(), device.uuid), *compiled,
                      instance.launches, instance.arguments, seed);
#endif
    return;
  }
  cpu::CpuLauncher launcher(published_device(choice.limits_of));
  const auto prepared = launcher.prepare(0, {.arguments = instance.arguments, .seed = seed});
  if (!prepared) throw InputError(prepared.failure().detail);
  const auto loaded = launcher.load(-1, *compiled, instance.launches, instance.arguments);
  if (!loaded) throw InputError(loaded.failure().detail);
  const auto ran = launcher.run(
      loaded->handle, {.workload = 0, .as_reference = true, .tolerance = {}, .download = {}});
  if (!ran) throw InputError(ran.failure().detail);
}

std::vector<Device> present_gpus() {
#if SMEMTUNE_CUDA_BUILD
  return cuda::cuda_devices();
#else
  throw UnavailableError(kNoCudaBuild);
#endif
}

Device cpu_device(const std::string& limits_of) {
  return cpu::cpu_device(published_device(limits_of));
}

}  // namespace smemtune::cli
