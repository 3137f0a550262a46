#include "db/export_formats.h"
#include "db/rows.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

namespace smemtune::db {

namespace {

/// Returns one value of each launch, separated by semicolons.
template <typename Value>
std::string of_launches(const Result& result, Value value) {
  std::string text;
  for (std::size_t i = 0; i < result.launches.size(); ++i) {
    text += (i == 0 ? "" : ";") + value(result.launches[i]);
  }
  return text;
}

/// Returns `value` changed to give an empty text for a launch whose resources are unknown.
template <typename Value>
auto if_known(Value value) {
  return [value](const LaunchResult& launch) {
    return launch.resources.known() ? value(launch) : std::string();
  };
}

using CsvRow = std::vector<std::pair<const char*, std::string>>;

CsvRow row(const StoredResult& stored) {
  const Result& result = stored.result;
  const Device& device = stored.device;
  const Measurement& time = result.measurement;
  const auto rate = [&result](const char* metric) {
    return result.metrics.contains(metric) ? csv_number(giga_per_s(result, metric)) : "";
  };
  // Columns that only our own runs know stay empty.
  const bool is_told = is_of_another_tuner(stored);
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  const auto own_flag = [&](bool value) { return is_told ? "" : flag(value); };
  const auto error = [&](double value) { return result.timed() ? csv_number(value) : ""; };
  const std::int64_t samples = std::max(time.sample_count, std::ssize(time.samples_ms));
  return {
      {"space", csv_text(stored.space)},
      {"kernel", csv_text(result.kernel)},
      {"problem", csv_text(key(result.problem))},
      {"device", csv_text(device.name)},
      {"device_kind", to_text(device.kind)},
      {"architecture", csv_text(device.architecture)},
      {"configuration", csv_text(key(result.configuration))},
      {"is_default", own_flag(result.is_default)},
      {"is_reference", own_flag(result.is_reference)},
      {"compared_with", csv_text(to_text(result.coverage()))},
      {"stage", to_text(result.stage)},
      {"median_ms", time.has_median() ? csv_number(time.median_ms) : ""},
      {"median_low_ms", csv_number(time.median_low_ms)},
      {"median_high_ms", csv_number(time.median_high_ms)},
      {"gflop_per_s", rate("flops")},
      {"gb_per_s", rate("bytes")},
      {"grid", of_launches(result, [](const auto& one) { return extents_text(one.shape.grid); })},
      {"block", of_launches(result, [](const auto& one) { return extents_text(one.shape.block); })},
      {"dynamic_shared_bytes",
       of_launches(result,
                   [](const auto& one) { return std::to_string(one.shape.dynamic_shared_bytes); })},
      {"static_shared_bytes",
       of_launches(
           result,
           [](const auto& one) { return std::to_string(one.resources.static_shared_bytes); })},
      {"registers_per_thread", of_launches(result, if_known([](const auto& one) {
                                             return std::to_string(
                                                 one.resources.registers_per_thread);
                                           }))},
      {"spill_bytes", of_launches(result, if_known([](const auto& one) {
                                    return std::to_string(one.resources.spill_store_bytes +
                                                          one.resources.spill_load_bytes);
                                  }))},
      {"occupancy_percent", of_launches(result,
                                        [](const auto& one) {
                                          return one.occupancy.percent > 0
                                                     ? csv_number(one.occupancy.percent)
                                                     : "";
                                        })},
      {"max_absolute_error", error(result.max_absolute_error)},
      {"max_relative_error", error(result.max_relative_error)},
      {"kernel_hash", csv_text(stored.kernel_hash)},
      {"stale", flag(stored.stale)},
      {"driver", csv_text(device.driver_version)},
      {"runtime", csv_text(device.runtime_version)},
      {"compiler", csv_text(stored.compiler)},
      {"tool_version", csv_text(stored.tool_version)},
      {"host", csv_text(stored.host)},
      {"run", csv_text(stored.run_id)},
      {"measured_utc", utc_text(stored.at_unix)},
      {"mean_ms", csv_number(time.mean_ms)},
      {"samples", samples > 0 ? std::to_string(samples) : ""},
      {"imported_from", csv_text(stored.origin ? stored.origin->file : "")},
      {"shared_from", csv_text(stored.shared_from)},
  };
}

std::string line(const CsvRow& row, bool titles) {
  std::string text;
  for (const auto& [title, cell] : row) {
    if (!text.empty() || title != row.front().first) text += ',';
    text += titles ? title : cell;
  }
  return text + "\n";
}

}  // namespace

std::string csv_text(const std::string& text) {
  std::string cell;
  bool quoted = false;
  for (const char c : printable(text)) {
    cell += c;
    if (c == '"') cell += '"';
    quoted = quoted || c == '"' || c == ',';
  }
  if (std::string_view("=+-@ ").find(cell.empty() ? 'x' : cell.front()) != std::string_view::npos) {
    cell.insert(0, "'");
  }
  return quoted ? "\"" + cell + "\"" : cell;
}

std::string csv_number(double value) { return std::isfinite(value) ? shortest(value) : ""; }

std::string export_csv(const std::vector<StoredResult>& best) {
  std::string text = line(row({}), /*titles=*/true);
  for (const StoredResult* stored : in_export_order(best)) text += line(row(*stored), false);
  return text;
}

}  // namespace smemtune::db
