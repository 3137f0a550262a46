#pragma once

#include "db/rows.h"
#include "tuner/core/main_effects.h"
#include "tuner/core/measurement.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::db {

class Connection;

/// The largest difference between times of different sessions, in per cent, that is ignored:
/// boards, clocks and temperatures alone cause as much.
inline constexpr double kSameBetweenSessions_percent = 1;

/// Compares device models by their stored results. A share is relative to a device's own optimum:
/// the median of its best configuration divided by the median of the other one. With a share of s,
/// the other configuration is slower by 1/s - 1. A share is 0 for a configuration that does not run
/// there. It may be slightly above 1, because a median of few samples can be below the median that
/// the best one had in the finals.
struct Comparison {
  struct Column {
    std::int64_t model_id = 0;  ///< Id of the device model within its database.
    std::string shared_from;    ///< See StoredResult::shared_from.
    Device device;              ///< The device without its board.
    bool is_imported = false;   ///< True if no run of ours measured on it.
    /// The device's name, with a number behind it if an earlier column has the same.
    std::string label;

    bool is_gpu() const { return device.kind == DeviceKind::gpu; }
  };

  /// How one GPU performs with the best configuration of another. Devices are indices of columns.
  struct Guest {
    std::size_t on = 0;
    std::size_t best_of = 0;
    std::optional<double> share;  ///< nullopt if the configuration was never measured there.
    Measurement time;             ///< Without samples; empty if the configuration does not run.
    std::string failure;  ///< Like `constraints (shared_bytes)`; empty if the configuration runs.
    std::optional<Slowdown> slower;  ///< Compared with the device's own best.
  };

  /// One configuration to use on all GPUs of a row.
  struct ForAll {
    std::string kernel;
    Configuration configuration;
    std::vector<double> shares;  ///< One per GPU of the row.
    double worst_share = 0;
    double portability = 0;  ///< See performance_portability().
  };

  /// A guest configuration with the value of one parameter replaced by that of the device's own
  /// best. It was measured on that device and found correct.
  struct Repair {
    std::string parameter;
    Value value;
    double share = 0;
    bool is_best = false;  ///< True if the result is the device's own best.
  };

  /// Parameters that matter on a GPU.
  struct Advice {
    std::size_t on = 0;
    /// Effects in the kernel of the GPU's best, most important first.
    std::vector<MainEffect> effects;
    /// How the configurations behind `effects` were chosen.
    ChosenBy chosen_by = ChosenBy::search;
    std::optional<std::size_t> worst{};  ///< Index of the guest with the smallest share.
    std::vector<Repair> repairs{};  ///< Repairs of that guest that increase its share, best first.
  };

  /// One problem of a space.
  struct Row {
    std::string space;
    Problem problem;
    std::map<std::size_t, StoredResult> best;  ///< The best result on each device, by column.
    std::vector<std::size_t> gpus;             ///< Columns of the GPUs that have a best result.
    double fastest_gpu_ms = 0;                 ///< 0 if there is no GPU.
    /// Slowdown of each other GPU compared with the fastest, by column.
    std::map<std::size_t, std::optional<Slowdown>> slower_than_fastest;
    std::vector<Guest> guests;  ///< Every pair of GPUs, ordered by `on`, then `best_of`.
    std::optional<ForAll> least_worst;
    std::optional<ForAll> most_portable;
    std::vector<Advice> advice;
    std::size_t known = 0;   ///< Number of configurations of the compared kernels.
    std::size_t looked = 0;  ///< How many of these were read: a sample if there are many.
    std::size_t on_all = 0;  ///< How many of the read ones were tried on all GPUs.
  };

  std::vector<Column> columns;  ///< GPUs by name, then CPUs.
  std::vector<Row> rows;        ///< Ordered by space, then problem.
};

/// Compares the devices' best results for each problem. `kernels`: the best result of each kernel.
/// The query restricts that by its run and its compared devices alone. `database_of` returns the
/// database that holds a result.
Comparison compare(std::vector<StoredResult> best, std::vector<StoredResult> kernels,
                   const Query& query,
                   const std::function<const Connection&(const StoredResult&)>& database_of);

}  // namespace smemtune::db
