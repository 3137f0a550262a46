#pragma once

#include "tuner/core/device.h"
#include "tuner/core/result_log.h"
#include "tuner/core/summary.h"
#include "tuner/engine/observer.h"
#include "tuner/engine/tuning_request.h"
#include "tuner/engine/worker_pool.h"

#include <atomic>

namespace smemtune {

/// Tunes. The units of a model share the search; close configurations are raced on one of them. A
/// unit that fails is left out while there are others. `stop` is checked a few times a second.
/// Throws Error when the machine fails; what was recorded stays recorded.
TuningSummary tune(const TuningRequest& request, WorkerPool& pool, ResultLog& log,
                   const Observer& observer, const std::atomic<bool>& stop);

/// Does everything but launching: compiles every valid configuration within the budget for
/// `device`.
TuningSummary dry_run(const TuningRequest& request, const Device& device, WorkerPool& pool,
                      const Observer& observer, const std::atomic<bool>& stop);

}  // namespace smemtune
