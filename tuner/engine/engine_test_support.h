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

/// First arguments with which the test executable runs itself as a worker.
constexpr const char* kCompileWord = "__compile";
constexpr const char* kDeviceWord = "__device";
/// Or as a parent that tunes something that hangs; followed by the name of a folder.
constexpr const char* kParentWord = "__parent";

/// Or as the agent of a host of kTestVersion; followed by the seconds of silence it tolerates.
constexpr const char* kHostWord = "__host";
constexpr const char* kTestVersion = "1.2.3";
/// Or as a carrier that starts such an agent; followed by a file's name and the same number. The
/// process ids of both are written to `<file>.agent` and `<file>.carrier`, and a line for each
/// message to `<file>.there` and `<file>.back`: type, sequence, bytes. It refuses to run if
/// `<file>.refuses` exists; if `<file>.deaf` exists, it stays when its parent is gone and does not
/// tell the agent.
constexpr const char* kRelayWord = "__relay";

/// Returns this executable's path.
std::string executable();

WorkerCommand fake_workers(int compile_workers = 2);

/// Sets the number of units of the fake device.
void add_units(WorkerCommand& workers, int units);

/// Number of configurations of FakeSpace; one of them is of naive.
inline constexpr std::size_t kConfigurations = 16;

/// A space with two kernels that follow scripts (fake/script_test_support.h) over arrays `in` and
/// `out` of N floats and the scalar `n`:
/// `naive`, the reference: naive<BLOCK>, BLOCK 64
/// `tiled`: tiled<TILE, ITEMS>, TILE 1, 2, 4, 8, 16 and ITEMS 1, 2, 4; the fastest is 8, 2.
struct FakeSpace {
  FakeSpace();
  Space space;
  std::map<std::string, KernelSource> sources;

  /// Adds a line to a kernel's script.
  void add(const std::string& kernel, const std::string& line);
  KernelTemplate& kernel(const std::string& name);

  /// Sets the values of tiled's ITEMS to 1, 2, ..., `last`.
  void give_items(std::int64_t last);
};

/// A log in memory.
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
  void close_attempts(const ResultKey& of) override;
  void in_transaction(const std::function<void()>& writes) override;
  std::optional<Result> find(const ResultKey& of) override;
  std::vector<Configuration> known(const ResultKey& of) override;
  Bests bests(const Problem& problem, const std::map<std::string, std::string>& hashes) override;

  /// Returns the last record of a configuration, `TILE=8,ITEMS=2` in any order.
  const Result* last(const std::string& kernel, const std::string& configuration) const;

  std::vector<Attempt> attempts;  ///< Attempts at configurations that had not been measured.
  std::vector<Attempt> finals;    ///< Attempts at configurations that had been measured.
  std::vector<Attempt> open;      ///< Attempts without a record.
  std::vector<Attempt> lost;      ///< Attempts that an earlier run left open when it died; set by
                                  ///< tests.
  std::vector<Result> records;    ///< In the order recorded.
  int commits = 0;                ///< Number of transactions.

 private:
  bool in_transaction_ = false;
};

/// A run over a space. Tests may change the members before run().
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
  std::shared_ptr<WorkerPool> pool;  ///< Started by run() if null.
};

/// Returns the result of a configuration, `TILE=8,ITEMS=2` in any order.
const Result& result_of(const ProblemSummary& summary, const std::string& kernel,
                        const std::string& configuration);

/// A temporary folder, named by SMEMTUNE_FAKE_FOLDER while it exists.
class FakeFolder : public TemporaryFolder {
 public:
  FakeFolder();
  FakeFolder(const FakeFolder&) = delete;
  FakeFolder& operator=(const FakeFolder&) = delete;
  ~FakeFolder();

  /// Makes the event happen that scripts call HAPPENED and wait for.
  void let_happen() const;
};

/// Whether a process exists and is not a zombie.
bool is_alive(int process_id);

/// Checks every 10 ms until `holds`, for as long as the slowest machine may need.
bool eventually(const std::function<bool()>& holds);

}  // namespace smemtune::test
