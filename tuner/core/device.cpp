#include "tuner/core/device.h"

#include "tuner/core/error.h"

namespace smemtune {

namespace {

std::int64_t memory_bytes_per_cycle(const Device& device) {
  if (device.sm_clock_khz <= 0) return 0;
  return std::int64_t{2} * device.memory_bus_bits / 8 * device.memory_clock_khz /
         device.sm_clock_khz;
}

}  // namespace

std::string extents_text(const Dim3& extents) {
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" +
         std::to_string(extents[2]);
}

std::string to_text(DeviceKind kind) { return kind == DeviceKind::gpu ? "gpu" : "cpu"; }

DeviceKind parse_device_kind(const std::string& word) {
  if (word == "gpu") return DeviceKind::gpu;
  if (word == "cpu") return DeviceKind::cpu;
  throw InputError("'" + word + "' is not a kind of device");
}

std::string capability_text(const Device& device) {
  return std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor);
}

Bindings device_names(const Device& device) {
  const auto integer = [](std::int64_t value) { return Value(value); };
  return {
      {"compute_capability", integer(device.compute_capability())},
      {"sm_count", integer(device.sm_count)},
      {"warp_size", integer(device.warp_size)},
      {"max_threads_per_block", integer(device.max_threads_per_block)},
      {"max_threads_per_sm", integer(device.max_threads_per_sm)},
      {"max_blocks_per_sm", integer(device.max_blocks_per_sm)},
      {"registers_per_block", integer(device.registers_per_block)},
      {"registers_per_sm", integer(device.registers_per_sm)},
      {"shared_bytes_per_block", integer(device.shared_bytes_per_block)},
      {"max_shared_bytes_per_block", integer(device.max_shared_bytes_per_block)},
      {"shared_bytes_per_sm", integer(device.shared_bytes_per_sm)},
      {"reserved_shared_bytes_per_block", integer(device.reserved_shared_bytes_per_block)},
      {"l2_bytes", integer(device.l2_bytes)},
      {"memory_bytes", integer(device.memory_bytes)},
      {"memory_bytes_per_cycle", integer(memory_bytes_per_cycle(device))},
      {"is_cpu", integer(device.kind == DeviceKind::cpu ? 1 : 0)},
  };
}

Device h200_limits() {
  Device device;
  device.name = "NVIDIA H200";
  device.architecture = "sm_90";
  device.compute_major = 9;
  device.sm_count = 132;
  device.max_threads_per_block = 1024;
  device.max_threads_per_sm = 2048;
  device.max_blocks_per_sm = 32;
  device.registers_per_block = 65536;
  device.registers_per_sm = 65536;
  device.shared_bytes_per_block = 49152;
  device.max_shared_bytes_per_block = 232448;
  device.shared_bytes_per_sm = 233472;
  device.reserved_shared_bytes_per_block = 1024;
  device.memory_bytes = 150109880320;
  device.l2_bytes = 62914560;
  return device;
}

}  // namespace smemtune
