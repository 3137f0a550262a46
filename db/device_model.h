#pragma once

#include "tuner/core/device.h"

#include <cstdint>
#include <string>

namespace smemtune::db {

/// Returns a key of 64 hex digits that is equal for devices whose results are interchangeable. It
/// covers kind, name, limits, memory, cache and ECC, but not the board, driver, runtime or clocks.
std::string device_model_key(const Device& device);

/// Returns the memory size that the device is sold with, in bytes. Drivers report a few per cent
/// less, and how much depends on their version, which must not make a different device model.
std::int64_t nominal_memory_bytes(std::int64_t reported_bytes);

}  // namespace smemtune::db
