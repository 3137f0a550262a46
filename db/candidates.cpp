#include "db/candidates.h"

#include "db/timing_history.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace smemtune::db {

namespace {

constexpr std::size_t kMostCandidates = 64;

/// Returns the configurations that are the best most often, and the default ones, as a JSON array
/// of their ids.
std::string candidates(const Connection& connection, std::int64_t kernel_id,
                       const std::vector<const KernelBest*>& bests) {
  std::map<std::int64_t, int> wins;
  for (const KernelBest* best : bests) ++wins[best->timed.configuration_id];
  std::vector<std::pair<int, std::int64_t>> order;
  for (const auto& [id, count] : wins) order.emplace_back(-count, id);
  std::ranges::sort(order);
  if (order.size() > kMostCandidates) order.resize(kMostCandidates);
  std::set<std::int64_t> ids;
  for (const auto& [count, id] : order) ids.insert(id);
  Statement defaults(connection, R"sql(
    SELECT DISTINCT configuration_id FROM result
    WHERE kernel_id = :kernel AND is_default = 1 AND status = 'correct')sql");
  defaults.bind(":kernel", kernel_id);
  while (defaults.step()) ids.insert(defaults.integer("configuration_id"));
  std::string text;
  for (const std::int64_t id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return "[" + text + "]";
}

}  // namespace

std::vector<std::int64_t> candidate_results(const Connection& connection,
                                            const std::vector<KernelBest>& bests,
                                            const std::string& run) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const KernelBest*>> kernels;
  for (const KernelBest& best : bests) kernels[{best.model_id, best.kernel_id}].push_back(&best);
  std::vector<std::int64_t> ids;
  for (const auto& [kernel, its] : kernels) {
    TimingHistoryReader reader(connection,
                               {.ids = candidates(connection, kernel.second, its), .run = run});
    for (const KernelBest* best : its) {
      const TimingHistory history = reader.read(kernel.first, kernel.second, best->problem_id);
      for (const std::vector<Timed>& results : {history.newest, history.failed}) {
        for (const Timed& one : results) {
          if (one.configuration_id != best->timed.configuration_id) ids.push_back(one.result_id);
        }
      }
    }
  }
  return ids;
}

}  // namespace smemtune::db
