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
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cli {

/// Which device a run uses, as the options have it.
struct DeviceChoice {
  std::string device;                 ///< `--device`: index, UUID, name, `cpu`; empty: the default.
  std::string devices;                ///< `--devices`: `all`, or several; empty: see `device`.
  std::string limits_of = "h200";     ///< `--limits-of`: whose limits the CPU device borrows.
  bool shuffle_threads = false;       ///< `--shuffle-threads`: the CPU device only.
  std::uint64_t compile_workers = 0;  ///< `--jobs`; 0: one per core.
  std::string hosts;                  ///< `--hosts`: names, or `slurm`; empty: this machine alone.
  std::string host_program;           ///< `--host-program`: smemtune's path on the hosts.
  std::vector<std::string> nvrtc;     ///< `--nvrtc`: libraries or folders; empty: the one found.
};

/// Adds --device and --limits-of, for commands that measure.
void add_device(CLI::App& app, DeviceChoice& choice);

/// Adds --nvrtc.
void add_nvrtc(CLI::App& app, DeviceChoice& choice);

/// Lets the search choose among several NVRTC libraries (core/compiler_choice.h), where several are
/// given. Throws InputError for a path without NVRTC and for two of one version.
void offer_compilers(const DeviceChoice& choice, Space& space);

/// The same of libraries on other hosts. `versions`: of each of DeviceChoice::nvrtc.
void offer_compilers(const DeviceChoice& choice, const std::vector<std::int64_t>& versions,
                     Space& space);

/// As every process understands them, whatever its folder.
std::vector<std::string> absolute_paths(std::span<const std::string> paths);

/// The devices that were decided on.
struct ChosenDevices {
  std::vector<Device> devices;  ///< At least one; different boards.
  std::string notice;           ///< To be said loudly: why the CPU device is used. Empty otherwise.
};

/// Decides: what was asked for; else the first GPU; else, where the machine has no NVIDIA device at
/// all, the CPU device. Starts nothing and makes no CUDA context. Throws UnavailableError when a
/// device or its back end is missing.
ChosenDevices choose_devices(const DeviceChoice& choice);

/// How the workers for units of one model are started. `share`: how many models are tuned at once
/// and share the cores.
WorkerCommand workers_for(const DeviceChoice& choice, std::span<const Device> devices,
                          std::size_t share = 1);

/// An even part of most of the memory, for a compile worker: one compile that grows without end, as
/// templates and unrolled loops can, ends by itself and not with the machine.
std::uint64_t compile_address_space(int workers, std::uint64_t memory_bytes);

/// What this machine has, for a parent on another one.
HostHello describe_host(const HostWelcome& welcome);

/// Compile workers alone, for a device that need not be here (`--dry-run`).
WorkerCommand compile_workers_for(const DeviceChoice& choice, const Device& device);

/// Starts workers. Their end leaves nothing in the folder for temporary files, also where they had
/// to be killed. Throws as WorkerPool does.
std::shared_ptr<WorkerPool> start_workers(WorkerCommand command,
                                          const std::atomic<bool>* stop = nullptr);

/// This machine's CPU device beside GPUs of that model, with their limits.
CpuBeside cpu_beside(const Device& gpu);

/// Who uses a device now. Nobody where that cannot be known.
DeviceUse device_use(const Device& device);

/// What runs as a worker process: `smemtune __worker compile|device BACKEND ...`. Never returns to
/// the command line. `arguments` are those after `__worker`.
int run_worker(const std::vector<std::string>& arguments);

/// The GPUs of this machine. Throws UnavailableError saying what is missing.
std::vector<Device> present_gpus();

/// The CPU device, with the limits of `limits_of`.
Device cpu_device(const std::string& limits_of);

/// Compiles, fills the arguments' buffers, launches once and waits, all in this process: no worker,
/// no check and no kernel of ours, so that a profiler sees nothing else. Throws InputError when it
/// does not compile or run, UnavailableError when the device is missing.
void launch_alone(const DeviceChoice& choice, const Device& device, const CompileRequest& request,
                  const KernelInstance& instance, std::uint64_t seed);

/// Whether this build has the CUDA back end.
bool has_cuda();

}  // namespace smemtune::cli
