#include "db/bests.h"
#include "db/columns.h"
#include "db/result_store.h"
#include "db/rows.h"
#include "tuner/core/fields.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

struct Place {
  ResultGroup group;
  bool is_wanted = false;
  PriorTimings prior_timings;  ///< Complete except for the times and the winner.
  std::int64_t winner_id = 0;  ///< The winner's result; 0 if there is none.
};

int distance(const Device& one, const Device& other) {
  if (device_model_key(one) == device_model_key(other)) return 0;
  const bool same_capability =
      one.compute_major == other.compute_major && one.compute_minor == other.compute_minor;
  return same_capability ? 1 : 2;
}

/// Returns all places that have results of the space, by kernel.
std::map<std::string, std::vector<Place>> places(const Connection& connection,
                                                 const std::string& space, const Device& device,
                                                 const std::vector<Problem>& problems,
                                                 bool is_log) {
  Statement select(connection, R"sql(
    SELECT current_kernel.model_id, current_kernel.kernel_id,
           current_kernel.name AS kernel_name, problem.id AS problem_id,
           problem.values_json AS problem_json, device_model.*
    FROM space
    JOIN current_kernel ON current_kernel.space_id = space.id
    JOIN device_model ON device_model.id = current_kernel.model_id
    JOIN problem ON problem.space_id = space.id
    WHERE space.name = :space AND device_model.kind = :kind
      AND EXISTS (SELECT 1 FROM result
                  WHERE result.model_id = current_kernel.model_id
                    AND result.kernel_id = current_kernel.kernel_id
                    AND result.problem_id = problem.id AND result.status = 'correct')
    ORDER BY current_kernel.model_id, problem.id)sql");
  select.bind(":space", space).bind(":kind", to_text(device.kind));
  std::map<std::string, std::vector<Place>> found;
  while (select.step()) {
    Device there;
    visit_model(there, [&](const char* name, auto& value) { read_column(select, name, value); });
    Place place = {.group = read_group(select),
                   .prior_timings = {.device = there.name,
                                     .kernel = select.text("kernel_name"),
                                     .problem = bindings_from_json(select, "problem_json"),
                                     .device_distance = distance(there, device),
                                     .timed = {}}};
    PriorTimings& its = place.prior_timings;
    its.is_in_log = is_log && its.device_distance == 0 &&
                    std::ranges::find(problems, its.problem) != problems.end();
    place.is_wanted = its.is_in_log;
    found[its.kernel].push_back(std::move(place));
  }
  return found;
}

void read_times(const Connection& connection, const Place& place, PriorTimings& prior_timings) {
  Statement configuration(connection, "SELECT values_json FROM configuration WHERE id = :id");
  const TimingHistory history = TimingHistoryReader(connection).read(place.group);
  for (const Timed& timed : history.newest) {
    configuration.bind(":id", timed.configuration_id).step();
    prior_timings.timed.emplace_back(timed.median_ms,
                                     bindings_from_json(configuration, "values_json"));
    configuration.reset();
  }
}

void read_winner(const Connection& connection, Place& place) {
  Statement select(connection, R"sql(
    SELECT result.id AS result_id, finals, cubin_sha256, values_json
    FROM result JOIN configuration ON configuration.id = result.configuration_id
    WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
      AND stage = 'final' AND status = 'correct' AND chosen = 1
    ORDER BY result.id DESC LIMIT 1)sql");
  if (!bind_group(select, place.group).step()) return;
  place.winner_id = select.integer("result_id");
  FinalsFacts finals;
  read_column(select, "finals", finals);
  if (!finals.searched) return;
  place.prior_timings.winner = {.configuration = bindings_from_json(select, "values_json"),
                                .cubin_sha256 = select.text("cubin_sha256"),
                                .searched = *finals.searched};
}

/// Forgets winners of a kernel where finals chose another kernel later.
void keep_latest_winners(std::vector<Place>& places) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> latest;
  for (const Place& place : places) {
    std::int64_t& id = latest[{place.group.model_id, place.group.problem_id}];
    id = std::max(id, place.winner_id);
  }
  for (Place& place : places) {
    if (latest.at({place.group.model_id, place.group.problem_id}) == place.winner_id) continue;
    place.prior_timings.winner.reset();
  }
}

}  // namespace

std::vector<PriorTimings> ResultStore::prior_timings(const std::string& space, const Device& device,
                                                     const std::vector<Problem>& problems,
                                                     bool is_log) const {
  const Connection& connection = *connection_;
  std::vector<Place> wanted;
  for (auto& [kernel, its_places] : places(connection, space, device, problems, is_log)) {
    for (const Problem& problem : problems) {
      std::ranges::stable_sort(its_places, {}, [&](const Place& place) {
        const PriorTimings& its = place.prior_timings;
        return std::tuple(its.is_in_log, its.problem != problem, its.device_distance);
      });
      for (std::size_t i = 0; i < std::min(kMostPriorTimings, its_places.size()); ++i) {
        its_places[i].is_wanted = true;
      }
    }
    for (Place& place : its_places) {
      if (place.is_wanted) wanted.push_back(std::move(place));
    }
  }
  std::vector<PriorTimings> all;
  for (Place& place : wanted) {
    if (place.prior_timings.device_distance == 0) read_winner(connection, place);
  }
  keep_latest_winners(wanted);
  for (Place& place : wanted) {
    PriorTimings& its = place.prior_timings;
    if (!its.is_in_log) read_times(connection, place, its);
    if (!its.is_in_log || its.winner) all.push_back(std::move(its));
  }
  return all;
}

}  // namespace smemtune::db
