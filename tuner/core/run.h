#pragma once

#include "tuner/core/device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune {

/// One tuning session: its device, compiler and settings. Results refer to it for their provenance.
struct Run {
  std::string id;            ///< 32 random hexadecimal digits.
  std::string space;         ///< Name of the space.
  std::string space_sha256;  ///< Hash of the space file's text.
  std::string space_json;
  Device device;
  /// Name of the compiler: `NVRTC 13.0`, or the host compiler's first line of output.
  std::string compiler;
  std::string compiler_sha256;  ///< Hash of libnvrtc and its builtins.
  std::string tool_version;
  std::string host;
  std::string strategy;
  std::uint64_t seed = 0;
  std::vector<std::string> command_line;
  double started_unix = 0;  ///< Start time in seconds since 1970, UTC.
};

}  // namespace smemtune
