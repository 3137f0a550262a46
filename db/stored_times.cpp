#include "db/stored_times.h"

#include "db/bests.h"
#include "db/columns.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smemtune::db {

namespace {

/// If there are more results than kMostRead, only some configurations of each kernel are looked up,
/// kMostLookups altogether; otherwise all results are read in the order of the index.
constexpr std::size_t kMostRead = 1'000'000;
constexpr std::size_t kMostLookups = 200'000;

std::int64_t kernel_id(const Connection& connection, const StoredResult& stored) {
  Statement select(connection, R"sql(
    SELECT kernel.id FROM kernel JOIN space ON space.id = kernel.space_id
    WHERE space.name = :space AND kernel.name = :name AND kernel.hash = :hash)sql");
  return select.bind(":space", stored.space)
      .bind(":name", stored.result.kernel)
      .bind(":hash", stored.kernel_hash)
      .id();
}

}  // namespace

KernelVersion version_of(const StoredResult& stored) {
  return {.name = stored.result.kernel, .hash = stored.kernel_hash};
}

std::int64_t problem_id(const Connection& connection, const std::string& space,
                        const Problem& problem) {
  Statement select(connection, R"sql(
    SELECT problem.id FROM problem JOIN space ON space.id = problem.space_id
    WHERE space.name = :space AND problem.key = :key)sql");
  return select.bind(":space", space).bind(":key", key(problem)).id();
}

std::optional<std::size_t> StoredTimes::find(const KernelVersion& of,
                                             const Configuration& configuration) const {
  const auto its = by_key.find(of);
  if (its == by_key.end()) return std::nullopt;
  const auto found = its->second.find(key(configuration));
  return found == its->second.end() ? std::nullopt : std::optional(found->second);
}

ChosenBy StoredTimes::chosen_by(std::size_t in, const KernelVersion& kernel) const {
  const auto its = chosen[in].find(kernel);
  return its == chosen[in].end() ? ChosenBy::search : its->second;
}

std::size_t StoredTimes::tried_everywhere() const {
  std::size_t count = 0;
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    count += std::ranges::none_of(table.ms,
                                  [variant](const auto& ms) { return std::isnan(ms[variant]); });
  }
  return count;
}

ChosenBy chosen_by_runs(const Connection& connection, const std::set<std::int64_t>& runs) {
  Statement select(connection, "SELECT strategy, outcome FROM run WHERE id = :run");
  bool any_searched = runs.empty();
  bool any_unknown = false;
  for (const std::int64_t run : runs) {
    if (!select.bind(":run", run).step()) return ChosenBy::search;
    const std::string strategy = select.text("strategy");
    const bool is_random = strategy == "random";
    const bool is_blind = is_random || strategy == "exhaustive";
    if (is_blind && select.text("outcome") == "complete") return ChosenBy::all;
    any_unknown = any_unknown || strategy.empty();
    // The first configurations of an exhaustive search are not a random sample.
    any_searched = any_searched || !(is_random || strategy.empty());
    select.reset();
  }
  if (any_searched) return ChosenBy::search;
  return any_unknown ? ChosenBy::unknown : ChosenBy::chance;
}

StoredTimes TimesReader::read(std::span<const TimedCase> cases,
                              std::span<const StoredResult* const> kernels) {
  StoredTimes times;
  times.table.ms.resize(cases.size());
  times.result_ids.resize(cases.size());
  times.chosen.resize(cases.size());
  for (const TimedCase& one : cases) times.table.best_ms.push_back(one.best_ms);
  std::set<KernelVersion> seen;
  for (const StoredResult* stored : kernels) {
    if (seen.insert(version_of(*stored)).second) add(*stored, cases, times);
  }
  return times;
}

