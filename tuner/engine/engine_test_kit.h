#pragma once

#include "tuner/core/result_log.h"
#include "tuner/core/space.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/engine/tuning_loop.h"

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::test {

/// What the test executable is called with to be a worker: itself, and one of these.
constexpr const char* kCompileWord = "__compile";
constexpr const char* kDeviceWord = "__device";
/// Or, with the name of a folder, a parent that tunes something that hangs.
constexpr const char* kParentWord = "__parent";

/// Or, with how long it may hear nothing, the agent of a host of kTestVersion...
constexpr const char* kHostWord = "__host";
constexpr const char* kTestVersion = "1.2.3";
/// ... or, with a file's name and the same, what carries its bytes: the process ids of both are
/// written to `<file>.agent` and `<file>.carrier`, and a line for each message to `<file>.there`
/// and `<file>.back`: type, sequence, bytes. It refuses where there is `<file>.refuses`; where
/// there is `<file>.deaf` it stays, and says nothing of it, when its own parent is gone.
constexpr const char* kRelayWord = "__relay";

/// This executable's path.
std::string executable();

WorkerCommand fake_workers(int compile_workers = 2);

/// Makes it so many units of the fake device.
void add_units(WorkerCommand& workers, int units);

/// FakeSpace has so many, one of them of naive.
inline constexpr std::size_t kConfigurations = 16;

/// A space with two kernels that follow scripts (backend/fake/script.h) over arrays `in` and `out`
/// of N floats and the scalar `n`:
/// `naive`, the reference: naive<BLOCK>, BLOCK 64
/// `tiled`: tiled<TILE, ITEMS>, TILE 1, 2, 4, 8, 16 and ITEMS 1, 2, 4; the fastest is 8, 2.
struct FakeSpace {
  FakeSpace();
  Space space;
  std::map<std::string, KernelSource> sources;

  /// Adds a line to a kernel's script.
  void add(const std::string& kernel, const std::string& line);
  KernelTemplate& kernel(const std::string& name);

  /// Makes the values of tiled's ITEMS those from 1 to `last`.
  void give_items(std::int64_t last);
};

/// A log that remembers.
class MemoryLog final : public ResultLog {
 public:
  struct Attempt {
    std::string kernel;
    Configuration configuration;
    bool operator==(const Attempt&) const = default;
  };

  void begin_attempt(const ResultKey& of) override;
  void record(const std::string& kernel_hash, const Result& result) override;
  int lost_attempts(const ResultKey& of) override;
  void forgive_attempts(const ResultKey& of) override;
  void together(const std::function<void()>& writes) override;
  std::optional<Result> find(const ResultKey& of) override;
  Bests bests(const Problem& problem, const std::map<std::string, std::string>& hashes) override;

  /// The last record of a configuration, `TILE=8,ITEMS=2` in any order.
  const Result* last(const std::string& kernel, const std::string& configuration) const;

  std::vector<Attempt> attempts;  ///< All at what had not been measured...
  std::vector<Attempt> finals;    ///< ... and at what had been...
  std::vector<Attempt> open;      ///< ... and those without a record.
  std::vector<Attempt> lost;      ///< What an earlier run is to have had open when it died.
  std::vector<Result> records;    ///< In the order recorded.
  int commits = 0;                ///< A transaction each.

 private:
  bool is_together_ = false;
};

/// One run over a space. The members are what a test may want to change before run().
struct FakeRun {
  explicit FakeRun(const FakeSpace& fake);

  /// Starts workers and tunes.
  TuningSummary run();
  TuningSummary run_dry();

  const FakeSpace& fake;
  TuningRequest request;
  WorkerCommand workers = fake_workers();
  MemoryLog own_log;
  MemoryLog* log = &own_log;
  Observer observer;
  std::atomic<bool> stop = false;
  std::vector<std::string> notes;
  std::shared_ptr<WorkerPool> pool;  ///< Started by run() where there is none.
};

/// The result of a configuration, `TILE=8,ITEMS=2` in any order.
const Result& result_of(const ProblemSummary& summary, const std::string& kernel,
                        const std::string& configuration);

/// A folder that exists as long as this, named by SMEMTUNE_FAKE_FOLDER.
class FakeFolder : public TemporaryFolder {
 public:
  FakeFolder();
  FakeFolder(const FakeFolder&) = delete;
  FakeFolder& operator=(const FakeFolder&) = delete;
  ~FakeFolder();

  /// What scripts call HAPPENED and wait for.
  void let_happen() const;
};

/// Whether a process is there and no zombie.
bool is_alive(int process_id);

/// Looks every 10 ms until `holds`, for as long as the slowest machine may need.
bool eventually(const std::function<bool()>& holds);

}  // namespace smemtune::test
