#include "tuner/cli/winner_fits.h"

#include "tuner/core/error.h"
#include "tuner/engine/fit_check.h"
#include "tuner/engine/worker_pool.h"

namespace smemtune::cli {
namespace {

FitQuestion question(const TuningRequest& request, const Result& winner) {
  return {.kernel = request.space->kernel(winner.kernel),
          .problem = winner.problem,
          .configuration = winner.configuration};
}

std::vector<Result> compile_for(const TuningRequest& request, const std::vector<Result>& all,
                                const Device& device, const DeviceChoice& choice) {
  std::vector<FitQuestion> questions;
  for (const Result& winner : all) questions.push_back(question(request, winner));
  const auto pool = std::make_shared<WorkerPool>(compile_workers_for(choice, device));
  return check_fit(*request.space, request.sources, questions, device, *pool);
}

/// Judges a winner by the resources that it uses on the device where it was tuned.
Result judge_by_resources(const TuningRequest& request, const Result& winner,
                          const Device& device) {
  std::vector<Resources> resources;
  for (const LaunchResult& launch : winner.launches) resources.push_back(launch.resources);
  return judge_fit(*request.space, question(request, winner), resources, device);
}

AlsoFits check(const TuningRequest& request, const std::vector<Result>& all, DeviceKind tuned_on,
               const Device& device, const DeviceChoice& choice) {
  AlsoFits fits;
  fits.device = device;
  std::vector<Result> there;
  try {
    there = compile_for(request, all, device, choice);
  } catch (const UnavailableError& error) {
    fits.not_compiled = error.what();
    fits.registers_known = tuned_on == DeviceKind::gpu;
    for (const Result& winner : all) there.push_back(judge_by_resources(request, winner, device));
  }
  for (std::size_t i = 0; i < all.size(); ++i) fits.winners.push_back({all[i], there[i]});
  return fits;
}

}  // namespace

std::vector<AlsoFits> check_also_fits(const TuningRequest& request, const TuningSummary& summary,
                                      DeviceKind tuned_on, const std::vector<Device>& devices,
                                      const DeviceChoice& choice) {
  std::vector<Result> all;
  for (const ProblemSummary& problem : summary.problems) {
    const std::vector<Result> of_problem = winners(problem);
    all.insert(all.end(), of_problem.begin(), of_problem.end());
  }
  std::vector<AlsoFits> result;
  if (all.empty()) return result;
  for (const Device& device : devices) {
    result.push_back(check(request, all, tuned_on, device, choice));
  }
  return result;
}

}  // namespace smemtune::cli
