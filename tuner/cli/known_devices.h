#pragma once

#include "tuner/core/device.h"

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

/// Returns the GPUs whose limits are published (configs/devices.json).
std::vector<Device> published_devices();

/// Returns the GPUs that runs in this database used and that are not published under the same name;
/// empty if there is no database. Throws StoreError.
std::vector<Device> met_devices(const std::filesystem::path& database);

/// Returns the device that `name` means (find_device), looking first among the published devices,
/// then among those in the database. Throws InputError, StoreError.
Device known_device(const std::string& name, const std::filesystem::path& database);

/// Returns the device to check against without running anything: `name`; if it is empty, the first
/// GPU in this machine, otherwise the H200, which is reported on stderr.
Device device_to_check(const std::string& name, const std::filesystem::path& database);

}  // namespace smemtune::cli