/// Returns all configurations of a kernel, or if there are too many, its bests and a sample of the
/// others.
const TimesReader::Known& TimesReader::configurations(const Connection& connection,
                                                      std::int64_t kernel_id) {
  const auto [place, is_new] = known_.try_emplace({&connection, kernel_id});
  Known& known = place->second;
  if (!is_new) return known;
  Statement count(connection, R"sql(
    SELECT count(*) AS id FROM kernel JOIN configuration
      ON configuration.space_id = kernel.space_id AND configuration.kernel_name = kernel.name
    WHERE kernel.id = :kernel)sql");
  known.all = static_cast<std::size_t>(count.bind(":kernel", kernel_id).id());
  const bool is_sample = known.all * pairs_ > kMostRead;
  const std::size_t step = is_sample ? known.all * pairs_ / kMostLookups + 1 : 1;
  Statement select(connection, R"sql(
    SELECT configuration.id, configuration.values_json FROM kernel JOIN configuration
      ON configuration.space_id = kernel.space_id AND configuration.kernel_name = kernel.name
    WHERE kernel.id = :kernel AND (configuration.id % :step = 0 OR configuration.id IN
      (SELECT configuration_id FROM best WHERE kernel_id = :kernel)))sql");
  select.bind(":kernel", kernel_id).bind(":step", static_cast<std::int64_t>(step));
  while (select.step()) {
    known.looked[select.integer("id")] = bindings_from_json(select, "values_json");
  }
  if (!is_sample) return known;
  std::string ids;
  for (const auto& [id, values] : known.looked)
    ids += (ids.empty() ? "" : ",") + std::to_string(id);
  known.ids = "[" + ids + "]";
  return known;
}

void TimesReader::add(const StoredResult& kernel, std::span<const TimedCase> cases,
                      StoredTimes& times) {
  struct Its {
    std::int64_t kernel_id = 0;
    const Known* known = nullptr;
    /// Indices of the variants, by configuration id.
    std::map<std::int64_t, std::size_t> variants;
  };
  std::map<const Connection*, Its> databases;
  std::map<std::string, std::size_t>& by_key = times.by_key[version_of(kernel)];
  for (const TimedCase& one : cases) {
    const auto [place, is_new] = databases.try_emplace(one.in);
    if (!is_new) continue;
    Its& its = place->second;
    its.kernel_id = kernel_id(*one.in, kernel);
    its.known = &configurations(*one.in, its.kernel_id);
    times.known += its.known->all;
    for (const auto& [id, values] : its.known->looked) {
      const auto [variant, is_first] = by_key.try_emplace(key(values), times.variants.size());
      its.variants[id] = variant->second;
      if (is_first) {
        times.variants.push_back({.kernel = kernel.result.kernel, .configuration = values});
      } else {
        --times.known;
      }
    }
  }
  for (std::size_t in = 0; in < cases.size(); ++in) {
    std::vector<double>& ms = times.table.ms[in];
    std::vector<std::int64_t>& result_ids = times.result_ids[in];
    ms.resize(times.variants.size(), std::numeric_limits<double>::quiet_NaN());
    result_ids.resize(times.variants.size());
    const Its& its = databases.at(cases[in].in);
    std::set<std::int64_t> run_ids;
    const auto take = [&](const std::vector<Timed>& results, bool runs) {
      for (const Timed& one : results) {
        run_ids.insert(one.run_id);
        const auto found = its.variants.find(one.configuration_id);
        if (found == its.variants.end()) continue;
        ms[found->second] = runs ? one.median_ms : std::numeric_limits<double>::infinity();
        result_ids[found->second] = one.result_id;
      }
    };
    const TimingHistory history =
        TimingHistoryReader(*cases[in].in, {.ids = its.known->ids, .run = run_})
            .read({cases[in].model_id, its.kernel_id, cases[in].problem_id});
    take(history.newest, true);
    take(history.failed, false);
    ChosenBy& chosen = times.chosen[in][version_of(kernel)];
    chosen = chosen_by_runs(*cases[in].in, run_ids);
    const bool is_sample = its.known->looked.size() < its.known->all;
    if (is_sample && chosen == ChosenBy::all) chosen = ChosenBy::chance;
  }
}

}  // namespace smemtune::db
