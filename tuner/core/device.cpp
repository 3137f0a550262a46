#include "tuner/core/device.h"

namespace smemtune {

Bindings device_names(const Device& device) {
  const auto integer = [](std::int64_t value) { return Value(value); };
  return {
      {"compute_capability", integer(10 * device.compute_major + device.compute_minor)},
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
      {"is_cpu", integer(device.kind == DeviceKind::cpu ? 1 : 0)},
  };
}

}  // namespace smemtune
