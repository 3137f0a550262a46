#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace smemtune {

/// A file that a compiler read beside what it was given, or a folder that it may have read from: a
/// header of the system, the toolkit's headers.
struct ReadPlace {
  std::string path;
  std::string state;  ///< state_of() it then.

  bool operator==(const ReadPlace&) const = default;
};

/// What is another when a file, or anything in a folder or in what that links to, is another one or
/// was written to: sizes and times. Contents are not read.
std::string state_of(const std::filesystem::path& place);

/// The place as it is now.
ReadPlace read_place(const std::filesystem::path& place);

/// The file as a compiler that began at `begun` has read it. Where that cannot be told, as it is
/// not there or was written to since, its state is one that no file ever has.
ReadPlace read_since(const std::filesystem::path& file,
                     std::chrono::system_clock::time_point begun);

}  // namespace smemtune
