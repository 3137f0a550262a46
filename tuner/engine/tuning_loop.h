#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/launcher.h"
#include "tuner/core/bound_kernel.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/result.h"
#include "tuner/core/space.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/race.h"
#include "tuner/engine/result_log.h"
#include "tuner/search/strategy.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace smemtune {

/// How worker processes are started: this executable again, with these words.
struct WorkerCommand {
  std::vector<std::string> compile;  ///< argv of a compile worker; [0] is the executable's path.
  /// argv of the device workers, each on a unit of its own, all of one model; empty: none is
  /// needed.
  std::vector<std::vector<std::string>> devices;
  /// What each of them runs on, where that is known: compiling begins before they have said so.
  /// Empty: their greetings are waited for.
  std::vector<Device> known_devices = {};
  int compile_workers = 1;
  /// Address space of a compile worker, in bytes; 0: no limit, as for sanitizer builds, which
  /// reserve terabytes.
  std::uint64_t compile_address_space = 0;
  double compile_timeout_s = 120;  ///< A compile worker is killed when one compile takes longer.
  double hello_timeout_s = 60;     ///< For a device worker's start: driver, context.
};

/// When to stop.
struct Budget {
  std::uint64_t max_evaluations = UINT64_MAX;  ///< Configurations compiled or measured in this run.
  double max_seconds = 0;                      ///< 0: no limit.
  double max_device_seconds = 0;               ///< That devices are busy, together; 0: none.
};

struct TuningOptions {
  std::uint64_t seed = 1;
  std::string strategy = "random";
  Budget budget;
  ResourceLimits resource_limits;
  int screen_samples = 3;     ///< Cold samples of every variant...
  double screen_ms = 25;      ///< ... or fewer, when they took so long together.
  std::size_t finalists = 8;  ///< Measured again at the end, interleaved.
  /// Rounds of the finals, in each of two blocks. Where all of them would keep the device for more
  /// than so many seconds it is as many as fit, but no less than the least.
  std::size_t final_rounds = 60;
  std::size_t least_final_rounds = 15;
  double final_seconds = 5;
  double tie_percent = 0.5;        ///< Finalists that differ by less are declared tied.
  bool static_reject = true;       ///< Do not time what the compiler's report makes hopeless.
  bool retry_quarantined = false;  ///< Try again what took the process down twice.
  bool with_transfers = false;     ///< Measure the copies between host and device, too.
  bool resume = true;              ///< Use what the log knows; false: measure everything again.
  /// Asked and not yet told: how far compiling runs ahead. 0: by four for each compile worker, so
  /// that none of them waits for one that takes long, and by 64 at least.
  std::size_t window = 0;
  /// A configuration whose first sample is slower than so many times the best of its kernel is
  /// sampled no further; a default always is.
  double cut_factor = 2;
  /// Loading, verifying and sampling one configuration may take the least, twice as long as it took
  /// the best of its kernel, and 20 times what its launches took the device, but not more than the
  /// most; then it counts as hung. A default, and whatever comes before any other of its kernel
  /// came through, may take the most.
  double min_deadline_s = 5;
  double max_deadline_s = 60;
  double prepare_deadline_s = 300;  ///< Filling buffers and running and checking the reference.
};

/// What a run looks like while it goes on.
struct Progress {
  Problem problem;
  std::size_t problem_number = 0;  ///< From 1.
  std::size_t problem_count = 0;
  std::string phase;        ///< `prepare`, `search`, `finals`.
  std::uint64_t done = 0;   ///< Configurations with a result, of this problem...
  std::uint64_t valid = 0;  ///< ... of as many.
  std::uint64_t known = 0;  ///< Of `done`, those the log knew.
  std::uint64_t compiled = 0;
  std::uint64_t failed = 0;  ///< Any status but `correct`.
  std::optional<Result> best;
  double configurations_per_s = 0;  ///< Over the last seconds, without those that were known.
  /// `compiler`: the device is idle; `device`: compiled variants wait for it.
  std::string waiting_for;
  double elapsed_s = 0;
  std::optional<double> remaining_s;  ///< Of the search; nullopt until it can be said honestly.
};

/// What a run tells whoever watches it. Called from the thread that called tune().
struct Observer {
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  std::function<void(const Result&, bool known)> result = [](const Result&, bool) {};
  std::function<void(const std::string&)> note = [](const std::string&) {};  ///< A line for people.
  /// Asked before devices are first given work, and again until it says yes; meanwhile compilers
  /// work.
  std::function<bool()> may_use_devices = [] { return true; };
  /// The finals of a problem begin, on this device.
  std::function<void(const Device&)> before_finals = [](const Device&) {};
};

/// What static rejects would have kept from being timed, in a run without them.
struct StaticRejects {
  std::uint64_t rejected = 0;
  std::uint64_t top = 0;     ///< So many are the fastest 1 % of what was timed...
  std::vector<Result> lost;  ///< ... and these of them would have been rejected.
};

