#include "db/export_csv.h"

#include "db/export_order.h"
#include "tuner/core/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace smemtune::db {

namespace {

/// Stored text, which may come from anywhere.
std::string text_cell(const std::string& text) {
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

/// Empty for what is not a number.
std::string number_cell(double value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 32> text = {};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::string dimensions(const Dim3& size) {
  return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
}

/// One value of each launch, separated by semicolons.
template <typename Value>
std::string of_launches(const Result& result, Value value) {
  std::string text;
  for (std::size_t i = 0; i < result.launches.size(); ++i) {
    text += (i == 0 ? "" : ";") + value(result.launches[i]);
  }
  return text;
}

using Row = std::vector<std::pair<const char*, std::string>>;

Row row(const StoredResult& stored) {
  const Result& result = stored.result;
  const Device& device = stored.device;
  const Measurement& time = result.measurement;
  const auto rate = [&result](const char* metric) {
    return result.metrics.contains(metric) ? number_cell(giga_per_s(result, metric)) : "";
  };
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  return {
      {"space", text_cell(stored.space)},
      {"kernel", text_cell(result.kernel)},
      {"problem", text_cell(key(result.problem))},
      {"device", text_cell(device.name)},
      {"device_kind", to_text(device.kind)},
      {"architecture", text_cell(device.architecture)},
      {"configuration", text_cell(key(result.configuration))},
      {"is_default", flag(result.is_default)},
      {"is_reference", flag(result.is_reference)},
      {"compared_with", to_text(result.compared_with)},
      {"stage", to_text(result.stage)},
      {"median_ms", number_cell(time.median_ms)},
      {"median_low_ms", number_cell(time.median_low_ms)},
      {"median_high_ms", number_cell(time.median_high_ms)},
      {"gflop_per_s", rate("flops")},
      {"gb_per_s", rate("bytes")},
      {"grid", of_launches(result, [](const auto& one) { return dimensions(one.shape.grid); })},
      {"block", of_launches(result, [](const auto& one) { return dimensions(one.shape.block); })},
      {"dynamic_shared_bytes",
       of_launches(result,
                   [](const auto& one) { return std::to_string(one.shape.dynamic_shared_bytes); })},
      {"static_shared_bytes",
       of_launches(
           result,
           [](const auto& one) { return std::to_string(one.resources.static_shared_bytes); })},
      {"registers_per_thread",
       of_launches(
           result,
           [](const auto& one) { return std::to_string(one.resources.registers_per_thread); })},
      {"spill_bytes", of_launches(result,
                                  [](const auto& one) {
                                    return std::to_string(one.resources.spill_store_bytes +
                                                          one.resources.spill_load_bytes);
                                  })},
      {"occupancy_percent",
       of_launches(result, [](const auto& one) { return number_cell(one.occupancy.percent); })},
      {"max_absolute_error", number_cell(result.max_absolute_error)},
      {"max_relative_error", number_cell(result.max_relative_error)},
      {"kernel_hash", text_cell(stored.kernel_hash)},
      {"stale", flag(stored.stale)},
      {"driver", text_cell(device.driver_version)},
      {"runtime", text_cell(device.runtime_version)},
      {"compiler", text_cell(stored.compiler)},
      {"tool_version", text_cell(stored.tool_version)},
      {"host", text_cell(stored.host)},
      {"run", text_cell(stored.run_id)},
      {"measured_utc", utc_text(stored.at_unix)},
  };
}

std::string line(const Row& row, bool titles) {
  std::string text;
  for (const auto& [title, cell] : row) {
    if (!text.empty() || title != row.front().first) text += ',';
    text += titles ? title : cell;
  }
  return text + "\n";
}

}  // namespace

std::string export_csv(const std::vector<StoredResult>& best) {
  std::string text = line(row({}), /*titles=*/true);
  for (const StoredResult* stored : in_export_order(best)) text += line(row(*stored), false);
  return text;
}

}  // namespace smemtune::db
