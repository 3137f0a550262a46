#include "tuner/config/devices_file.h"

#include "tuner/config/json_reader.h"
#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/input_file.h"
#include "tuner/core/names.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace smemtune {
namespace {

/// Reads one object of the file: a compute capability's limits, or a model. Throws at the first
/// fault, because the file is part of the project.
class DeviceReader {
 public:
  DeviceReader(const Json& value, std::string where) : value_(value), where_(std::move(where)) {}

  /// Reads the limits that every device of a compute capability has.
  Device read_limits() {
    check_keys({"compute_capability", "max_threads_per_block", "max_threads_per_sm",
                "max_blocks_per_sm", "registers_per_block", "registers_per_sm",
                "shared_bytes_per_block", "max_shared_bytes_per_block", "shared_bytes_per_sm",
                "reserved_shared_bytes_per_block", "max_grid_x", "max_grid_z", "max_block_xy",
                "source"});
    Device device;
    text("source");  // Source of the numbers, for readers of the file.
    read_compute_capability(device);
    device.name = "compute capability " + capability_text(device);
    device.max_threads_per_block = integer<int>("max_threads_per_block", kNeeded);
    device.max_threads_per_sm = integer<int>("max_threads_per_sm", kNeeded);
    device.max_blocks_per_sm = integer<int>("max_blocks_per_sm", kNeeded);
    device.registers_per_block = integer<std::int64_t>("registers_per_block", kNeeded);
    device.registers_per_sm = integer<std::int64_t>("registers_per_sm", kNeeded);
    device.shared_bytes_per_block = integer<std::int64_t>("shared_bytes_per_block", kNeeded);
    device.max_shared_bytes_per_block =
        integer<std::int64_t>("max_shared_bytes_per_block", kNeeded);
    device.shared_bytes_per_sm = integer<std::int64_t>("shared_bytes_per_sm", kNeeded);
    device.reserved_shared_bytes_per_block =
        integer<std::int64_t>("reserved_shared_bytes_per_block", 0);
    device.max_grid_dim[0] = integer<std::int64_t>("max_grid_x", device.max_grid_dim[0]);
    device.max_grid_dim[2] = integer<std::int64_t>("max_grid_z", device.max_grid_dim[2]);
    device.max_block_dim[0] = integer<std::int64_t>("max_block_xy", device.max_block_dim[0]);
    device.max_block_dim[1] = device.max_block_dim[0];
    check(device);
    return device;
  }

  /// Reads a model: its compute capability's limits from `capabilities`, and its own
  /// multiprocessors and memory.
  Device read_model(const std::vector<Device>& capabilities) {
    check_keys({"name", "compute_capability", "sm_count", "memory_bytes", "l2_bytes",
                "memory_bus_bits", "memory_clock_khz", "sm_clock_khz", "ecc", "source"});
    Device device;
    read_compute_capability(device);
    const auto limits = std::ranges::find(capabilities, device.architecture, &Device::architecture);
    if (limits == capabilities.end()) {
      fail("compute_capability",
           quote(capability_text(device)) + " is not one of the file's \"compute_capabilities\"");
    }
    device = *limits;
    device.name = text("name");
    text("source");
    device.sm_count = integer<int>("sm_count", kNeeded);
    if (device.sm_count == 0) fail("sm_count", "is 0");
    device.memory_bytes = integer<std::int64_t>("memory_bytes", 0);
    device.l2_bytes = integer<std::int64_t>("l2_bytes", 0);
    device.memory_bus_bits = integer<int>("memory_bus_bits", 0);
    device.memory_clock_khz = integer<int>("memory_clock_khz", 0);
    device.sm_clock_khz = integer<int>("sm_clock_khz", 0);
    if (value_.contains("ecc")) {
      if (!value_["ecc"].is_boolean()) fail("ecc", "is neither true nor false");
      device.ecc = value_["ecc"].get<bool>();
    }
    return device;
  }

 private:
  static constexpr std::int64_t kNeeded = -1;

