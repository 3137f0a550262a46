#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/buffer_check.h"
#include "tuner/backend/cuda/counters.h"
#include "tuner/backend/cuda/cuda_kernel.h"
#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/kernel_timer.h"
#include "tuner/backend/cuda/prepared_workload.h"
#include "tuner/backend/launcher.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace smemtune::cuda {

/// Runs kernels on one NVIDIA GPU, in its primary context, from one thread. After a failure with
/// context_lost nothing works any more and the process must end.
class CudaLauncher final : public Launcher {
 public:
  /// `index` is an index into cuda_devices(). `compiler`: for the kernels that check and
  /// time, which the first launch waits for. Sets CUDA_MODULE_LOADING, so that no kernel is loaded
  /// while one is timed. Throws UnavailableError.
  CudaLauncher(int index, const std::shared_ptr<Compiler>& compiler);
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
  std::vector<std::uint8_t> contents(WorkloadId id, const std::string& argument) override;
  Outcome<RunReport> run(KernelHandle handle, const RunRequest& request) override;
  Outcome<bool> draw_data(KernelHandle reference, WorkloadId id) override;
  std::vector<KeptOutput> kept(WorkloadId id) override;
  std::vector<std::uint8_t> kept_elements(WorkloadId id, const std::string& output,
                                          std::span<const std::int64_t> at) override;
  Outcome<RunReport> compare(KernelHandle handle, const RunRequest& request,
                             const std::vector<Edit>& edits) override;
  void warm_up() override;
  Outcome<TimeReport> time(KernelHandle handle, const TimeRequest& request) override;
  Outcome<FactsReport> count(KernelHandle handle, WorkloadId id) override;
  Outcome<FactsReport> energy(KernelHandle handle, WorkloadId id, double seconds) override;

 private:
  PreparedWorkload& workload(WorkloadId id);
  CudaKernel& kernel(KernelHandle handle);
  bool make_room(PreparedWorkload& workload, const std::vector<DeviceBuffer*>& buffers);
  Facts energy_of(CudaKernel& kernel, BoundKernel& bound, const PreparedWorkload& prepared,
                  double seconds);
  std::vector<Facts> count_launches(const BoundKernel& bound, const PreparedWorkload& prepared);
  std::optional<Failure> launch(CudaKernel& kernel, const BoundKernel& bound, RunReport& report);

  Device device_;
  Driver driver_;
  Stream stream_;
  std::unique_ptr<const DeviceKernels> device_kernels_;
  std::unique_ptr<ContentsWriter> writer_;
  std::unique_ptr<Refiller> refiller_;
  Findings findings_;
  std::unique_ptr<KernelTimer> timer_;
  PreparedWorkload::Map workloads_;
  std::map<KernelHandle, std::unique_ptr<CudaKernel>> kernels_;
  ScratchPool scratch_;
  std::uint64_t workloads_so_far_ = 0;
  std::unique_ptr<const Counters> counters_;  ///< Opened when it is first asked for.
  std::optional<double> idle_watts_;          ///< Measured before energy is, once.
};

}  // namespace smemtune::cuda
