#include "db/comparison.h"

#include "db/columns.h"
#include "db/sqlite.h"
#include "db/stored_times.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

using Column = Comparison::Column;
using Row = Comparison::Row;

/// Pairs of samples that are held against each other at most.
constexpr std::size_t kMostVerdicts = 2'000;

double median_ms(const StoredResult& stored) { return stored.result.measurement.median_ms; }

std::vector<Column> columns_of(const std::vector<StoredResult>& best) {
  std::map<std::tuple<bool, std::string, std::string, std::int64_t>, Column> ordered;
  for (const StoredResult& stored : best) {
    const bool is_gpu = stored.device.kind == DeviceKind::gpu;
    Column& column = ordered[{!is_gpu, stored.device.name, stored.shared_from, stored.model_id}];
    column.model_id = stored.model_id;
    column.shared_from = stored.shared_from;
    column.device = stored.device;
    column.device.uuid.clear();
    column.label = stored.device.name + (is_gpu ? "" : " (CPU)") +
                   (stored.shared_from.empty() ? "" : ", " + stored.shared_from) +
                   (stored.origin ? ", imported" : "");
  }
  std::vector<Column> columns;
  std::map<std::string, int> named;
  for (auto& [order, column] : ordered) {
    const int number = ++named[column.label];
    if (number > 1) column.label.append(" #").append(std::to_string(number));
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Row> rows_of(std::vector<StoredResult> best, const std::vector<Column>& columns) {
  std::map<std::pair<std::string, std::string>, Row> ordered;
  for (StoredResult& stored : best) {
    Row& row = ordered[{stored.space, key(stored.result.problem)}];
    row.space = stored.space;
    row.problem = stored.result.problem;
    const auto column = std::ranges::find_if(columns, [&](const Column& one) {
      return one.model_id == stored.model_id && one.shared_from == stored.shared_from;
    });
    row.best.try_emplace(static_cast<std::size_t>(column - columns.begin()), std::move(stored));
  }
  std::vector<Row> rows;
  for (auto& [order, row] : ordered) {
    for (const auto& [column, stored] : row.best) {
      if (!columns[column].is_gpu()) continue;
      row.gpus.push_back(column);
      const bool is_first = row.fastest_gpu_ms == 0;
      row.fastest_gpu_ms =
          is_first ? median_ms(stored) : std::min(row.fastest_gpu_ms, median_ms(stored));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void compare_with_fastest(Row& row) {
  const auto samples = [&row](std::size_t column) -> const std::vector<double>& {
    return row.best.at(column).result.measurement.samples_ms;
  };
  const auto fastest = std::ranges::find_if(row.gpus, [&row](std::size_t column) {
    return median_ms(row.best.at(column)) <= row.fastest_gpu_ms;
  });
  for (const std::size_t column : row.gpus) {
    if (column == *fastest) continue;
    row.slower_than_fastest[column] = slowdown(samples(column), samples(*fastest));
  }
}

/// Fills in what a row says of its GPUs.
class Analysis {
 public:
  Analysis(Row& row, const StoredTimes& times, std::span<const TimedCase> cases, bool with_verdicts)
      : row_(row), times_(times), cases_(cases), with_verdicts_(with_verdicts) {
    for (const std::size_t gpu : row.gpus) {
      const StoredResult& best = row.best.at(gpu);
      kernels_.push_back(version_of(best));
      bests_.push_back(times.find(kernels_.back(), best.result.configuration));
    }
  }

  void run() {
    for (std::size_t on = 0; on < row_.gpus.size(); ++on) {
      for (std::size_t of = 0; of < row_.gpus.size(); ++of) {
        if (on != of) row_.guests.push_back(guest(on, of));
      }
    }
    if (row_.gpus.size() > 1) {
      row_.least_worst = for_all(smemtune::least_worst(times_.table));
      row_.most_portable = for_all(smemtune::most_portable(times_.table));
    }
    for (std::size_t on = 0; on < row_.gpus.size(); ++on) row_.advice.push_back(advice(on));
  }

 private:
  /// `on` and `of`: numbers of GPUs in the row.
  Comparison::Guest guest(std::size_t on, std::size_t of) const {
    Comparison::Guest guest;
    guest.on = row_.gpus[on];
    guest.best_of = row_.gpus[of];
    const auto variant = bests_[of];
    if (!variant || std::isnan(times_.table.ms[on][*variant])) return guest;
    const std::int64_t result = times_.result_ids[on][*variant];
    guest.share = times_.table.share(on, *variant);
    if (*guest.share <= 0) {
      guest.failure = failure(*cases_[on].in, result);
      return guest;
    }
    guest.ms = times_.table.ms[on][*variant];
    if (with_verdicts_) {
      guest.slower = slowdown(samples(*cases_[on].in, result),
                              row_.best.at(guest.on).result.measurement.samples_ms);
    }
    return guest;
  }

  static std::vector<double> samples(const Connection& connection, std::int64_t result) {
    Statement select(connection, "SELECT samples FROM result WHERE id = :id");
    if (!select.bind(":id", result).step() || select.is_null("samples")) return {};
    return samples_from_blob(select.blob("samples"));
  }

  static std::string failure(const Connection& connection, std::int64_t result) {
    Statement select(connection, "SELECT status, reason FROM result WHERE id = :id");
    if (!select.bind(":id", result).step()) return {};
    const std::string reason = select.text("reason");
    return select.text("status") + (reason.empty() ? "" : " (" + reason + ")");
  }

  std::optional<Comparison::ForAll> for_all(std::optional<std::size_t> variant) const {
    if (!variant) return std::nullopt;
    Comparison::ForAll one;
    one.kernel = times_.variants[*variant].kernel;
    one.configuration = times_.variants[*variant].configuration;
    for (std::size_t on = 0; on < row_.gpus.size(); ++on) {
      one.shares.push_back(times_.table.share(on, *variant));
    }
    one.worst_share = *std::ranges::min_element(one.shares);
    one.portability = performance_portability(times_.table, *variant);
    return one;
  }

  Comparison::Advice advice(std::size_t on) {
    Comparison::Advice advice;
    advice.on = row_.gpus[on];
    advice.effects = effects(on);
    for (std::size_t i = 0; i < row_.guests.size(); ++i) {
      const Comparison::Guest& guest = row_.guests[i];
      if (guest.on != advice.on || !guest.share) continue;
      if (!advice.worst || *guest.share < *row_.guests[*advice.worst].share) advice.worst = i;
    }
    if (advice.worst) advice.swaps = swaps(on, row_.guests[*advice.worst].best_of);
    return advice;
  }

  /// The main effects of the kernel that is the best on that GPU.
  std::vector<MainEffect> effects(std::size_t on) {
    const auto its = times_.by_key.find(kernels_[on]);
    if (its == times_.by_key.end()) return {};
    const auto [place, is_new] = effects_.try_emplace(its->first, std::nullopt);
    if (is_new) {
      std::vector<const Configuration*> configurations;
      for (const auto& [name, variant] : its->second) {
        configurations.push_back(&times_.variants[variant].configuration);
      }
      place->second.emplace(configurations);
    }
    std::vector<double> ms;
    for (const auto& [name, variant] : its->second) ms.push_back(times_.table.ms[on][variant]);
    return place->second->of(ms);
  }

  std::vector<Comparison::Swap> swaps(std::size_t on, std::size_t best_of) const {
    const StoredResult& own = row_.best.at(row_.gpus[on]);
    const StoredResult& other = row_.best.at(best_of);
    if (own.result.kernel != other.result.kernel || own.kernel_hash != other.kernel_hash) return {};
    std::vector<Comparison::Swap> swaps;
    for (const auto& [name, value] : own.result.configuration) {
      const auto others = other.result.configuration.find(name);
      if (others == other.result.configuration.end() || others->second == value) continue;
      Configuration swapped = own.result.configuration;
      swapped[name] = others->second;
      const auto variant = times_.find(kernels_[on], swapped);
      Comparison::Swap swap{
          .parameter = name, .own = value, .others = others->second, .share = std::nullopt};
      if (variant && !std::isnan(times_.table.ms[on][*variant])) {
        swap.share = times_.table.share(on, *variant);
      }
      swaps.push_back(std::move(swap));
    }
    std::ranges::stable_sort(swaps, {}, [](const Comparison::Swap& one) {
      return one.share.value_or(std::numeric_limits<double>::infinity());
    });
    return swaps;
  }

  Row& row_;
  const StoredTimes& times_;
  std::span<const TimedCase> cases_;  ///< By the row's GPUs.
  bool with_verdicts_;
  std::vector<KernelVersion> kernels_;             ///< Of the GPUs' bests.
  std::vector<std::optional<std::size_t>> bests_;  ///< Variants.
  std::map<KernelVersion, std::optional<MainEffects>> effects_;
};

}  // namespace

Comparison compare(std::vector<StoredResult> best, const std::vector<StoredResult>& kernels,
                   const std::string& run,
                   const std::function<const Connection&(const StoredResult&)>& database_of) {
  Comparison comparison;
  comparison.columns = columns_of(best);
  comparison.rows = rows_of(std::move(best), comparison.columns);

  std::map<std::pair<std::string, std::string>, std::vector<const StoredResult*>> by_problem;
  for (const StoredResult& stored : kernels) {
    if (stored.device.kind == DeviceKind::cpu) continue;
    by_problem[{stored.space, key(stored.result.problem)}].push_back(&stored);
  }
  std::size_t guests = 0;
  for (const Row& row : comparison.rows) guests += row.gpus.size() * row.gpus.size();
  comparison.has_verdicts = guests <= kMostVerdicts;
  TimesReader reader(kernels.size(), run);
  for (Row& row : comparison.rows) {
    compare_with_fastest(row);
    std::vector<TimedCase> cases;
    for (const std::size_t gpu : row.gpus) {
      const StoredResult& its = row.best.at(gpu);
      const Connection& in = database_of(its);
      cases.push_back({.in = &in,
                       .model_id = its.model_id,
                       .problem_id = problem_id(in, row.space, row.problem),
                       .best_ms = median_ms(its)});
    }
    const StoredTimes times = reader.read(cases, by_problem[{row.space, key(row.problem)}]);
    row.known = times.known;
    row.looked = times.variants.size();
    Analysis(row, times, cases, comparison.has_verdicts).run();
  }
  return comparison;
}

Comparison ResultStore::compare(const Query& query) const {
  return db::compare(best(query, /*per_kernel=*/false), best(query, /*per_kernel=*/true), query.run,
                     [this](const StoredResult&) -> const Connection& { return *connection_; });
}

}  // namespace smemtune::db
