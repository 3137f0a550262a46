#pragma once

#include "tuner/backend/cpu/block_runner.h"
#include "tuner/backend/cpu/buffers.h"
#include "tuner/backend/cpu/module.h"
#include "tuner/backend/cpu/processor.h"
#include "tuner/backend/launcher.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::cpu {

struct CpuOptions {
  int threads = 0;               ///< OS threads that run blocks; 0: one per core.
  bool shuffle_threads = false;  ///< Run the threads of a block in an order from this seed...
  std::uint64_t seed = 0;        ///< ... instead of ascending.
  std::string uuid = {};         ///< The device's UUID, for several hosts that have one each.
};

/// Returns this machine's cores as a device, with the limits of a GPU.
Device cpu_device(const Device& limits);

/// Runs kernels that a HostCompiler compiled on this machine's cores, block by block.
///
/// A checked run launches twice: first code in which each memory access is checked, which finds the
/// faulty thread (reasons `overrun`, `shared_overrun`, `uninitialized_shared`, `array_bounds`,
/// `race`, `input_modified`, `unreached_barrier`, `warp_mask` with status `correctness`;
/// `misaligned`, `trap`, `assert`, `illegal_address`, `stack_overflow`, `division_by_zero` with
/// status `runtime`), then the code that is timed, whose results are compared.
///
/// Times are those of all cores together: the sum over the launches of a sample, between which
/// buffers are filled anew. A cold sample begins with caches that hold other data; of several
/// launches in a sample only the first is cold. resources.static_shared_bytes is known, all other
/// resources are 0.
class CpuLauncher final : public Launcher {
 public:
  explicit CpuLauncher(const Device& limits, const CpuOptions& options = {});

  Device device() const override { return device_; }
  Outcome<std::int64_t> prepare(WorkloadId id, const Workload& workload) override;
  Outcome<LoadedKernel> load(KernelHandle handle, const CompiledKernel& compiled,
                             const std::vector<LaunchShape>& launches,
                             const std::vector<Argument>& arguments) override;
  std::vector<std::uint8_t> contents(WorkloadId workload, const std::string& argument) override;
  Outcome<RunReport> run(KernelHandle handle, const RunRequest& request) override;
  Outcome<bool> draw_data(KernelHandle reference, WorkloadId id) override;
  std::vector<KeptOutput> kept(WorkloadId workload) override;
  std::vector<std::uint8_t> kept_elements(WorkloadId workload, const std::string& output,
                                          std::span<const std::int64_t> at) override;
  Outcome<RunReport> compare(KernelHandle handle, const RunRequest& request,
                             const std::vector<Edit>& edits) override;
  Outcome<TimeReport> time(KernelHandle handle, const TimeRequest& request) override;
  Outcome<LookReport> look(KernelHandle handle, WorkloadId workload, double seconds) override;

 private:
  using Scalars = std::map<std::string, std::vector<std::uint8_t>>;
  struct Kernel {
    std::shared_ptr<Module> fast;
    std::shared_ptr<Module> checked;
    std::vector<LaunchShape> launches;
    std::vector<std::string> lowered_names;  ///< Lowered names of the launches' entries.
    std::vector<Turn> turns;
    /// Bytes of the arguments that are passed by value, which may differ from other
    /// configurations'.
    Scalars scalars;
    /// The same for each turn, for scalars that change from turn to turn.
    std::vector<Scalars> scalars_of_turns;
    std::map<std::string, Argument> structs;     ///< Structs that are made of other arguments.
    std::map<std::string, std::string> symbols;  ///< Lowered names of arguments in constant memory.
    std::set<std::string> textures;              ///< Arguments that are passed as textures.
    std::vector<Argument> scratch;  ///< Buffers whose size may differ from other configurations'.
    std::set<std::uint64_t> met = {};  ///< Keys of the data sets that its timed launches had.
  };

  /// The buffers of a workload, and the data drawn for timed launches on them.
  struct Prepared {
    explicit Prepared(Workload of)
        : workload(std::move(of)), buffers(std::make_unique<Buffers>(workload)) {}

    Workload workload;
    std::unique_ptr<Buffers> buffers;
    std::deque<DataSet> data_sets = {};  ///< Oldest first.
  };

  struct Wanted {
    bool cold = false;
    bool compared = false;
    bool own_data = false;  ///< Use the workload's data, not data that the kernel has not seen.
  };
  /// The result of a timed launch.
  struct Timed {
    double elapsed_ms = 0;
    std::optional<Mismatch> mismatch = std::nullopt;
  };

  /// The state of launches whose blocks are run for a limited time.
  struct Look {
    std::chrono::steady_clock::time_point until;
    std::atomic<std::uint64_t> blocks = 0;  ///< Blocks that were run.
  };

  Prepared& prepared(WorkloadId id);
  /// Same, with scratch of the sizes that the kernel wants.
  Prepared& prepared(WorkloadId id, const Kernel& kernel);
  Buffers& buffers_of(WorkloadId id) { return *prepared(id).buffers; }
  Kernel& kernel_of(KernelHandle handle);
  std::optional<Failure> check_launch(const Kernel& kernel, const LaunchShape& launch,
                                      const std::string& lowered_name,
                                      const std::vector<Argument>& arguments) const;
  static void* kernel_argument(const Kernel& kernel, const Scalars& own, const std::string& name,
                               Buffers& buffers, std::deque<std::vector<std::uint8_t>>& structs);
  static std::size_t bytes_of_argument(const Kernel& kernel, const Scalars& own,
                                       const std::string& name);
  static void set_holders(const Kernel& kernel, Buffers& buffers);
  std::optional<Failure> fill_symbols(const Kernel& kernel, Module& module, const Buffers& buffers);
  std::optional<Failure> launch_all(const Kernel& kernel, Module& module, Buffers& buffers,
                                    const std::function<void()>& before_turn = {},
                                    Look* look = nullptr);
  static const DataSet* choose(Kernel& kernel, const Prepared& on);
  Outcome<Timed> timed_launch(Kernel& kernel, Prepared& on, const TimeRequest& request,
                              Wanted wanted, const std::function<void()>& mark = {});
  Outcome<Timed> sample(Kernel& kernel, Prepared& on, const TimeRequest& request, int launches);
  std::optional<Failure> plan(Kernel& kernel, Prepared& on, const TimeRequest& request,
                              TimeReport& report);
  Outcome<TimeReport> time_launches(Kernel& kernel, Prepared& on, const TimeRequest& request);
  std::optional<Failure> launch(const Grid& grid, Look* look = nullptr);
  void flush_caches(const Buffers& buffers);

  Device device_;
  CpuOptions options_;
  ThreadPool pool_;
  std::vector<std::unique_ptr<BlockRunner>> runners_;  ///< One for each of the pool's threads.
  std::map<WorkloadId, std::unique_ptr<Prepared>> workloads_;
  std::map<KernelHandle, Kernel> kernels_;
  std::vector<unsigned char> flushed_;
};

}  // namespace smemtune::cpu
