#include "db/stored_times.h"

#include "db/columns.h"
#include "db/standings.h"

#include <limits>
#include <set>

namespace smemtune::db {

namespace {

/// So many results are read at most, in the index's order. Where there are more, some configurations
/// of each kernel are looked up, so many altogether.
constexpr std::size_t kMostRead = 1'000'000;
constexpr std::size_t kMostLookups = 200'000;

std::int64_t id(Statement& select) {
  const std::int64_t found = select.step() ? select.integer("id") : 0;
  select.reset();
  return found;
}

}  // namespace

std::optional<std::size_t> StoredTimes::find(std::int64_t kernel_id,
                                             const Configuration& configuration) const {
  const auto its = by_key.find(kernel_id);
  if (its == by_key.end()) return std::nullopt;
  const auto found = its->second.find(key(configuration));
  return found == its->second.end() ? std::nullopt : std::optional(found->second);
}

StoredTimes TimesReader::read(std::span<const TimedCase> cases,
                              std::span<const StoredResult* const> kernels) {
  StoredTimes times;
  times.table.ms.resize(cases.size());
  times.result_ids.resize(cases.size());
  for (const TimedCase& one : cases) times.table.best_ms.push_back(one.best_ms);
  std::set<std::int64_t> seen;
  for (const StoredResult* stored : kernels) {
    const std::int64_t kernel = kernel_id(*stored);
    if (seen.insert(kernel).second) add(kernel, stored->result.kernel, cases, times);
  }
  return times;
}

std::int64_t TimesReader::kernel_id(const StoredResult& stored) const {
  Statement select(connection_, R"sql(
    SELECT kernel.id FROM kernel JOIN space ON space.id = kernel.space_id
    WHERE space.name = :space AND kernel.name = :name AND kernel.hash = :hash)sql");
  return id(select.bind(":space", stored.space)
                .bind(":name", stored.result.kernel)
                .bind(":hash", stored.kernel_hash));
}

std::int64_t TimesReader::problem_id(const std::string& space, const Problem& problem) const {
  Statement select(connection_, R"sql(
    SELECT problem.id FROM problem JOIN space ON space.id = problem.space_id
    WHERE space.name = :space AND problem.key = :key)sql");
  return id(select.bind(":space", space).bind(":key", key(problem)));
}

/// All configurations of a kernel, or where those are too many its bests and some of the others.
const TimesReader::Known& TimesReader::configurations(std::int64_t kernel_id) {
  const auto [place, is_new] = known_.try_emplace(kernel_id);
  Known& known = place->second;
  if (!is_new) return known;
  Statement count(connection_, R"sql(
    SELECT count(*) AS id FROM kernel JOIN configuration
      ON configuration.space_id = kernel.space_id AND configuration.kernel_name = kernel.name
    WHERE kernel.id = :kernel)sql");
  known.all = static_cast<std::size_t>(id(count.bind(":kernel", kernel_id)));
  const bool is_sample = known.all * pairs_ > kMostRead;
  const std::size_t step = is_sample ? known.all * pairs_ / kMostLookups + 1 : 1;
  Statement select(connection_, R"sql(
    SELECT configuration.id, configuration.values_json FROM kernel JOIN configuration
      ON configuration.space_id = kernel.space_id AND configuration.kernel_name = kernel.name
    WHERE kernel.id = :kernel AND (configuration.id % :step = 0 OR configuration.id IN
      (SELECT configuration_id FROM best WHERE kernel_id = :kernel)))sql");
  select.bind(":kernel", kernel_id).bind(":step", static_cast<std::int64_t>(step));
  while (select.step()) {
    known.looked[select.integer("id")] = bindings_from_json(select, "values_json");
  }
  if (!is_sample) return known;
  for (const auto& [id, values] : known.looked) {
    known.ids += (known.ids.empty() ? "[" : ",") + std::to_string(id);
  }
  known.ids += "]";
  return known;
}

void TimesReader::add(std::int64_t kernel_id, const std::string& kernel,
                      std::span<const TimedCase> cases, StoredTimes& times) {
  const Known& known = configurations(kernel_id);
  times.known += known.all;
  std::map<std::int64_t, std::size_t> variant;
  for (const auto& [id, values] : known.looked) {
    variant[id] = times.variants.size();
    times.by_key[kernel_id][key(values)] = times.variants.size();
    times.variants.push_back({.kernel = kernel, .configuration = values});
  }
  for (std::size_t in = 0; in < cases.size(); ++in) {
    std::vector<double>& ms = times.table.ms[in];
    std::vector<std::int64_t>& result_ids = times.result_ids[in];
    ms.resize(times.variants.size(), std::numeric_limits<double>::quiet_NaN());
    result_ids.resize(times.variants.size());
    const auto take = [&](const std::vector<Timed>& results, bool runs) {
      for (const Timed& one : results) {
        const auto found = variant.find(one.configuration_id);
        if (found == variant.end()) continue;
        ms[found->second] = runs ? one.median_ms : std::numeric_limits<double>::infinity();
        result_ids[found->second] = one.result_id;
      }
    };
    const Standings standings =
        read_standings(connection_, cases[in].model_id, kernel_id, cases[in].problem_id,
                       {.ids = known.ids, .run = run_});
    take(standings.newest, true);
    take(standings.failed, false);
  }
}

}  // namespace smemtune::db
