#pragma once

#include "tuner/core/device.h"

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cuda {

struct GpusHere {
  std::vector<Device> gpus;  ///< By their index.
  std::string why_none;  ///< What is missing where there are none: a GPU, its driver, a newer one.
};

/// The GPUs of this machine that can be used. Sets CUDA_MODULE_LOADING, so that no kernel is loaded
/// while one is timed: call it, or cuda_devices(), before anything else of CUDA.
GpusHere find_gpus();

/// The same where there must be some: throws UnavailableError saying what is missing, and what
/// works without.
std::vector<Device> cuda_devices();

/// Return the index of the device that `choice` means: an index, a UUID or its beginning, or a name
/// (meant_names()); of several GPUs of one name the first. Empty: the first. Throws InputError
/// naming the candidates where a name may mean several, UnavailableError naming the devices that
/// are here where it means none.
int select_device(const std::vector<Device>& devices, const std::string& choice);

/// Whether this machine seems to have an NVIDIA GPU, whatever its driver says: to tell "no GPU"
/// from "the driver is broken". Looks below `root`.
bool nvidia_device_present(const std::filesystem::path& root = "/");

}  // namespace smemtune::cuda
