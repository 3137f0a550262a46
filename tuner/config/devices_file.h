#pragma once

#include "tuner/core/device.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// Returns the GPUs whose limits are published (configs/devices.json): the models, then the compute
/// capabilities of which no model is listed. Throws InputError.
std::vector<Device> load_devices(const std::filesystem::path& file);

/// Returns the device that `name` means: a model (`h200`, `NVIDIA H200`; case and vendor do not
/// matter, and `h100` means the first of several that differ in no limit), an architecture
/// (`sm_90`) or a compute capability (`9.0`: the first listed device that has it). Throws
/// InputError with the nearest known name, or with all that the name may mean.
Device find_device(const std::vector<Device>& devices, std::string_view name);

/// Gives a GPU without a compute capability that of the known models whose names begin with the same
/// words as its own, a number among them: `NVIDIA A100-SXM4-40GB` begins as the A100 does. Leaves it
/// unknown where there is none, or where these models differ.
void fill_capability(const std::vector<Device>& known, Device& device);

/// Returns suggestion() for names of devices, ignoring case and vendor.
std::string suggested_device(std::string_view name, std::span<const std::string> known);

}  // namespace smemtune
