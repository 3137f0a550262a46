#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cuda/device_buffer.h"
#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/handles.h"
#include "tuner/backend/cuda/stopwatch.h"
#include "tuner/backend/launcher.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// Runs kernels on one NVIDIA GPU, in its primary context, from one thread. After a failure with
/// context_lost nothing works any more and the process must end.
class CudaLauncher final : public Launcher {
 public:
  /// `index` is that of cuda_devices(). `compiler` is used here only, for the kernels that check
  /// and time. Sets CUDA_MODULE_LOADING, so that no kernel is loaded while one is timed. Throws
  /// UnavailableError.
  CudaLauncher(int index, Compiler& compiler);
  ~CudaLauncher() override;
  CudaLauncher(const CudaLauncher&) = delete;
  CudaLauncher& operator=(const CudaLauncher&) = delete;
  CudaLauncher(CudaLauncher&&) = delete;
  CudaLauncher& operator=(CudaLauncher&&) = delete;

  Device device() const override { return device_; }
  Outcome<std::int64_t> prepare(WorkloadId id, const Workload& workload) override;
  Outcome<LoadedKernel> load(KernelHandle handle, const CompiledKernel& compiled,
                             const std::vector<LaunchShape>& launches,
                             const std::vector<Argument>& arguments) override;
  Outcome<RunReport> run(KernelHandle handle, const RunRequest& request) override;
  Outcome<TimeReport> time(KernelHandle handle, const TimeRequest& request) override;

 private:
  struct Prepared;  // A workload on the device.
  struct Kernel;    // A module, its launches and their arguments.
  struct Bound;     // A kernel's launches with the addresses of a workload's buffers.
  struct Sampling;  // How a kernel's launches are timed.

  Prepared& workload(WorkloadId id);
  Kernel& kernel(KernelHandle handle);
  void drop_copies();
  Transfers time_transfers(const Bound& bound) const;

  Outcome<std::unique_ptr<Kernel>> make_kernel(const CompiledKernel& compiled,
                                               const std::vector<LaunchShape>& launches,
                                               const std::vector<Argument>& arguments);
  Outcome<LoadedKernel> describe(const Kernel& kernel) const;
  Outcome<Bound> bind(Kernel& kernel, Prepared& prepared);
  std::optional<Failure> enqueue(const Bound& bound, std::size_t copy) const;
  std::optional<Mismatch> findings(const Bound& bound, const Prepared& prepared,
                                   const RunRequest& request, RunReport& report) const;
  Sampling plan(Bound& bound, const TimeRequest& request, int launches);
  std::size_t provide_copies(Bound& bound, std::size_t wanted);
  Outcome<Interval> sample(const Bound& bound, const TimeRequest& request,
                           const Sampling& sampling);
  void pause(double gap_ms);

  Device device_;
  Driver driver_;
  Stream stream_;
  std::unique_ptr<const DeviceKernels> device_kernels_;
  std::unique_ptr<Stopwatch> stopwatch_;
  std::map<WorkloadId, std::unique_ptr<Prepared>> workloads_;
  std::map<KernelHandle, std::unique_ptr<Kernel>> kernels_;
  // Scratch buffers hold nothing from one run to the next, so all kernels share them: the i-th of a
  // kernel lies in the i-th here, which has the size of the largest.
  std::vector<std::vector<GuardedMemory>> scratch_;
  std::uint64_t generation_ = 0;    ///< Counts prepared workloads.
  double reference_clock_mhz_ = 0;  ///< The highest seen; 0 before the warm-up.
  double busy_ms_ = 0;              ///< Timed work since the last pause.
};

}  // namespace smemtune::cuda
