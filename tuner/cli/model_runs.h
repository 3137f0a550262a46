#pragma once

#include "reports/run_summary.h"
#include "tuner/cli/command_tune.h"
#include "tuner/cli/hosts.h"
#include "tuner/cli/progress.h"
#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/core/objective.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"
#include "tuner/engine/observer.h"
#include "tuner/engine/tuning_loop.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

// The concurrent runs of one command, one for each model of its devices.

namespace smemtune::cli {

/// Groups devices by model, in the order in which the models first occur.
std::vector<std::vector<Device>> by_model(const std::vector<Device>& devices);

/// State shared by the runs of one command, each of which uses the units of one model.
struct Session {
  const TuneOptions& options;
  const LoadedSpace& loaded;
  const TuningRequest& request;
  const std::vector<Device>& also_on;
  const std::atomic<bool>& stop;
  std::vector<HostAddress> addresses = {};  ///< Addresses of `--hosts`.
  std::atomic<std::size_t> models = 1;      ///< Number of models that are tuned at once.
  /// Called for devices of hosts that join later; see workers_for().
  std::function<void(const Device&)> meet = {};
  std::vector<Device> met = {};  ///< The first device of each model that was met this way.
  std::mutex output = {};        ///< Locked while printing.
};

/// Returns a run of the space on this machine that begins now; strategy, seed and command line are
/// left to set.
Run run_now(const LoadedSpace& loaded, const DeviceGreeting& hello);

/// Tunes all models concurrently, each separately, including those of hosts that join later.
/// Returns the first nonzero status. Rethrows the error of the first run that failed, after all
/// have ended.
int tune_models(Session& session, const std::vector<std::vector<Device>>& models, Hosts hosts,
                OverrunTimer& late);

// The output of `smemtune --space FILE` about its runs.

void say_unless_quiet(const TuneOptions& options, const std::string& line);

Verbosity verbosity(const TuneOptions& options);

/// Makes the observer also report the run's activities to `late`.
void follow(Observer& observer, OverrunTimer& late);

/// Returns what `--objective` asks for. Throws InputError.
Objective objective_of(const TuneOptions& options, const Space& space);

/// Prints the summary of a run and returns its exit status.
int finish(const TuneOptions& options, const Space& space, const TuningSummary& summary,
           const Device& device, const std::vector<AlsoFits>& also_fits = {});

}  // namespace smemtune::cli
