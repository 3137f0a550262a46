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

/// Returns what identifies the GPUs that this process can see and their driver, as far as files and
/// the environment tell, without asking the driver; empty where they do not tell enough. `proc` and
/// `dev`: /proc and /dev.
std::string gpu_fingerprint(const std::filesystem::path& proc = "/proc",
                            const std::filesystem::path& dev = "/dev");

/// Returns the GPUs that remember_gpus() was told of, which spares the driver's start: a fifth of a
/// second or more. Forgets them, so that a run which fails is followed by one that asks the driver.
/// Empty if the fingerprint is another one, or nothing is remembered.
std::vector<Device> take_remembered_gpus(const std::string& fingerprint);

/// Remembers GPUs for the next run, in the cache's folder, if there is one and the fingerprint is
/// not empty. Failures are ignored.
void remember_gpus(const std::string& fingerprint, const std::vector<Device>& gpus);

}  // namespace smemtune::cli
