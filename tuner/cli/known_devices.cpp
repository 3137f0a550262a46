#include "tuner/cli/known_devices.h"

#include "db/json_forms.h"
#include "db/result_store.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/devices_file.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/engine/cached_compiler.h"
#include "tuner/engine/private_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

namespace smemtune::cli {
namespace {

std::vector<Device> gpus_here() {
  if (!has_cuda()) return {};
  try {
    return present_gpus();
  } catch (const UnavailableError&) {
    return {};
  }
}

}  // namespace

std::vector<Device> published_devices() {
  return load_devices(share_folder() / "configs" / "devices.json");
}

std::vector<Device> met_devices(const std::filesystem::path& database) {
  if (!std::filesystem::exists(database)) return {};
  const std::vector<Device> published = published_devices();
  std::vector<Device> devices =
      db::ResultStore(database, db::ResultStore::Mode::read_only).devices();
  std::erase_if(devices, [&](const Device& device) {
    return device.kind != DeviceKind::gpu ||
           std::ranges::find(published, device.name, &Device::name) != published.end();
  });
  return devices;
}

Device known_device(const std::string& name, const std::filesystem::path& database) {
  std::vector<Device> devices = published_devices();
  try {
    return find_device(devices, name);
  } catch (const InputError&) {
    const std::vector<Device> met = met_devices(database);
    if (met.empty()) throw;
    devices.insert(devices.end(), met.begin(), met.end());
  }
  return find_device(devices, name);
}

Device device_to_check(const std::string& name, const std::filesystem::path& database) {
  if (!name.empty()) return known_device(name, database);
  const std::vector<Device> gpus = gpus_here();
  if (!gpus.empty()) return gpus.front();
  const Device device = known_device("h200", database);
  say("no GPU here: checking against the published limits of " + device.name +
      " (--device picks another)");
  return device;
}

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

/// Returns whether a GPU is divided, which may change at any time.
bool has_parts(const fs::path& proc) {
  return std::ranges::any_of(entries(proc / "driver/nvidia/capabilities"), [](const fs::path& gpu) {
    return std::ranges::any_of(entries(gpu / "mig"), [](const fs::path& part) {
      return part.filename().string().starts_with("gi");
    });
  });
}

fs::path memory_file() {
  const fs::path folder = default_cache_folder();
  return folder.empty() ? folder : folder / "gpus.json";
}

}  // namespace

std::string gpu_fingerprint(const fs::path& proc, const fs::path& dev) {
  const fs::path driver = proc / "driver/nvidia";
  const std::string version = contents(driver / "version");
  const std::string boot = contents(proc / "sys/kernel/random/boot_id");
  const std::vector<fs::path> gpus = entries(driver / "gpus");
  if (version.empty() || boot.empty() || gpus.empty() || has_parts(proc)) return "";
  std::string text = version + boot;
  for (const fs::path& gpu : gpus) {
    const std::string information = contents(gpu / "information");
    if (information.find("GPU UUID") == std::string::npos) return "";
    text += information;
  }
  for (const fs::path& file : entries(dev)) {
    if (file.filename().string().starts_with("nvidia")) text += file.filename().string() + "\n";
  }
  for (const char* const name :
       {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"}) {
    const char* const value = std::getenv(name);
    text += std::string(name) + (value == nullptr ? "" : "=" + std::string(value)) + "\n";
  }
  return sha256(text);
}

std::vector<Device> take_remembered_gpus(const std::string& fingerprint) {
  const fs::path file = memory_file();
  if (file.empty() || fingerprint.empty()) return {};
  const auto bytes = read_private(file);
  if (!bytes) return {};
  std::vector<Device> gpus;
  try {
    const db::Json json = db::Json::parse(*bytes);
    if (json.at("fingerprint") == fingerprint) {
      for (const auto& gpu : json.at("gpus")) gpus.push_back(db::device_from(gpu));
    }
  } catch (const std::exception&) {  // Something else wrote it.
    gpus.clear();
  }
  std::error_code error;
  fs::remove(file, error);
  return gpus;
}

void remember_gpus(const std::string& fingerprint, const std::vector<Device>& gpus) {
  const fs::path file = memory_file();
  if (file.empty() || fingerprint.empty() || gpus.empty()) return;
  db::Json json = {{"fingerprint", fingerprint}, {"gpus", db::Json::array()}};
  for (const Device& gpu : gpus) json["gpus"].push_back(db::device_json(gpu));
  write_private({file}, json.dump());
}

}  // namespace smemtune::cli