  void check_keys(const std::vector<std::string>& keys) const {
    if (!value_.is_object()) fail("", summary(value_) + " is not an object");
    for (const auto& [key, member] : value_.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      fail(key, "unknown key" + suggestion(key, keys));
    }
  }

  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    throw InputError((key.empty() ? where_ : child(where_, key)) + ": " + message);
  }

  const Json& needed(const std::string& key) const {
    if (!value_.contains(key)) fail("", "lacks \"" + key + "\"");
    return value_[key];
  }

  std::string text(const std::string& key) const {
    const Json& found = needed(key);
    if (!found.is_string() || found.get_ref<const std::string&>().empty()) {
      fail(key, summary(found) + " is not a string");
    }
    return found.get<std::string>();
  }

  /// Reads an integer. `otherwise`: the value if the key is missing; kNeeded if it must be there.
  template <typename Integer>
  Integer integer(const std::string& key, std::int64_t otherwise) const {
    if (otherwise != kNeeded && !value_.contains(key)) return static_cast<Integer>(otherwise);
    const Json& found = needed(key);
    if (!found.is_number_integer() || found.get<std::int64_t>() < 0 ||
        found.get<std::int64_t>() > std::int64_t{std::numeric_limits<Integer>::max()}) {
      fail(key, summary(found) + " is not an integer of 0 or more");
    }
    return static_cast<Integer>(found.get<std::int64_t>());
  }

  // Reads a compute capability: "9.0".
  void read_compute_capability(Device& device) const {
    const std::string capability = text("compute_capability");
    const std::size_t dot = capability.find('.');
    const auto is_number = [](const std::string& digits) {
      return !digits.empty() && digits.size() <= 2 &&
             digits.find_first_not_of("0123456789") == std::string::npos;
    };
    if (dot == std::string::npos || !is_number(capability.substr(0, dot)) ||
        !is_number(capability.substr(dot + 1))) {
      fail("compute_capability", quote(capability) + " is not of the form 9.0");
    }
    device.compute_major = std::stoi(capability.substr(0, dot));
    device.compute_minor = std::stoi(capability.substr(dot + 1));
    device.architecture = "sm_";
    device.architecture += std::to_string(device.compute_major);
    device.architecture += std::to_string(device.compute_minor);
  }

  // Refuses limits that contradict each other, which are mistakes in the file.
  void check(const Device& device) const {
    if (device.max_threads_per_block == 0) fail("max_threads_per_block", "is 0");
    if (device.max_threads_per_sm < device.max_threads_per_block) {
      fail("max_threads_per_sm", "is below max_threads_per_block");
    }
    if (device.registers_per_sm < device.registers_per_block) {
      fail("registers_per_sm", "is below registers_per_block");
    }
    if (device.max_shared_bytes_per_block < device.shared_bytes_per_block) {
      fail("max_shared_bytes_per_block", "is below shared_bytes_per_block");
    }
    if (device.shared_bytes_per_sm <
        device.max_shared_bytes_per_block + device.reserved_shared_bytes_per_block) {
      fail("shared_bytes_per_sm",
           "is below max_shared_bytes_per_block and reserved_shared_bytes_per_block together");
    }
  }

  const Json& value_;
  std::string where_;
};

bool has_architecture(const std::vector<Device>& devices, const std::string& architecture) {
  return std::ranges::find(devices, architecture, &Device::architecture) != devices.end();
}

/// Returns whether all devices have the same compute capability, so that any of them will do. False
/// for an empty list.
bool one_architecture(const std::vector<const Device*>& devices) {
  return !devices.empty() && std::ranges::all_of(devices, [&](const Device* device) {
    return device->architecture == devices.front()->architecture;
  });
}

std::string device_names(const std::vector<const Device*>& devices) {
  return joined(devices, ", ", &Device::name);
}

}  // namespace

