#pragma once

#include "db/planted_results_test_support.h"
#include "reports/report_source.h"

#include <string>
#include <utility>
#include <vector>

// Example sources of reports, for tests.

namespace smemtune {

inline db::StoredResult timed(std::int64_t tile, double ms, Stage stage = Stage::screen) {
  db::StoredResult stored;
  stored.space = "gemm";
  stored.run_id = "first";
  stored.device.name = "NVIDIA H200";
  stored.result = db::planted({{"TILE", tile}}, ms);
  stored.result.problem = {{"N", std::int64_t{4096}}};
  stored.result.stage = stage;
  stored.result.metrics.clear();
  stored.result.compared = {{.problem = {{"N", std::int64_t{8}}},
                             .output = "out",
                             .with = ComparedWith::definition,
                             .compared = 8,
                             .elements_total = 8}};
  stored.result.measurement.median_ms = ms;
  stored.result.measurement.median_low_ms = ms * 0.99;
  stored.result.measurement.median_high_ms = ms * 1.01;
  return stored;
}

inline db::StoredResult failed(std::int64_t tile, Status status, const std::string& reason) {
  db::StoredResult stored = timed(tile, 1);
  stored.result.stage = Stage::none;
  stored.result.measurement = {};
  stored.result.status = status;
  stored.result.reason = reason;
  stored.result.detail = "needs 70000 bytes, 49152 allowed";
  return stored;
}

/// Returns a result that was only compiled, with this many registers and this occupancy.
inline db::StoredResult fitting(std::int64_t tile, int registers, double occupancy_percent) {
  db::StoredResult stored = failed(tile, Status::fits, "");
  stored.result.detail.clear();
  LaunchResult launch;
  launch.shape.block = {tile, 1, 1};
  launch.resources.registers_per_thread = registers;
  launch.resources.static_shared_bytes = 64 * tile;
  launch.occupancy.percent = occupancy_percent;
  stored.result.launches = {launch};
  return stored;
}

/// Returns a source with one section of these results, counted as a store counts them.
inline ReportSource source_of(std::vector<db::StoredResult> results) {
  ReportSource source;
  source.space = "gemm";
  source.defaults = {
      {.space = "gemm", .kernel = "tiled", .configuration = {{"TILE", std::int64_t{16}}}}};
  source.runs.push_back({.id = "first",
                         .space = "gemm",
                         .device = "NVIDIA H200",
                         .host = "node",
                         .compiler = "NVRTC 13.0",
                         .strategy = "auto",
                         .seed = 1,
                         .started_unix = 100,
                         .ended_unix = {},
                         .outcome = "complete",
                         .hosts_state = "",
                         .imported_from = ""});
  db::ProblemResults section;
  section.device = results.front().device;
  section.problem = results.front().result.problem;
  section.results = std::move(results);
  section.configurations = section.results.size();
  for (const db::StoredResult& one : section.results) {
    if (one.result.timed()) ++section.timed;
    if (one.result.failed()) {
      ++section.failures[{one.result.kernel, to_text(one.result.status), one.result.reason}];
    }
  }
  source.sections = {std::move(section)};
  const std::vector<const db::StoredResult*> fastest = by_time(source.sections.front());
  if (!fastest.empty()) source.sections.front().best = {*fastest.front()};
  return source;
}

}  // namespace smemtune
