#include "reports/result_texts.h"

#include "reports/table.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
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

namespace {

bool is_vendor(std::string_view word) {
  static constexpr std::array<std::string_view, 9> kWords = {
      "NVIDIA", "AMD", "Intel", "Tesla", "Quadro", "GeForce", "Radeon", "PRO", "Instinct"};
  return std::ranges::find(kWords, word) != kWords.end();
}

/// Returns whether the word says how a model is built and not which it is.
bool is_build(std::string_view word) {
  static constexpr std::array<std::string_view, 7> kWords = {"PCIe", "PCIE", "SXM", "SXM2",
                                                             "SXM4", "SXM5", "HBM3"};
  const bool is_size = word.size() > 2 && word.ends_with("GB") && is_digit(word.front());
  return is_size || std::ranges::find(kWords, word) != kWords.end();
}

/// Returns the name without its vendor and without the words at its end that is_build() knows.
std::string model_text(const std::string& name) {
  std::string text = device_name_text(name, DeviceKind::gpu);
  for (;;) {
    const std::size_t before = text.find_last_of(" -");
    if (before == std::string::npos || before == 0) return text;
    if (!is_build(std::string_view(text).substr(before + 1))) return text;
    text.resize(before);
  }
}

}  // namespace

std::string device_name_text(const std::string& name, DeviceKind kind) {
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = name.find(' ', begin);
    if (end == std::string::npos || !is_vendor(std::string_view(name).substr(begin, end - begin)))
      break;
    begin = end + 1;
  }
  return name.substr(begin) + (kind == DeviceKind::cpu ? " (CPU)" : "");
}

std::vector<std::string> short_device_names(const std::vector<Device>& devices) {
  const auto cpus = std::ranges::count(devices, DeviceKind::cpu, &Device::kind);
  const auto shared = [&](const Device& device, const auto& form) {
    const std::string text = form(device);
    return std::ranges::any_of(devices, [&](const Device& other) {
      return other.name != device.name && form(other) == text;
    });
  };
  const auto model = [](const Device& device) { return model_text(device.name); };
  const auto no_vendor = [](const Device& device) {
    return device_name_text(device.name, device.kind);
  };
  std::vector<std::string> names;
  for (const Device& device : devices) {
    const bool is_cpu = device.kind == DeviceKind::cpu;
    names.push_back(is_cpu && cpus == 1                 ? "CPU"
                    : !is_cpu && !shared(device, model) ? model(device)
                    : !shared(device, no_vendor)        ? no_vendor(device)
                                                        : device.name);
  }
  return names;
}

std::vector<std::string> column_names(const db::Comparison& comparison) {
  std::vector<Device> devices;
  for (const db::Comparison::Column& column : comparison.columns) {
    devices.push_back(column.device);
  }
  const std::vector<std::string> plain = short_device_names(devices);
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const db::Comparison::Column& column = comparison.columns[i];
    std::string name = plain[i];
    if (std::ranges::count(plain, name) > 1) {
      name += " (" + source_word(column.shared_from, column.is_imported) + ")";
    }
    std::string unique = name;
    for (int number = 2; !taken.insert(unique).second; ++number) {
      unique = name + " #" + std::to_string(number);
    }
    names.push_back(std::move(unique));
  }
  return names;
}

std::string source_word(const std::string& shared_from, bool is_imported) {
  if (shared_from.starts_with("shipped/")) return "shipped";
  if (!shared_from.empty()) return shared_from;
  return is_imported ? "imported" : "own";
}

std::string source_file(const db::StoredResult& stored) {
  if (!stored.shared_from.empty()) return stored.shared_from;
  return stored.origin ? std::filesystem::path(stored.origin->file).filename().string() : "";
}

}  // namespace smemtune
