#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cpu {

/// The child could not be started: the machine has no room for it.
constexpr int kNoProcess = 126;
constexpr int kNotFound = 127;
constexpr int kSignalled = 128;  ///< Plus the number of the signal.

struct ChildResult {
  int status = 0;      ///< Exit status, or one of the above.
  std::string output;  ///< Standard output and error together; at most 1 MB.
};

/// Runs `command` in `folder`, which is also its TMPDIR, and waits. If the calling thread or its
/// process dies meanwhile, the child and everything that it has started die too. Throws
/// UnavailableError if no process can be started.
ChildResult run_child(const std::vector<std::string>& command, const std::filesystem::path& folder);

}  // namespace smemtune::cpu
