#include "reports/device_names.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

namespace smemtune {

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
