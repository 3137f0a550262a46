#include "tuner/core/roofline.h"

#include <algorithm>

namespace smemtune {

double Roofline::least_ms(double flops, double bytes) const {
  const double compute_s = flops_per_s > 0 ? flops / flops_per_s : 0;
  const double memory_s = bytes_per_s > 0 ? bytes / bytes_per_s : 0;
  return 1e3 * std::max(compute_s, memory_s);
}

int single_precision_cores(int compute_major, int compute_minor) {
  switch (compute_major) {
    case 1:
      return 8;
    case 2:
      return compute_minor == 0 ? 32 : 48;
    case 3:
      return 192;
    case 5:
      return 128;
    case 6:
      return compute_minor == 0 ? 64 : 128;
    case 7:
      return 64;
    case 8:
      return compute_minor == 0 ? 64 : 128;
    case 9:
    case 10:
    case 11:
    case 12:
      return 128;
    default:
      return 0;
  }
}

Roofline roofline(const Device& device) {
  if (device.kind == DeviceKind::cpu) return {};
  const double cores = single_precision_cores(device.compute_major, device.compute_minor);
  return {.flops_per_s = 2e3 * device.sm_count * cores * device.sm_clock_khz,
          .bytes_per_s = 2e3 * (device.memory_bus_bits / 8.0) * device.memory_clock_khz};
}

}  // namespace smemtune
