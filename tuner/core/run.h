#pragma once

#include "tuner/core/device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune {

/// One tuning session: what it ran on and with. Results refer to it for their provenance.
struct Run {
  std::string id;            ///< 32 random hexadecimal digits.
  std::string space;         ///< Its name.
  std::string space_sha256;  ///< Of the file's text.
  std::string space_json;
  Device device;
  std::string compiler;         ///< `NVRTC 13.0`, or the host compiler's first line.
  std::string compiler_sha256;  ///< Of libnvrtc and its builtins.
  std::string tool_version;
  std::string host;
  std::string strategy;
  std::uint64_t seed = 0;
  std::vector<std::string> command_line;
  double started_unix = 0;  ///< Seconds since 1970, UTC.
};

}  // namespace smemtune
