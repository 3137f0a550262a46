#include "db/comparison.h"

#include "db/columns.h"
#include "db/result_store.h"
#include "db/sqlite.h"
#include "db/stored_times.h"
#include "tuner/core/fields.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

using Column = Comparison::Column;
using Row = Comparison::Row;

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
    column.is_imported = stored.origin.has_value();
    column.label = stored.device.name;
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
  std::ranges::stable_sort(rows, [](const Row& one, const Row& other) {
    if (one.space != other.space) return one.space < other.space;
    return in_natural_order(key(one.problem), key(other.problem));
  });
  return rows;
}

void compare_with_fastest(Row& row) {
  const auto time = [&row](std::size_t column) -> const Measurement& {
    return row.best.at(column).result.measurement;
  };
  const auto fastest = std::ranges::find_if(
      row.gpus, [&](std::size_t column) { return time(column).median_ms <= row.fastest_gpu_ms; });
  for (const std::size_t column : row.gpus) {
    if (column == *fastest) continue;
    row.slower_than_fastest[column] = slowdown(time(column), time(*fastest));
  }
}

/// Reads single results, with one statement for each database.
class ResultLookup {
 public:
  /// Gives `take` the row of the result, if it is stored.
  void read(const Connection& in, std::int64_t result, const auto& take) {
    const auto place = selects_.try_emplace(&in, in, "SELECT * FROM result WHERE id = :id").first;
    Statement& select = place->second;
    if (select.bind(":id", result).step()) take(std::as_const(select));
    select.reset();
  }

 private:
  std::map<const Connection*, Statement> selects_;
};

/// Fills in the parts of a row that compare its GPUs.
class Analysis {
 public:
  Analysis(Row& row, const StoredTimes& times, std::span<const TimedCase> cases,
           ResultLookup& lookup)
      : row_(row), times_(times), cases_(cases), lookup_(lookup) {
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
    row_.on_all = times_.tried_everywhere();
    if (row_.gpus.size() > 1) {
      row_.least_worst = for_all(smemtune::least_worst(times_.table));
      row_.most_portable = for_all(smemtune::most_portable(times_.table));
    }
    for (std::size_t on = 0; on < row_.gpus.size(); ++on) row_.advice.push_back(advice(on));
  }

 private:
  /// Returns how GPU `on` performs with the best of GPU `of`, both given as indices into the row's
  /// GPUs.
  Comparison::Guest guest(std::size_t on, std::size_t of) const {
    Comparison::Guest guest;
    guest.on = row_.gpus[on];
    guest.best_of = row_.gpus[of];
    const auto variant = bests_[of];
    if (!variant || std::isnan(times_.table.ms[on][*variant])) return guest;
    const std::int64_t result = times_.result_ids[on][*variant];
    guest.share = share(on, *variant);
    if (*guest.share <= 0) {
      guest.failure = failure(*cases_[on].in, result);
      return guest;
    }
    guest.time = time_of(*cases_[on].in, result);
    guest.slower = slowdown(guest.time, row_.best.at(guest.on).result.measurement);
    return guest;
  }

  /// Returns the share of the GPU's best that the variant reaches; 0 if it does not run. REQUIRES:
  /// the variant was tried on this GPU.
  double share(std::size_t on, std::size_t variant) const {
    return times_.table.best_ms[on] / times_.table.ms[on][variant];
  }

  Measurement time_of(const Connection& in, std::int64_t result) const {
    Measurement measured;
    lookup_.read(in, result, [&](const Statement& row) {
      visit_fields(measured, [&](const char* name, auto& value) { read_column(row, name, value); });
    });
    return measured;
  }

  std::string failure(const Connection& in, std::int64_t result) const {
    std::string text;
    lookup_.read(in, result, [&](const Statement& row) {
      const std::string reason = row.text("reason");
      text = row.text("status") + (reason.empty() ? "" : " (" + reason + ")");
    });
    return text;
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
    advice.chosen_by = times_.chosen_by(on, kernels_[on]);
    if (advice.worst) advice.repairs = repairs(on, row_.guests[*advice.worst]);
    return advice;
  }

  /// Returns the main effects in the kernel that is best on this GPU.
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

  /// Returns the repairs of the guest that are better than it by more than sessions differ.
  std::vector<Comparison::Repair> repairs(std::size_t on, const Comparison::Guest& guest) const {
    const StoredResult& own = row_.best.at(row_.gpus[on]);
    const StoredResult& other = row_.best.at(guest.best_of);
    if (version_of(own) != version_of(other)) return {};
    const double least = guest.share.value_or(0) * (1 + kSameBetweenSessions_percent / 100);
    std::vector<Comparison::Repair> repairs;
    for (const auto& [name, value] : own.result.configuration) {
      Configuration repaired = other.result.configuration;
      const auto others = repaired.find(name);
      if (others == repaired.end() || others->second == value) continue;
      others->second = value;
      const auto variant = times_.find(kernels_[on], repaired);
      if (!variant || !std::isfinite(times_.table.ms[on][*variant])) continue;
      const double kept = share(on, *variant);
      if (kept <= least) continue;
      repairs.push_back({.parameter = name,
                         .value = value,
                         .share = kept,
                         .is_best = repaired == own.result.configuration});
    }
    std::ranges::stable_sort(repairs, std::greater(), &Comparison::Repair::share);
    return repairs;
  }

  Row& row_;
  const StoredTimes& times_;
  std::span<const TimedCase> cases_;  ///< One per GPU of the row.
  ResultLookup& lookup_;
  std::vector<KernelVersion> kernels_;  ///< Kernels of the GPUs' bests.
  /// Indices of the GPUs' bests among the variants.
  std::vector<std::optional<std::size_t>> bests_;
  std::map<KernelVersion, std::optional<MainEffects>> effects_;
};

}  // namespace

Comparison compare(std::vector<StoredResult> best, std::vector<StoredResult> kernels,
                   const Query& query,
                   const std::function<const Connection&(const StoredResult&)>& database_of) {
  const std::vector<std::string>& devices = query.compared_devices;
  const auto is_left_out = [&](const StoredResult& one) {
    return !devices.empty() && std::ranges::find(devices, one.device.name) == devices.end();
  };
  std::erase_if(best, is_left_out);
  std::erase_if(kernels, is_left_out);
  Comparison comparison;
  comparison.columns = columns_of(best);
  comparison.rows = rows_of(std::move(best), comparison.columns);

  std::map<std::pair<std::string, std::string>, std::vector<const StoredResult*>> by_problem;
  for (const StoredResult& stored : kernels) {
    if (stored.device.kind == DeviceKind::cpu) continue;
    by_problem[{stored.space, key(stored.result.problem)}].push_back(&stored);
  }
  TimesReader reader(kernels.size(), query.run);
  ResultLookup lookup;
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
    Analysis(row, times, cases, lookup).run();
  }
  return comparison;
}

Comparison ResultStore::compare(const Query& query) const {
  return db::compare(best(query, /*per_kernel=*/false), best(query, /*per_kernel=*/true), query,
                     [this](const StoredResult&) -> const Connection& { return *connection_; });
}

}  // namespace smemtune::db
