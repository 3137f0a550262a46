#pragma once

#include "tuner/backend/fake/script_test_support.h"
#include "tuner/backend/launcher.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace smemtune::fake {

/// Returns a device that does not exist, with limits like those of an sm_90 GPU. `unit`: which of
/// several boards.
Device fake_device(int unit = 0);

/// Behaves as scripts say (script_test_support.h). Faults in `load`, `run` and `time` strike here. Besides the
/// faults of processes there are `error` (a launch that fails), `device_memory`, `context_lost`,
/// and wrong results, in `run` and in timed launches: `mismatch`, `nan`, `unwritten`, `overrun`,
/// `input_modified`.
class FakeLauncher final : public Launcher {
 public:
  /// `seed`: seed of noise and drift. `reply_descriptor`: where the fault `garbage` writes. `unit`:
  /// the UNIT of scripts.
  explicit FakeLauncher(std::uint64_t seed = 1, int reply_descriptor = -1, int unit = 0)
      : seed_(seed), reply_descriptor_(reply_descriptor), unit_(unit) {}

  /// Loading more kernels than this fails with `device_memory`, so that a caller that never unloads
  /// is found.
  static constexpr std::size_t kMaxLoaded = 160;

  Device device() const override { return fake_device(unit_); }
  Outcome<std::int64_t> prepare(WorkloadId id, const Workload& workload) override;
  Outcome<LoadedKernel> load(KernelHandle handle, const CompiledKernel& compiled,
                             const std::vector<LaunchShape>& launches,
                             const std::vector<Argument>& arguments) override;
  std::vector<std::uint8_t> contents(WorkloadId id, const std::string& argument) override;
  Outcome<RunReport> run(KernelHandle handle, const RunRequest& request) override;
  Outcome<LookReport> look(KernelHandle handle, WorkloadId id, double seconds) override;
  Outcome<FactsReport> count(KernelHandle handle, WorkloadId id) override;
  Outcome<FactsReport> energy(KernelHandle handle, WorkloadId id, double seconds) override;
  std::vector<std::uint8_t> kept_elements(WorkloadId id, const std::string& output,
                                          std::span<const std::int64_t> at) override;
  Outcome<bool> draw_data(KernelHandle reference, WorkloadId id) override;
  Outcome<TimeReport> time(KernelHandle handle, const TimeRequest& request) override;

  std::size_t loaded() const { return loaded_.size(); }
  std::size_t prepared() const { return workloads_.size(); }

 private:
  struct Loaded {
    std::string name;  ///< Name of the configuration: entry and options.
    Script script;
    Bindings bindings;
    std::vector<LaunchShape> launches;
  };

  const Loaded& loaded_kernel(KernelHandle handle) const;
  Bindings bindings_for(const Loaded& kernel, const Workload& workload);
  const Workload& workload(WorkloadId id) const;
  static std::optional<Mismatch> wrong_result(const std::optional<std::string>& fault);
  std::optional<Failure> strike(const std::string& fault) const;
  void compute(const Loaded& kernel, const Workload& workload, const RunRequest& request,
               RunReport& report) const;
  double sample_ms(const Loaded& kernel, const Bindings& bindings, TimeReport& report);
  double undisturbed_ms(const Loaded& kernel, const Bindings& bindings);
  static std::vector<double> times_of_launches(const Loaded& kernel, double all_ms);

  std::uint64_t seed_;
  int reply_descriptor_;
  int unit_;
  std::map<WorkloadId, Workload> workloads_;
  std::map<KernelHandle, Loaded> loaded_;
  std::map<WorkloadId, Loaded> references_;  ///< Kernels whose outputs are kept.
  KernelHandle last_handle_ = 0;
  std::map<std::string, std::int64_t> runs_;
  std::map<std::string, std::int64_t> times_;
  std::uint64_t samples_ = 0;
};

}  // namespace smemtune::fake
