#include "db/device_model.h"

#include "tuner/core/hash.h"

#include <algorithm>
#include <bit>

namespace smemtune::db {

std::string device_model_key(const Device& device) {
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    // The length ensures that two different devices never give the same text.
    text += std::string(name) + "=" + std::to_string(value.size()) + ":" + value + "\n";
  };
  const auto add_number = [&add](const char* name, std::int64_t value) {
    add(name, std::to_string(value));
  };
  add("kind", to_text(device.kind));
  add("name", device.name);
  add("architecture", device.architecture);
  add("limits_of", device.limits_of);
  add_number("compute_major", device.compute_major);
  add_number("compute_minor", device.compute_minor);
  add_number("sm_count", device.sm_count);
  add_number("warp_size", device.warp_size);
  add_number("max_threads_per_block", device.max_threads_per_block);
  add_number("max_threads_per_sm", device.max_threads_per_sm);
  add_number("max_blocks_per_sm", device.max_blocks_per_sm);
  add_number("registers_per_block", device.registers_per_block);
  add_number("registers_per_sm", device.registers_per_sm);
  add_number("shared_bytes_per_block", device.shared_bytes_per_block);
  add_number("max_shared_bytes_per_block", device.max_shared_bytes_per_block);
  add_number("shared_bytes_per_sm", device.shared_bytes_per_sm);
  add_number("reserved_shared_bytes_per_block", device.reserved_shared_bytes_per_block);
  add_number("memory_bytes", nominal_memory_bytes(device.memory_bytes));
  add_number("l2_bytes", device.l2_bytes);
  add_number("memory_bus_bits", device.memory_bus_bits);
  add_number("ecc", device.ecc ? 1 : 0);
  return sha256(text);
}

std::int64_t nominal_memory_bytes(std::int64_t reported_bytes) {
  if (reported_bytes <= 0) return 0;
  // Rounds up to a multiple of an eighth of the power of two below: 79.1 GiB becomes 80, 23.6 GiB
  // 24.
  const auto bytes = static_cast<std::uint64_t>(reported_bytes);
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_floor(bytes) / 8, 1);
  return static_cast<std::int64_t>((bytes + step - 1) / step * step);
}

}  // namespace smemtune::db
