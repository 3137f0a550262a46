#pragma once

#include "tuner/core/device.h"

#include <cstdint>
#include <string>

namespace smemtune::db {

/// Equal for devices whose results may stand for each other: kind, name, limits, memory, cache and
/// ECC. 64 hex digits. Not part of it: the board, driver and runtime, and the clocks.
std::string device_model_key(const Device& device);

/// Memory as it is sold, in bytes. What drivers report is a few per cent less, and differs between
/// their versions, which must not make another model of a device.
std::int64_t nominal_memory_bytes(std::int64_t reported_bytes);

}  // namespace smemtune::db
