#include "tuner/core/launch_cost.h"

#include "tuner/core/error.h"
#include "tuner/core/limits.h"
#include "tuner/core/occupancy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smemtune {

namespace {

constexpr double kCannotRun = std::numeric_limits<double>::infinity();

constexpr double kStagedWeight = 0.1;  // Weight of a byte in shared memory per result.
constexpr double kRowWeight = 0.1;     // Weight of each further row that a warp reads.
constexpr double kMostSideBySide = 4;  // Most results of a thread that help to hide latency.
// Warps times such results that hide all latency.
constexpr double kEnoughParallel = 24;

double results_of(const KernelInstance& instance) {
  double results = 0;
  for (const Argument& argument : instance.arguments) {
    if (argument.is_result()) results += static_cast<double>(argument.elements());
  }
  return std::max(1.0, results);
}

double cost_of_launch(const LaunchShape& launch, double results, const Device& device,
                      int registers) {
  const std::int64_t threads = launch.threads_per_block();
  const std::int64_t shared_bytes =
      launch.static_shared_bytes.value_or(0) + launch.dynamic_shared_bytes;
  const Occupancy reached =
      occupancy(device, threads, registers, shared_bytes, launch.shared_carveout);
  if (reached.blocks_per_sm == 0) return kCannotRun;
  const auto blocks = static_cast<double>(volume(launch.grid));
  const auto multiprocessors = static_cast<double>(std::max(1, device.sm_count));
  const double warp = std::max(1, device.warp_size);
  const double warps = std::ceil(static_cast<double>(threads) / warp);
  const double per_thread = results / (blocks * static_cast<double>(threads));

  const double steps = blocks * warps * warp * (1 + per_thread);
  const double most_blocks = std::ceil(blocks / multiprocessors);
  const double waiting = most_blocks * multiprocessors / blocks;
  const double staged = 1 + kStagedWeight * static_cast<double>(shared_bytes) * blocks / results;
  const auto row = static_cast<double>(launch.block[0]);
  const double rows_of_warp =
      launch.block[1] * launch.block[2] == 1 || std::fmod(row, warp) == 0 ? 1 : 1 + warp / row;
  const double traffic = 1 + kRowWeight * (rows_of_warp - 1);
  const double resident = std::min<double>(reached.blocks_per_sm, most_blocks) * warps;
  const double parallel = resident * std::clamp(per_thread, 1.0, kMostSideBySide);
  const double hidden = std::min(1.0, parallel / kEnoughParallel);
  return static_cast<double>(launch.times) * steps * waiting * staged * traffic / hidden;
}

}  // namespace

double launch_cost(const KernelBinding& bound, const Configuration& configuration,
                   const Device& device, int registers) {
  try {
    const KernelInstance instance = bound.instantiate(configuration);
    if (exceeds_limits(instance, device)) return kCannotRun;
    const double results = results_of(instance);
    double cost = 0;
    for (const LaunchShape& launch : instance.launches) {
      cost += cost_of_launch(launch, results, device, registers);
    }
    return cost;
  } catch (const InputError&) {
    return kCannotRun;
  }
}

}  // namespace smemtune
