#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/device_use.h"
#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/space.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/tuning_request.h"
#include "tuner/engine/worker_pool.h"

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cli {

/// The devices that a run uses, as given by the options.
struct DeviceChoice {
  std::string device;              ///< `--device`: index, UUID, name or `cpu`; empty: the default.
  std::string devices;             ///< `--devices`: `all` or a list; empty: see `device`.
  std::string limits_of = "h200";  ///< `--limits-of`: the GPU whose limits the CPU device borrows.
  bool shuffle_threads = false;    ///< `--shuffle-threads`: only for the CPU device.
  bool in_background = false;      ///< The CPU device yields to everything else.
  std::uint64_t compile_workers = 0;  ///< `--jobs`; 0: one per core.
  std::string hosts;                  ///< `--hosts`: names, or `slurm`; empty: only this machine.
  std::string host_program;           ///< `--host-program`: path of smemtune on the hosts.
  /// `--nvrtc`: libraries or folders; empty: the one that is found.
  std::vector<std::string> nvrtc;
};

/// Adds --device and --limits-of, for commands that measure.
void add_device(CLI::App& app, DeviceChoice& choice);

/// Adds --limits-of.
void add_limits_of(CLI::App& app, DeviceChoice& choice);

/// Adds --nvrtc.
void add_nvrtc(CLI::App& app, DeviceChoice& choice);

/// Lets the search choose among the NVRTC libraries if several are given (core/compiler_options.h).
/// Throws InputError for a path without NVRTC, and for two libraries of the same version.
void offer_compilers(const DeviceChoice& choice, Space& space);

/// Does the same for libraries on other hosts. `versions`: one for each of DeviceChoice::nvrtc.
void offer_compilers(const DeviceChoice& choice, const std::vector<std::int64_t>& versions,
                     Space& space);

/// Returns the paths in a form that is valid in every process, whatever its working directory.
std::vector<std::string> absolute_paths(std::span<const std::string> paths);

/// The devices to use.
struct ChosenDevices {
  std::vector<Device> devices;  ///< At least one; distinct boards.
  std::string notice;           ///< A prominent notice why the CPU device is used; empty otherwise.
  std::vector<Device> present = {};  ///< All GPUs among which it was chosen.
};

/// Returns the GPUs of this machine. Throws UnavailableError saying what is missing.
std::vector<Device> present_gpus();

/// Returns the requested devices; by default the first GPU, or the CPU device if the machine has no
/// NVIDIA device at all. Starts no process and creates no CUDA context. Throws UnavailableError if
/// a device or its back end is missing. `present`, which returns the GPUs that are here, is only
/// called where a GPU is wanted.
ChosenDevices choose_devices(const DeviceChoice& choice,
                             const std::function<std::vector<Device>()>& present = present_gpus);

/// Returns how to start the workers for units of one model. `share`: the number of models that are
/// tuned at once and share the cores.
WorkerCommand workers_for(const DeviceChoice& choice, std::span<const Device> devices,
                          std::size_t share = 1);

/// Lets the workers of this machine, whose devices are known, start when something is to be compiled.
/// Finds out here which compiler they will have; throws UnavailableError if there is none.
void start_when_needed(WorkerCommand& command, const DeviceChoice& choice);

/// Returns the address space limit of one compile worker: an equal share of most of the memory. A
/// compile that grows without bound, as templates and unrolled loops can, then fails by itself
/// without exhausting the machine.
std::uint64_t compile_address_space(int workers, std::uint64_t memory_bytes);

/// Returns what this machine offers to a parent on another one.
HostHello describe_host(const HostWelcome& welcome);

/// Returns how to start compile workers only, for a device that need not be present (`--dry-run`).
WorkerCommand compile_workers_for(const DeviceChoice& choice, const Device& device);

/// Starts workers. When they end, nothing of theirs remains in the folder for temporary files, even
/// if they had to be killed. Throws like WorkerPool.
std::shared_ptr<WorkerPool> start_workers(WorkerCommand command,
                                          const std::atomic<bool>* stop = nullptr);

/// Returns the workers of a CPU device beside a GPU, which yield to those of the run.
WorkerCommand background_workers(const Device& cpu);

/// Returns this machine's CPU device, with the limits of that GPU, for checks beside GPUs of its
/// model.
CpuBeside cpu_beside(const Device& gpu);

/// Returns which processes use the device now, except the one that has started this one; empty if
/// that is unknown.
DeviceUse device_use(const Device& device);

/// Runs a worker process: `smemtune __worker compile|device BACKEND ...`. `arguments`: those after
/// `__worker`. Returns the exit status of the process.
int run_worker(const std::vector<std::string>& arguments);

/// Returns the CPU device with the limits of the GPU `limits_of`.
Device cpu_device(const std::string& limits_of);

/// Compiles, fills the arguments' buffers, launches once and waits, all in this process: without
/// workers, checks or kernels of ours, so that a profiler sees only this launch. Throws InputError
/// if the kernel does not compile or run, UnavailableError if the device is missing.
void launch_alone(const DeviceChoice& choice, const Device& device, const CompileRequest& request,
                  const KernelInstance& instance, std::uint64_t seed);

/// Returns true if this build has the CUDA back end.
bool has_cuda();

}  // namespace smemtune::cli
