#include "db/prior_timings.h"

#include "db/columns.h"
#include "db/device_model.h"
#include "db/timing_history.h"
#include "tuner/core/fields.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace smemtune::db {

namespace {

struct Place {
  std::int64_t model_id = 0;
  std::int64_t kernel_id = 0;
  std::int64_t problem_id = 0;
  bool is_wanted = false;
  PriorTimings prior_timings;  ///< Complete except for the times.
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
                                                 bool in_log_too) {
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
    Place place = {.model_id = select.integer("model_id"),
                   .kernel_id = select.integer("kernel_id"),
                   .problem_id = select.integer("problem_id"),
                   .prior_timings = {.device = there.name,
                                     .kernel = select.text("kernel_name"),
                                     .problem = bindings_from_json(select, "problem_json"),
                                     .device_distance = distance(there, device),
                                     .timed = {}}};
    const PriorTimings& its = place.prior_timings;
    const bool is_in_log =
        its.device_distance == 0 && std::ranges::find(problems, its.problem) != problems.end();
    if (!is_in_log || in_log_too) found[its.kernel].push_back(std::move(place));
  }
  return found;
}

void read_times(const Connection& connection, const Place& place, PriorTimings& prior_timings) {
  Statement configuration(connection, "SELECT values_json FROM configuration WHERE id = :id");
  const TimingHistory history =
      read_timing_history(connection, place.model_id, place.kernel_id, place.problem_id);
  for (const Timed& timed : history.newest) {
    configuration.bind(":id", timed.configuration_id).step();
    prior_timings.timed.emplace_back(timed.median_ms,
                                     bindings_from_json(configuration, "values_json"));
    configuration.reset();
  }
}

}  // namespace

std::vector<PriorTimings> read_prior_timings(const Connection& connection, const std::string& space,
                                             const Device& device,
                                             const std::vector<Problem>& problems,
                                             bool in_log_too) {
  std::vector<PriorTimings> all;
  for (auto& [kernel, its_places] : places(connection, space, device, problems, in_log_too)) {
    for (const Problem& problem : problems) {
      std::ranges::stable_sort(its_places, {}, [&](const Place& place) {
        return std::pair(place.prior_timings.problem != problem,
                         place.prior_timings.device_distance);
      });
      for (std::size_t i = 0; i < std::min(kMostPriorTimings, its_places.size()); ++i) {
        its_places[i].is_wanted = true;
      }
    }
    for (Place& place : its_places) {
      if (!place.is_wanted) continue;
      read_times(connection, place, place.prior_timings);
      all.push_back(std::move(place.prior_timings));
    }
  }
  return all;
}

}  // namespace smemtune::db
