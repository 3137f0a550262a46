#include "db/json_forms.h"
#include "reports/result_texts.h"
#include "reports/run_summary.h"
#include "reports/table.h"
#include "tuner/core/kernel_binding.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace smemtune {
namespace {

/// Returns true if the larger time exceeds the smaller one by at most `within_percent`.
bool agree(double predicted, double measured, double within_percent) {
  const double factor = 1 + within_percent / 100;
  return measured <= predicted * factor && predicted <= measured * factor;
}

Curve curve(const Space& space, const KernelTemplate& kernel, const ProblemSummary& problem,
            const Device& device) {
  Curve curve;
  curve.kernel = &kernel;
  const Result* start = default_result(problem, kernel.name);
  if (start == nullptr) return curve;
  std::map<std::string, const Result*> timed;
  for (const Result* result : timed_results(problem, kernel.name)) {
    timed[key(result->configuration)] = result;
  }
  const KernelBinding bound(space, kernel, problem.problem, device);
  const auto expected = [&](const Configuration& configuration) {
    return static_cast<double>(bound.expected_time(configuration).value_or(1));
  };
  const SearchSpace& configurations = bound.search_space();
  for (std::uint64_t i = 0; i < configurations.size(); ++i) {
    ExpectedPoint point;
    point.configuration = configurations.configuration(i);
    point.predicted = expected(point.configuration) / expected(start->configuration);
    const auto found = timed.find(key(point.configuration));
    if (found != timed.end()) {
      point.result = found->second;
      point.measured = point.result->measurement.median_ms / start->measurement.median_ms;
      point.seen = agree(point.predicted, point.measured, kernel.expect->within_percent);
    }
    curve.points.push_back(std::move(point));
  }
  return curve;
}

}  // namespace

std::vector<Curve> curves(const Space& space, const ProblemSummary& problem, const Device& device) {
  std::vector<Curve> curves;
  if (device.kind == DeviceKind::cpu) return curves;
  for (const KernelTemplate& kernel : space.kernels) {
    if (!kernel.expect) continue;
    Curve found = curve(space, kernel, problem, device);
    if (!found.points.empty()) curves.push_back(std::move(found));
  }
  return curves;
}

std::string curves_text(const std::vector<Curve>& curves) {
  std::string text;
  for (const Curve& curve : curves) {
    Table table({curve.kernel->name, ">predicted", ">measured", ">time", "seen"});
    for (const ExpectedPoint& point : curve.points) {
      const bool timed = point.result != nullptr;
      table.add_row({key(point.configuration), times(point.predicted),
                     timed ? times(point.measured) : "",
                     timed ? format_time(point.result->measurement.median_ms) : "",
                     !timed       ? "not timed"
                     : point.seen ? "yes"
                                  : "NO"});
    }
    const auto seen = std::ranges::count(curve.points, true, &ExpectedPoint::seen);
    text += "\n" + table.text("  ") + "  seen in " + std::to_string(seen) + " of " +
            std::to_string(curve.points.size()) + ": times relative to " +
            key(curve.kernel->default_configuration) + " within " +
            decimal(curve.kernel->expect->within_percent, 0) + " %\n";
  }
  return text;
}

nlohmann::ordered_json curves_json(const std::vector<Curve>& curves) {
  const auto point_json = [](const ExpectedPoint& point) {
    db::Json entry = {{"configuration", db::bindings_json(point.configuration)},
                      {"predicted", point.predicted}};
    if (point.result != nullptr) entry["measured"] = point.measured;
    entry["seen"] = point.seen;
    return entry;
  };
  return db::list_json(curves, [&](const Curve& curve) -> db::Json {
    return {{"kernel", curve.kernel->name},
            {"within_percent", curve.kernel->expect->within_percent},
            {"points", db::list_json(curve.points, point_json)}};
  });
}

}  // namespace smemtune
