#pragma once

#include "tuner/core/device.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace smemtune {

/// The GPUs whose limits are published (configs/devices.json). Throws InputError.
std::vector<Device> load_devices(const std::filesystem::path& file);

/// The device that `name` means: a model (`h200`, `NVIDIA H200`; case and vendor do not matter) or
/// an architecture (`sm_90`: the first listed of that compute capability). Throws InputError with
/// the nearest known name.
Device find_device(const std::vector<Device>& devices, std::string_view name);

}  // namespace smemtune