/// What is known of a problem at the end.
struct ProblemSummary {
  Problem problem;
  std::vector<Result> results;  ///< Of this run and known ones, in the order told.
  std::optional<Result> best;   ///< Verified and timed.
  std::vector<Result> ties;     ///< Finalists that cannot be told from the best.
  std::uint64_t cartesian = 0;  ///< Points of the product, saturating.
  std::uint64_t valid = 0;
  std::uint64_t evaluated = 0;  ///< In this run.
  std::uint64_t known = 0;
  /// A line for each parameter of which all values gave the same code, launches and arguments.
  std::vector<std::string> without_effect;
  std::optional<StaticRejects> static_rejects;  ///< Where they were turned off.
  std::optional<double> noise_percent;          ///< A/A: the best against itself in the finals.
  std::optional<Transfers> transfers;           ///< Where they were asked for.
  std::vector<DerivedTolerance> derived;        ///< Where tolerances are and the device was needed.
  /// How much slower the default of the best's kernel was in the finals; nullopt when it is the
  /// best or no finals were held.
  std::optional<PairedDifference> default_slower;
};

struct TuningSummary {
  std::vector<ProblemSummary> problems;
  bool interrupted = false;  ///< By stop.
  bool out_of_budget = false;
  double elapsed_s = 0;
  double device_s = 0;  ///< That devices were busy, together.
  std::uint64_t evaluated = 0;
  std::uint64_t worker_deaths = 0;
  std::map<std::string, std::uint64_t>
      evaluated_on;                      ///< Evaluations that a unit was given, by UUID.
  std::optional<Failure> first_failure;  ///< With its log, for the case that nothing worked.
};

/// A configuration of one of a space's kernels.
struct KernelConfiguration {
  std::string kernel;
  Configuration configuration;

  bool operator==(const KernelConfiguration&) const = default;
};

/// One run: every problem of `problems`, every kernel of `kernels`.
struct TuningRequest {
  const Space* space = nullptr;
  std::vector<const KernelTemplate*> kernels;  ///< To search; the reference need not be among them.
  std::map<std::string, KernelSource> sources;  ///< By kernel name, of all kernels of the space.
  /// The reference's source in double precision, where tolerances are derived from it
  /// (space_file.h).
  std::optional<KernelSource> reference_in_double = std::nullopt;
  std::vector<Problem> problems;
  /// Where not empty: only these, in this order, whatever the strategy says. One that is not among
  /// the problem's valid configurations is left out.
  std::vector<KernelConfiguration> only;
  WorkerCommand workers;
  TuningOptions options;
};

/// What workers run on, before a database is opened for it.
struct DeviceGreeting {
  std::vector<Device> devices;  ///< As WorkerCommand::devices.
  std::string compiler;         ///< Version, from a compile worker.
  std::string compiler_sha256;
};

/// The reference kernel does not compile, launch or compute what it should, so that nothing can be
/// compared with it. The message has its log. Exit status 3.
class ReferenceError : public InputError {
 public:
  using InputError::InputError;
};

class WorkerPool;

/// Starts the workers and waits for the greetings of the first compile worker and of the device
/// workers, unless it is known what those run on. Throws UnavailableError with what they said when
/// they cannot start. The pool ends them when it is destroyed; so does the end of the thread that
/// called this or tune().
std::shared_ptr<WorkerPool> start_workers(const WorkerCommand& command);
const DeviceGreeting& greeting(const WorkerPool& pool);
std::vector<pid_t> worker_process_ids(const WorkerPool& pool);

/// Tunes. The units of a model share the search; what is close is raced on one of them. A unit that
/// fails is left out while there are others. `stop` is looked at a few times a second. Throws Error
/// when the machine fails; what was recorded stays recorded.
TuningSummary tune(const TuningRequest& request, WorkerPool& pool, ResultLog& log,
                   const Observer& observer, const std::atomic<bool>& stop);

/// Everything but launching: compiles every valid configuration (within the budget) for `device`.
TuningSummary dry_run(const TuningRequest& request, const Device& device, WorkerPool& pool,
                      const Observer& observer, const std::atomic<bool>& stop);

/// Where a worker process finds its requests and puts its replies.
struct WorkerDescriptors {
  int in = -1;
  int out = -1;
};

/// As the environment of a worker process has them; nullopt when this process is none.
std::optional<WorkerDescriptors> worker_descriptors();

/// The bodies of worker processes: serve requests from descriptor `in` on `out` until it closes.
/// `make` is called first; what it throws is told to the parent. Return the exit status.
int compile_worker_main(const std::function<std::unique_ptr<Compiler>()>& make, int in, int out);
int device_worker_main(const std::function<std::unique_ptr<Launcher>()>& make, int in, int out);

}  // namespace smemtune
