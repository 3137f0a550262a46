// Writes pages for page_test.mjs and for viewing: one of stored results, one where every string
// contains markup, a run in progress and (live.json) its end, a dry run, and two versions. With a
// number, writes a single page with this many configurations.
//
//   report_example_pages FOLDER [CONFIGURATIONS]

#include "reports/report_page.h"
#include "reports/report_source_examples_test_support.h"
#include "reports/version_diff.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <type_traits>

namespace smemtune {
namespace {

const std::string kHostile = "</script><img src=x onerror=\"document.title='taken'\">";

void write(const std::filesystem::path& file, const nlohmann::ordered_json& data,
           const std::string& title) {
  std::ofstream(file) << report_page(data, title, embedded_charts());
}

/// Returns a result with parameters and resources, and of the finals if it is fast.
db::StoredResult example(std::int64_t n) {
  const std::int64_t tile = 8 << n % 5;
  const std::int64_t unroll = 1 + n / 5 % 8;
  const std::int64_t rows = 1 + n / 40 % 16;
  const double wave = std::sin(static_cast<double>(n) * 0.7);
  const double ms = 1 + 0.04 * std::abs(static_cast<double>(tile) - 32) +
                    0.05 * static_cast<double>(unroll) + 0.3 * wave * wave +
                    0.001 * static_cast<double>(rows);
  db::StoredResult stored = timed(tile, ms, ms < 1.2 ? Stage::final : Stage::screen);
  stored.result.configuration["UNROLL"] = unroll;
  stored.result.configuration["ROWS"] = rows;
  stored.result.configuration["STAGES"] = n / 640 % 7;
  stored.result.configuration["VEC"] = 1 << n / 4480 % 8;
  stored.result.kernel = n % 3 == 0 ? "naive" : "tiled";
  stored.result.metrics = {{"flops", 1e9 * ms * (1 + wave * wave)}, {"bytes", 1e8}};
  LaunchResult launch;
  launch.shape.block = {tile, 4, 1};
  launch.resources.registers_per_thread = static_cast<int>(16 + 8 * unroll);
  launch.resources.static_shared_bytes = 64 * tile;
  launch.occupancy.percent = 100.0 / static_cast<double>(unroll);
  if (stored.result.stage == Stage::final) {
    launch.facts = {{"code.instructions", 100.0 + static_cast<double>(n)},
                    {"code.shared_load_4_bytes", 8.0 * static_cast<double>(unroll)},
                    {"code.fp32_fma", 64},
                    {"counter.dram_read_bytes", 6e8 * ms},
                    {"counter.dram_write_bytes", 1e8},
                    {"counter.dram_percent", 20 / ms},
                    {"counter.shared_bank_conflicts", 32.0 * static_cast<double>(tile)},
                    {"energy.joules_per_launch", 0.4 / ms + 0.1 * wave * wave},
                    {"energy.mean_watts", 300 + 100 * wave}};
  }
  stored.result.launches = {launch};
  if (n % 11 == 0) {
    stored.result.status = Status::compile;
    stored.result.reason = "error";
    stored.result.detail = "error: identifier \"tid\" is undefined";
    stored.result.stage = Stage::none;
    stored.result.measurement = {};
    stored.result.launches.clear();
  }
  return stored;
}

/// Returns a history in which a new driver made the winner slower.
WinnerHistory history(const db::StoredResult& winner) {
  WinnerHistory history = {.winner = winner, .points = {}, .changes = {}};
  for (int n = 0; n < 14; ++n) {
    db::StoredResult point = winner;
    const double factor = (n < 8 ? 1 : 1.06) * (1 + 0.004 * std::sin(5.0 * n));
    for (double* ms : {&point.result.measurement.median_ms, &point.result.measurement.median_low_ms,
                       &point.result.measurement.median_high_ms}) {
      *ms *= factor;
    }
    point.at_unix = 1.79e9 + 86400.0 * 7 * n;
    point.device.driver_version = n < 8 ? "12.8" : "13.0";
    point.device.runtime_version = "12.9";
    history.points.push_back(point);
  }
  history.changes = {{.first = 8,
                      .before = winner.result.measurement.median_ms,
                      .after = winner.result.measurement.median_ms * 1.06,
                      .p = 0.0002}};
  return history;
}

ReportSource examples(std::int64_t count) {
  std::vector<db::StoredResult> results;
  for (std::int64_t n = 1; n <= count; ++n) results.push_back(example(n));
  for (db::StoredResult& one : results) {
    one.device.sm_count = 132;
    one.device.compute_major = 9;
    one.device.sm_clock_khz = 1'980'000;
    one.device.memory_clock_khz = 3'201'000;
    one.device.memory_bus_bits = 6144;
  }
  ReportSource source = source_of(std::move(results));
  db::ProblemResults& section = source.sections[0];
  section.best.clear();
  source.defaults.clear();
  for (const char* kernel : {"tiled", "naive"}) {
    std::vector<const db::StoredResult*> timed = by_time(section);
    std::erase_if(timed, [kernel](auto* one) { return one->result.kernel != kernel; });
    section.best.push_back(*timed.front());
    source.defaults.push_back({.space = source.space,
                               .kernel = kernel,
                               .configuration = timed.back()->result.configuration});
  }
  section.results[1].result.launches.front().facts["code.local_load_4_bytes"] = 2;
  source.histories = {history(section.best.front())};
  section.convergence = {
      {1, 0.5, 4}, {20, 3, 2}, {40, 9, section.best[0].result.measurement.median_ms}};
  return source;
}

/// Returns two devices, each with the other's best, one of which does not run.
db::Comparison devices(const ReportSource& source) {
  db::Comparison comparison;
  db::Comparison::Row row;
  row.problem = source.sections[0].problem;
  for (const char* name : {"NVIDIA H100", "NVIDIA H200"}) {
    const std::size_t column = comparison.columns.size();
    comparison.columns.push_back(
        {.shared_from = "", .device = db::planted_device(name), .label = name});
    row.gpus.push_back(column);
    row.best[column] = source.sections[0].best[0];
    row.best[column].result.configuration["TILE"] = std::int64_t{8} << column;
  }
  const std::vector<double> guest_ms = {1.2};
  row.guests = {
      {.on = 0,
       .best_of = 1,
       .share = 0.93,
       .time = summarize(guest_ms),
       .failure = "",
       .slower = {}},
      {.on = 1, .best_of = 0, .share = 0, .time = {}, .failure = "constraints", .slower = {}}};
  comparison.rows.push_back(row);
  return comparison;
}

/// Returns the source with markup added to every string.
ReportSource hostile(ReportSource source) {
  const auto spoil = [](std::string& text) { text += kHostile; };
  const auto spoil_bindings = [&](auto& bindings) {
    std::remove_cvref_t<decltype(bindings)> spoilt;
    for (const auto& [name, value] : bindings) spoilt[name + kHostile] = to_text(value) + kHostile;
    bindings = spoilt;
  };
  const auto spoil_result = [&](db::StoredResult& one) {
    for (std::string* text : {&one.device.name, &one.run_id, &one.result.kernel}) spoil(*text);
    spoil_bindings(one.result.problem);
    spoil_bindings(one.result.configuration);
    if (!one.result.failed()) return;
    spoil(one.result.reason);
    spoil(one.result.detail);
  };
  spoil(source.space);
  for (db::ProblemResults& section : source.sections) {
    spoil(section.device.name);
    spoil_bindings(section.problem);
    std::ranges::for_each(section.results, spoil_result);
    std::ranges::for_each(section.best, spoil_result);
    std::map<db::ProblemResults::Failure, std::uint64_t> failures;
    for (const auto& [failure, count] : section.failures) {
      failures[{failure.kernel + kHostile, failure.status, failure.reason + kHostile}] = count;
    }
    section.failures = failures;
  }
  for (WinnerHistory& one : source.histories) {
    spoil_result(one.winner);
    for (db::StoredResult& point : one.points) {
      for (std::string* text : {&point.device.driver_version, &point.device.runtime_version}) {
        spoil(*text);
      }
    }
  }
  for (db::KernelDefaults& one : source.defaults) {
    spoil(one.kernel);
    spoil_bindings(one.configuration);
  }
  for (db::StoredRun& run : source.runs) {
    for (std::string* text : {&run.id, &run.device, &run.host, &run.compiler, &run.strategy,
                              &run.outcome, &run.imported_from})
      spoil(*text);
  }
  for (db::Comparison::Column& column : source.devices->columns) {
    spoil(column.device.name);
    spoil(column.label);
  }
  for (db::Comparison::Row& row : source.devices->rows) {
    spoil_bindings(row.problem);
    for (auto& [column, best] : row.best) spoil_result(best);
    for (db::Comparison::Guest& guest : row.guests) {
      if (!guest.failure.empty()) spoil(guest.failure);
    }
  }
  return source;
}

VersionDiff versions() {
  VersionDiff diff{.space = "gemm" + kHostile,
                   .old_name = "main:gemm.json" + kHostile,
                   .new_name = kHostile,
                   .device = "H200" + kHostile};
  diff.notes = {kHostile};
  for (const double percent : {-4.0, 0.2, 12.0}) {
    diff.pairs.push_back({.problem = {{"N", std::int64_t{4096}}},
                          .what = "winner" + kHostile,
                          .old_one = {"tiled" + kHostile, {{"TILE", std::int64_t{8}}}},
                          .new_one = {"tiled", {{"TILE", std::int64_t{16}}}},
                          .old_result = timed(8, 2).result,
                          .new_result = timed(16, 2 * (1 + percent / 100)).result,
                          .slower = Slowdown{percent, percent - 0.4, percent + 0.5}});
  }
  diff.pairs.push_back(diff.pairs.front());
  diff.pairs.back().new_result = failed(16, Status::correctness, kHostile).result;
  diff.pairs.back().slower.reset();
  return diff;
}

ReportSource dry_run() {
  std::vector<db::StoredResult> results;
  for (std::int64_t n = 1; n <= 12; ++n) {
    results.push_back(fitting(16 * n, static_cast<int>(16 * n), 100.0 / static_cast<double>(n)));
    results.back().result.configuration["UNROLL"] = n % 3;
    if (n % 3 == 0) results.back().result.kernel = "naive";
    if (n % 4 == 0) results.back() = failed(16 * n, Status::constraints, "shared_bytes");
  }
  return source_of(std::move(results));
}

int write_pages(int argc, char** argv) {
  try {
    if (argc < 2) {
      std::fputs("report_example_pages FOLDER [CONFIGURATIONS]\n", stderr);
      return 2;
    }
    const std::filesystem::path folder = argv[1];
    if (argc > 2) {
      write(folder / "many.html", report_json(examples(std::atoll(argv[2]))), "many - smemtune");
      return 0;
    }
    ReportSource source = examples(400);
    source.devices = devices(source);
    write(folder / "stored.html", report_json(source), "gemm - smemtune");
    write(folder / "hostile.html", report_json(hostile(source)), kHostile);
    nlohmann::ordered_json live = report_json(examples(40));
    live["live"] = {{"run", "first"}, {"device", ""}, {"state", "running"}, {"version", 1}};
    write(folder / "live.html", live, "live - smemtune");
    live = report_json(source);
    live["live"] = {{"run", "first"}, {"device", ""}, {"state", "complete"}, {"version", 2}};
    std::ofstream(folder / "live.json") << live;
    write(folder / "dry.html", report_json(dry_run()), "dry - smemtune");
    write(folder / "versions.html", version_diff_view(versions()), "versions - smemtune");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "report_example_pages: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace smemtune

int main(int argc, char** argv) { return smemtune::write_pages(argc, argv); }
