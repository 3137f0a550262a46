#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace smemtune {

/// A file that a compiler read besides its input, or a folder that it may have read from: a header
/// of the system, the toolkit's headers.
struct ReadPlace {
  std::string path;
  std::string state;  ///< The place's state_of() at that time.

  bool operator==(const ReadPlace&) const = default;
};

/// Returns a text of sizes and times that changes when a file, or anything in a folder or in what
/// its links lead to, is replaced or written to. Contents are not read.
std::string state_of(const std::filesystem::path& place);

/// Returns the place with its current state.
ReadPlace read_place(const std::filesystem::path& place);

/// Returns the file as a compiler that began at `begun` has read it. If that cannot be told,
/// because the file does not exist or was written to since, the state is one that no file ever has.
ReadPlace read_since(const std::filesystem::path& file,
                     std::chrono::system_clock::time_point begun);

}  // namespace smemtune
