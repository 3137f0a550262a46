#pragma once

#include "tuner/core/device.h"
#include "tuner/engine/tuning_loop.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

/// Which device a run uses, as the options have it.
struct DeviceChoice {
  std::string device;                 ///< `--device`: index, UUID, name, `cpu`; empty: the default.
  std::string limits_of = "h200";     ///< `--limits-of`: whose limits the CPU device borrows.
  bool shuffle_threads = false;       ///< `--shuffle-threads`: the CPU device only.
  std::uint64_t compile_workers = 0;  ///< `--jobs`; 0: one per core.
};

/// A device that was decided on, and how its workers are started.
struct Workers {
  WorkerCommand command;
  DeviceKind kind = DeviceKind::gpu;
  std::string notice;  ///< To be said loudly: why the CPU device is used. Empty otherwise.
};

/// Decides: what was asked for; else the first GPU; else, where the machine has no NVIDIA device at
/// all, the CPU device. Starts nothing. Throws UnavailableError when that back end is not in this
/// build.
Workers choose_workers(const DeviceChoice& choice);

/// Compile workers alone, for a device that need not be here (`--dry-run`).
Workers choose_compile_workers(const DeviceChoice& choice, const Device& device);

/// What runs as a worker process: `smemtune __worker compile|device BACKEND ...`. Never returns to
/// the command line. `arguments` are those after `__worker`.
int run_worker(const std::vector<std::string>& arguments);

/// The GPUs of this machine. Throws UnavailableError saying what is missing.
std::vector<Device> present_gpus();

/// The CPU device, with the limits of `limits_of`.
Device cpu_device(const std::string& limits_of);

/// Whether this build has the CUDA back end.
bool has_cuda();

}  // namespace smemtune::cli