std::vector<Device> load_devices(const std::filesystem::path& file) {
  const std::string shown = file.string();
  const Json root = parse_json(read_text(file, kMaxFileBytes), shown);
  const auto list = [&](const char* key) -> const Json& {
    if (!root.is_object() || root.size() != 2 || !root.contains(key) || !root[key].is_array() ||
        root[key].empty()) {
      throw InputError(shown +
                       ": is not an object with lists of \"compute_capabilities\" and "
                       "\"devices\" and nothing else");
    }
    return root[key];
  };
  std::vector<Device> capabilities;
  for (std::size_t i = 0; i < list("compute_capabilities").size(); ++i) {
    const std::string where = shown + ": " + child("/compute_capabilities", i);
    Device device = DeviceReader(root["compute_capabilities"][i], where).read_limits();
    if (has_architecture(capabilities, device.architecture)) {
      throw InputError(where + "/compute_capability: " + quote(capability_text(device)) +
                       " occurs twice");
    }
    capabilities.push_back(std::move(device));
  }
  std::vector<Device> devices;
  for (std::size_t i = 0; i < list("devices").size(); ++i) {
    const std::string where = shown + ": " + child("/devices", i);
    Device device = DeviceReader(root["devices"][i], where).read_model(capabilities);
    for (const Device& other : devices) {
      if (name_words(other.name) != name_words(device.name)) continue;
      throw InputError(where + "/name: " + quote(device.name) + " occurs twice");
    }
    devices.push_back(std::move(device));
  }
  // Compute capabilities of which no model is listed are devices as well.
  for (Device& device : capabilities) {
    if (!has_architecture(devices, device.architecture)) devices.push_back(std::move(device));
  }
  return devices;
}

Device find_device(const std::vector<Device>& devices, std::string_view name) {
  std::vector<std::string> names;
  std::vector<std::string> known = {"cpu"};  // Not a GPU of the list, but perhaps meant.
  for (const Device& device : devices) {
    if (device.architecture == name || capability_text(device) == name) return device;
    names.push_back(device.name);
    known.insert(known.end(), {device.name, device.architecture});
  }
  // Several models may contain the words, as `NVIDIA H100 SXM` contains `h100`.
  const std::vector<std::string> meant_models = meant_names(name, names);
  std::vector<const Device*> containing;
  for (const Device& device : devices) {
    const bool is_meant = std::ranges::find(meant_models, device.name) != meant_models.end();
    if (is_meant) containing.push_back(&device);
  }
  if (one_architecture(containing)) return *containing.front();
  const std::string message = "no device " + quote(name) + " is known";
  if (!containing.empty()) {
    throw InputError("device " + quote(name) + " may be any of " + device_names(containing));
  }
  const std::string meant = suggested_device(name, known);
  if (!meant.empty()) throw InputError(message + meant);
  throw InputError(message + " (smemtune devices --known lists the " +
                   std::to_string(devices.size()) +
                   " that are); an architecture such as sm_90 "
                   "or a compute capability such as 9.0 is one too");
}

void fill_capability(const std::vector<Device>& known, Device& device) {
  if (device.kind != DeviceKind::gpu || device.compute_major > 0) return;
  const std::vector<std::string> words = name_words(device.name);
  std::ptrdiff_t most = 0;
  std::set<std::pair<int, int>> capabilities;
  for (const Device& model : known) {
    const std::vector<std::string> its = name_words(model.name);
    const auto end = std::ranges::mismatch(words, its).in1;
    const auto common = end - words.begin();
    const bool has_number = std::any_of(words.begin(), end, [](const std::string& word) {
      return std::ranges::any_of(word, is_digit);
    });
    if (!has_number || common < most) continue;
    if (common > most) capabilities.clear();
    most = common;
    capabilities.insert({model.compute_major, model.compute_minor});
  }
  if (capabilities.size() != 1) return;
  std::tie(device.compute_major, device.compute_minor) = *capabilities.begin();
}

std::string suggested_device(std::string_view name, std::span<const std::string> known) {
  std::vector<std::string> typed;  // Names as people type them.
  for (const std::string& one : known) typed.push_back(joined(name_words(one), ""));
  const std::string nearest = nearest_name(joined(name_words(name), ""), typed);
  if (nearest.empty()) return "";
  const auto place = std::ranges::find(typed, nearest) - typed.begin();
  return "; did you mean " + quote(known[static_cast<std::size_t>(place)]) + "?";
}

}  // namespace smemtune
