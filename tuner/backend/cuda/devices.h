#pragma once

#include "tuner/core/device.h"

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// The GPUs of this machine, by their index. Sets CUDA_MODULE_LOADING, so that no kernel is loaded
/// while one is timed: call it before anything else of CUDA. Throws UnavailableError saying what is
/// missing: a GPU, its driver, or a newer one.
std::vector<Device> cuda_devices();

/// Index of the device that `choice` means: an index, a UUID (or its beginning), or part of a name,
/// in any case. Empty: the first. Throws UnavailableError naming the devices that are here.
int select_device(const std::vector<Device>& devices, const std::string& choice);

/// Whether this machine seems to have an NVIDIA GPU, whatever its driver says: to tell "no GPU"
/// from "the driver is broken". Looks below `root`.
bool nvidia_device_present(const std::filesystem::path& root = "/");

}  // namespace smemtune::cuda
