#include "tuner/cli/known_devices.h"

#include "db/result_store.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/config/devices_file.h"
#include "tuner/core/error.h"

#include <algorithm>

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

}  // namespace smemtune::cli
