#pragma once

#include "db/rows.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Made-up results for tests.

namespace smemtune::db {

inline Device planted_device(const std::string& name, DeviceKind kind = DeviceKind::gpu) {
  Device device;
  device.kind = kind;
  device.name = name;
  device.uuid = kind == DeviceKind::gpu ? "GPU-of-" + name : "";
  device.architecture = "sm_90";
  device.compute_major = 9;
  return device;
}

inline Run planted_run(const Device& device, const std::string& id,
                       const std::string& space = "gemm") {
  Run run;
  run.id = id;
  run.space = space;
  run.space_json = "{}";
  run.device = device;
  run.compiler = "NVRTC 13.0";
  run.strategy = "random";
  return run;
}

inline Configuration tile(std::int64_t size) { return {{"TILE", size}}; }

inline Result planted(const Configuration& configuration, std::vector<double> samples_ms,
                      std::int64_t n = 4096) {
  Result result;
  result.kernel = "tiled";
  result.problem = {{"N", n}, {"T", "float"}};
  result.configuration = configuration;
  result.stage = Stage::screen;
  result.measurement = summarize(samples_ms);
  result.metrics = {{"bytes", 2e9}, {"flops", 1e12}};
  return result;
}

/// Returns a result with samples spread closely around `ms`, so that a difference of one per cent
/// is significant.
inline Result planted(const Configuration& configuration, double ms, std::int64_t n = 4096) {
  std::vector<double> samples_ms;
  for (int i = -4; i <= 4; ++i) samples_ms.push_back(ms * (1 + 0.0001 * i));
  return planted(configuration, std::move(samples_ms), n);
}

inline Result planted_failure(const Configuration& configuration, std::int64_t n = 4096) {
  Result result = planted(configuration, 1.0, n);
  result.status = Status::constraints;
  result.reason = "shared_bytes";
  result.stage = Stage::none;
  result.measurement = {};
  return result;
}

}  // namespace smemtune::db
