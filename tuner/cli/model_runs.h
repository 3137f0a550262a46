#pragma once

#include "tuner/cli/command_tune.h"
#include "tuner/cli/hosts.h"
#include "tuner/cli/late_end.h"
#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/engine/tuning_loop.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

// The runs of one command: one for each model of its devices, all at once.

namespace smemtune::cli {

/// By model, in the order in which each was met first.
std::vector<std::vector<Device>> by_model(const std::vector<Device>& devices);

/// What the runs of one command have in common, of which each is on the units of a model.
struct Session {
  const TuneOptions& options;
  const LoadedSpace& loaded;
  const TuningRequest& request;
  const std::vector<Device>& also_on;
  const std::atomic<bool>& stop;
  std::vector<HostAddress> addresses = {};       ///< Of `--hosts`.
  std::atomic<std::size_t> models = 1;           ///< That are tuned at once.
  std::function<void(const Device&)> meet = {};  ///< Of a host that has come: see workers_for().
  std::vector<Device> met = {};                  ///< The first of each model that was met so.
  std::mutex output = {};                        ///< Held by who prints.
};

/// Each model by itself, all at once, also those of hosts that come later. Returns the first status
/// that is not 0. Throws what the first of those that failed has thrown, when all have ended.
int tune_models(Session& session, const std::vector<std::vector<Device>>& models, Hosts hosts,
                LateEnd& late);

}  // namespace smemtune::cli
