#pragma once

#include <filesystem>
#include <vector>

namespace smemtune {

/// Returns the files beside a source that belong to the same program: one that calls a function or
/// launches a kernel of it, or defines a function that it calls, and so on from these; of the
/// folders beside it, those that alone define what is called. A file that defines the same
/// functions is another version and is none of them.
std::vector<std::filesystem::path> program_sources(const std::filesystem::path& source);

}  // namespace smemtune
