#pragma once

#include "tuner/core/device.h"

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

/// The GPUs whose limits are published (configs/devices.json).
std::vector<Device> published_devices();

/// The GPUs that runs in this database were on and that are not among the published by the same
/// name; none where there is no database. Throws StoreError.
std::vector<Device> met_devices(const std::filesystem::path& database);

/// The device that `name` means (find_device), by what is published, else by what the database
/// has met. Throws InputError, StoreError.
Device known_device(const std::string& name, const std::filesystem::path& database);

/// The device that something is to be checked against without being run: `name`; where it is empty
/// the first GPU here, else the H200, which stderr is told.
Device device_to_check(const std::string& name, const std::filesystem::path& database);

}  // namespace smemtune::cli
