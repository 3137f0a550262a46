#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/launcher.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// Returns the failure of a kernel whose arguments do not fit.
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
  std::vector<Turn> turns;  ///< The launches in the order, and as often, as they run.
  std::vector<Argument> arguments;
  std::vector<Constant> constants;
  std::uint64_t constants_of = 0;  ///< Number of the workload whose constants the module holds.
  double clock_mhz = 0;            ///< Highest median clock that it ran at; 0 before it is timed.
  bool is_settled = false;         ///< True if launching it allocates no local memory any more.
  bool was_compared_last = false;  ///< True if that launch of the last batch was compared.
  double run_ms = 0;               ///< Time of its last checked run; 0 if there was none.
  std::set<std::uint64_t> met;     ///< Keys of the data sets that its timed launches had.
};

/// Loads the module and finds functions and symbols in it. Throws Error for an entry or symbol that
/// was not compiled.
Outcome<std::unique_ptr<CudaKernel>> load_kernel(const Driver& driver,
                                                 const CompiledKernel& compiled,
                                                 const std::vector<LaunchShape>& launches,
                                                 const std::vector<Argument>& arguments);

/// Opts in to the dynamic shared memory that each launch asks for. Failure `runtime`,
/// `shared_bytes` if the device has less.
std::optional<Failure> allow_shared_memory(const Driver& driver, const CudaKernel& kernel,
                                           const Device& device);

/// Checks that the GPU can hold a cluster of each launch. Failure `constraints`, `occupancy` if
/// not.
std::optional<Failure> exceeds_clusters(const Driver& driver, const CudaKernel& kernel);

/// Returns the driver's data on each launch. The caller sets the handle.
LoadedKernel describe(const Driver& driver, const CudaKernel& kernel);

}  // namespace smemtune::cuda
