#pragma once

#include "db/result_store.h"
#include "tuner/core/main_effects.h"
#include "tuner/core/verdict.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::db {

/// Differences between times of different sessions, in per cent, up to which nothing follows from
/// them: boards, clocks and temperatures differ by as much.
inline constexpr double kSameBetweenSessions_percent = 1;

/// Device models by what is stored of them. Shares are of a device's own optimum: its best's median
/// by the other's. Where that is s, the other is slower by 1/s - 1. A share is 0 where it does not
/// run, and may be a little above 1: a median of few samples can be below the best's in finals.
struct Comparison {
  struct Column {
    std::int64_t model_id = 0;  ///< Within its database.
    std::string shared_from;    ///< See StoredResult.
    Device device;              ///< Without board.
    /// Its name; `(CPU)` where it is one, the file where others share it, `, imported` where
    /// nothing was measured here, a number where two have one name.
    std::string label;

    bool is_gpu() const { return device.kind == DeviceKind::gpu; }
  };

  /// How one GPU does with the best configuration of another; columns by their indices.
  struct Guest {
    std::size_t on = 0;
    std::size_t best_of = 0;
    std::optional<double> share;     ///< Nullopt: never measured there.
    Measurement time;                ///< Without its samples; nothing where it does not run.
    std::string failure;             ///< `constraints (shared_bytes)`; empty where it runs.
    std::optional<Slowdown> slower;  ///< Than the device's own best.
  };

  /// One configuration for all GPUs of a row.
  struct ForAll {
    std::string kernel;
    Configuration configuration;
    std::vector<double> shares;  ///< By the row's GPUs.
    double worst_share = 0;
    double portability = 0;  ///< performance_portability().
  };

  /// A guest with one parameter's value as the device's own best has it: a configuration that was
  /// measured there and found right.
  struct Repair {
    std::string parameter;
    Value value;
    double share = 0;
    bool is_best = false;  ///< It is the device's own best.
  };

  /// What matters on a GPU.
  struct Advice {
    std::size_t on = 0;
    std::vector<MainEffect> effects;        ///< Of its best's kernel, the most important first...
    ChosenBy chosen_by = ChosenBy::search;  ///< ... by configurations that were chosen so.
    std::optional<std::size_t> worst{};     ///< The guest (by index) that keeps least there...
    std::vector<Repair> repairs{};          ///< ... and its repairs that keep more, the best first.
  };

  /// One problem of a space.
  struct Row {
    std::string space;
    Problem problem;
    std::map<std::size_t, StoredResult> best;  ///< By column.
    std::vector<std::size_t> gpus;             ///< Columns of GPUs that have one.
    double fastest_gpu_ms = 0;                 ///< 0: there is no GPU.
    std::map<std::size_t, std::optional<Slowdown>> slower_than_fastest;  ///< Of the other GPUs.
    std::vector<Guest> guests;  ///< Every pair of GPUs, by `on`, then `best_of`.
    std::optional<ForAll> least_worst;
    std::optional<ForAll> most_portable;
    std::vector<Advice> advice;
    std::size_t known = 0;   ///< Configurations of the kernels in question...
    std::size_t looked = 0;  ///< ... and how many were looked at: fewer where they are many.
    std::size_t on_all = 0;  ///< Of these were tried on all of its GPUs.
  };

  std::vector<Column> columns;  ///< GPUs by name, then CPUs.
  std::vector<Row> rows;        ///< By space and problem.
};

/// Compares the devices' bests for each problem, and each kernel's; `run`: only runs whose id
/// begins so. `database_of` tells which database holds such a result.
Comparison compare(std::vector<StoredResult> best, const std::vector<StoredResult>& kernels,
                   const std::string& run,
                   const std::function<const Connection&(const StoredResult&)>& database_of);

}  // namespace smemtune::db
