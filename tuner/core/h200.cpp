#include "tuner/core/h200.h"

namespace smemtune {

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
