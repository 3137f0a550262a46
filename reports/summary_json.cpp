#include "db/json_forms.h"
#include "reports/energy.h"
#include "reports/portfolio_report.h"
#include "reports/result_texts.h"
#include "reports/run_summary.h"
#include "tuner/core/derived_tolerance.h"

#include <nlohmann/json.hpp>

namespace smemtune {
namespace {

using db::Json;

Json derived_json(const DerivedTolerance& derived) {
  const Tolerance allowed = tolerance_of(derived, derived.factor);
  return {{"problem", db::bindings_json(parse_key(derived.problem))},
          {"output", derived.output},
          {"compared_with", derived.truth},
          {"absolute", *allowed.absolute},
          {"relative", *allowed.relative},
          {"ulps", *allowed.ulps},
          {"factor", derived.factor},
          {"reference_error", derived.largest_error},
          {"largest_value", derived.largest_value},
          {"elements", derived.elements},
          {"data_sets", derived.data_sets}};
}

Json problem_json(const Space& space, const ProblemSummary& problem, const Device& device,
                  const Objective& objective) {
  const auto tie_json = [](const Result& tie) -> Json {
    return {{"kernel", tie.kernel}, {"configuration", db::bindings_json(tie.configuration)}};
  };
  Json entry = {{"problem", db::bindings_json(problem.problem)},
                {"cartesian", problem.cartesian},
                {"valid", db::or_null(problem.valid)},
                {"evaluated", problem.evaluated},
                {"known", problem.known},
                {"best", problem.best() ? db::result_json(*problem.best()) : Json(nullptr)},
                {"kernel_bests", db::list_json(problem.bests.kernels, db::result_json)},
                {"ties", db::list_json(problem.bests.tied, tie_json)},
                {"results", db::list_json(problem.results, db::result_json)}};
  if (problem.static_rejects) {
    entry["static_rejects"] = {
        {"would_reject", problem.static_rejects->rejected},
        {"top", problem.static_rejects->top},
        {"lost", db::list_json(problem.static_rejects->lost, db::result_json)}};
  }
  if (problem.unfinished) {
    entry["unfinished"] = {{"chance_of_better", db::or_null(problem.unfinished->chance_of_better)},
                           {"percent", problem.unfinished->percent},
                           {"by_itself", problem.unfinished->by_itself},
                           {"evaluations", problem.unfinished->evaluations},
                           {"elsewhere", problem.unfinished->elsewhere},
                           {"last_gain", problem.unfinished->last_gain}};
  }
  if (const std::string sure = how_sure(problem); !sure.empty()) entry["how_sure"] = sure;
  const std::vector<Curve> predicted = curves(space, problem, device);
  if (!predicted.empty()) entry["expectations"] = curves_json(predicted);
  if (problem.transfers) {
    entry["transfers"] = {{"to_device_ms", problem.transfers->to_device_ms},
                          {"to_host_ms", problem.transfers->to_host_ms},
                          {"to_device_bytes", problem.transfers->to_device_bytes},
                          {"to_host_bytes", problem.transfers->to_host_bytes},
                          {"host_memory", "pageable"}};
  }
  if (!problem.without_effect.empty()) entry["without_effect"] = problem.without_effect;
  if (!problem.derived.empty()) {
    entry["derived_tolerances"] = db::list_json(problem.derived, derived_json);
  }
  if (problem.best()) {
    const Json facts = db::finals_json(problem.best()->finals);
    for (const char* const fact : {"noise_percent", "default_slower", "cpu_checks"}) {
      if (facts.is_object() && !facts[fact].empty()) entry[fact] = facts[fact];
    }
  }
  if (Json energy = energy_json(timed_results(problem), objective); !energy.is_null()) {
    entry["energy"] = std::move(energy);
  }
  return entry;
}

}  // namespace

std::string summary_json(const Space& space, const TuningSummary& summary, const Device& device,
                         const std::vector<AlsoFits>& also_fits, const Objective& objective) {
  const auto form = [&](const ProblemSummary& problem) {
    return problem_json(space, problem, device, objective);
  };
  Json document = {{"space", space.name},
                   {"device", db::device_json(device)},
                   {"interrupted", summary.interrupted},
                   {"out_of_budget", summary.out_of_budget},
                   {"elapsed_s", summary.elapsed_s},
                   {"device_s", summary.device_s},
                   {"evaluated", summary.evaluated},
                   {"worker_deaths", summary.worker_deaths},
                   {"evaluated_on", summary.evaluated_on},
                   {"problems", db::list_json(summary.problems, form)}};
  if (const auto one = one_for_all(summary)) document["one_for_all"] = one_for_all_json(*one);
  if (!also_fits.empty()) document["also_fits"] = also_fits_json(also_fits);
  return db::document_text("smemtune-run", 2, document);
}

}  // namespace smemtune
