#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/handles.h"
#include "tuner/backend/launcher.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// The argument of this name, or nullptr.
const Argument* find_argument(const std::vector<Argument>& arguments, const std::string& name);

/// For a kernel whose arguments do not fit.
Failure argument_failure(std::string detail);

/// A kernel that is loaded on the device.
struct CudaKernel {
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
  std::vector<Turn> turns;  ///< The launches as often and in the order as they are done.
  std::vector<Argument> arguments;
  std::vector<Constant> constants;
  std::uint64_t constants_of = 0;  ///< Number of the workload whose constants it holds.
  double clock_mhz = 0;            ///< The highest median clock that it ran at; 0: not timed yet.
  bool was_launched = false;
  bool was_compared_last = false;  ///< The last launch of a batch was compared.
  double run_ms = 0;               ///< What its last checked run took; 0: there was none.
  std::set<std::uint64_t> met;     ///< Keys of the data sets that its timed launches met.
};

/// Loads the module and finds functions and symbols in it. Throws Error for what was not compiled.
Outcome<std::unique_ptr<CudaKernel>> load_kernel(const Driver& driver,
                                                 const CompiledKernel& compiled,
                                                 const std::vector<LaunchShape>& launches,
                                                 const std::vector<Argument>& arguments);

/// Opts in to the dynamic shared memory that each launch asks for. Failure `runtime`,
/// `shared_bytes` where the device has less.
std::optional<Failure> allow_shared_memory(const Driver& driver, const CudaKernel& kernel,
                                           const Device& device);

/// Whether the GPU can hold a cluster of each launch. Failure `constraints`, `occupancy`.
std::optional<Failure> exceeds_clusters(const Driver& driver, const CudaKernel& kernel);

/// What the driver says of each launch. The handle is left to the caller.
LoadedKernel describe(const Driver& driver, const CudaKernel& kernel);

}  // namespace smemtune::cuda
