#pragma once

#include "tuner/core/temporary_folder.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>

namespace smemtune {

/// A folder for the files of one fuzzing process. The destructor removes it.
class FuzzFolder : public TemporaryFolder {
 public:
  std::filesystem::path operator/(const char* name) const { return path() / name; }
};

inline void write_bytes(const std::filesystem::path& file, std::span<const std::uint8_t> bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace smemtune
