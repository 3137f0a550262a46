#include "reports/result_texts.h"

#include "reports/table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

namespace smemtune {

std::string times(double factor) { return decimal(factor, factor < 10 ? 2 : 1) + "x"; }

std::string status_text(const Result& result) {
  return to_text(result.status) + (result.reason.empty() ? "" : "/" + result.reason);
}

const LaunchResult* tightest_launch(const Result& result) {
  const auto tightest = std::min_element(result.launches.begin(), result.launches.end(),
                                         [](const auto& left, const auto& right) {
                                           return left.occupancy.percent < right.occupancy.percent;
                                         });
  return tightest == result.launches.end() ? nullptr : &*tightest;
}

double metric(const Result& result, const std::string& name) {
  return find_figure(result.metrics, name).value_or(0);
}

std::optional<double> measured_dram_bytes(const Result& result) {
  if (result.launches.empty()) return std::nullopt;
  double bytes = 0;
  for (const LaunchResult& launch : result.launches) {
    for (const char* direction : {"dram_read_bytes", "dram_write_bytes"}) {
      const auto counter = find_figure(launch.facts, std::string(kCounterFacts) + direction);
      if (!counter) return std::nullopt;
      bytes += *counter;
    }
  }
  return bytes;
}

nlohmann::ordered_json rounded_json(double number) {
  if (!std::isfinite(number)) return nullptr;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return std::strtod(text.data(), nullptr);
}

bool has_interval(const Measurement& time) { return time.sample_count > 1 && time.has_median(); }

std::string interval_text(const Measurement& time) {
  if (!has_interval(time)) return "";
  const std::string low = format_time(time.median_low_ms);
  const std::string high = format_time(time.median_high_ms);
  const std::string unit = high.substr(high.find(' '));
  return (low.ends_with(unit) ? low.substr(0, low.size() - unit.size()) : low) + " to " + high +
         " (" + std::to_string(time.sample_count) + ")";
}

nlohmann::ordered_json time_json(const Measurement& time) {
  nlohmann::ordered_json json = {
      {"ms", rounded_json(time.median_ms)}, {"low", nullptr}, {"high", nullptr}, {"n", nullptr}};
  if (has_interval(time)) {
    json["low"] = rounded_json(time.median_low_ms);
    json["high"] = rounded_json(time.median_high_ms);
  }
  if (time.sample_count > 0) json["n"] = time.sample_count;
  return json;
}

nlohmann::ordered_json values_json(const Configuration& configuration) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : configuration) json[name] = to_text(value);
  return json;
}

std::string rates(const Result& result) {
  const double seconds = result.measurement.median_ms * 1e-3;
  std::string text;
  const auto add = [&](const char* name, const char* unit) {
    const auto work = find_figure(result.metrics, name);
    if (work) text += (text.empty() ? "" : ", ") + format_rate(*work / seconds, unit);
  };
  add("flops", "FLOP/s");
  add("bytes", "B/s");
  return text;
}

std::string device_label(const Device& device) {
  return device.kind == DeviceKind::cpu ? device.name + " (CPU)" : device.name;
}

std::vector<const Result*> timed_results(const ProblemSummary& problem, const std::string& kernel) {
  std::vector<const Result*> results;
  for (const Result& result : problem.results) {
    if (result.timed() && (kernel.empty() || result.kernel == kernel)) results.push_back(&result);
  }
  return results;
}

const Result* default_result(const ProblemSummary& problem, const std::string& kernel) {
  for (const Result* result : timed_results(problem, kernel)) {
    if (result->is_default) return result;
  }
  return nullptr;
}

std::string telling_line(const Result& result) {
  const std::string& detail = result.detail;
  std::size_t begin = result.status == Status::compile ? detail.find("error") : std::string::npos;
  begin = begin == std::string::npos ? 0 : detail.rfind('\n', begin) + 1;
  const std::string line = detail.substr(begin, detail.find('\n', begin) - begin);
  const bool is_texture = line.find("texture is not a template") != std::string::npos;
  return line +
         (is_texture ? "; CUDA 12 removed texture references: pass a cudaTextureObject_t" : "");
}

std::string failure_lines(const ProblemSummary& problem) {
  std::map<std::pair<std::string, std::string>, std::vector<const Result*>> groups;
  for (const Result& result : problem.results) {
    if (result.failed()) {
      groups[{to_text(result.status), result.reason}].push_back(&result);
    }
  }
  std::string text = groups.empty() ? "" : "  rejected or failed:\n";
  for (const auto& [group, results] : groups) {
    const Result& example = *results.front();
    text += "  " + std::to_string(results.size()) + " " + group.first + "/" + group.second +
            ", for example " + example.kernel + " " + key(example.configuration) + ": " +
            telling_line(example) + "\n";
  }
  return text;
}

}  // namespace smemtune
