#pragma once

#include "tuner/core/device.h"

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cuda {

struct GpusHere {
  std::vector<Device> gpus;  ///< Usable GPUs, by index.
  /// Names what is missing if there are none: a GPU, its driver, a newer one.
  std::string why_none;
};

/// Returns the GPUs of this machine that can be used. Sets CUDA_MODULE_LOADING, so that no kernel
/// is loaded while one is timed; so call it, or cuda_devices(), before any other function of CUDA.
GpusHere find_gpus();

/// Returns find_gpus().gpus. Throws UnavailableError if there are none, saying what is missing and
/// what works without a GPU.
std::vector<Device> cuda_devices();

/// Returns the index of the device that `choice` means: an index, a UUID or its beginning, or a
/// name (meant_names()); of several GPUs with the same name the first. An empty choice means the
/// first device. Throws InputError naming the candidates if a name may mean several devices, and
/// UnavailableError naming the devices that are here if the choice means none.
int select_device(const std::vector<Device>& devices, const std::string& choice);

/// Returns true if this machine seems to have an NVIDIA GPU, whatever its driver says:
/// distinguishes "no GPU" from "the driver is broken". Looks below `root`.
bool nvidia_device_present(const std::filesystem::path& root = "/");

}  // namespace smemtune::cuda
